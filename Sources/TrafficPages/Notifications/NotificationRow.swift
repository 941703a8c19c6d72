internal import Console
internal import JSON
internal import Records
internal import Traffic

/// A notification in a list.
struct NotificationRow: ViewModel {
    let number: String
    let href: String
    let time: ValueView
    let user: String
    /// The subscription and its database.
    let subscription: Frame.Link
    let database: String
    /// `create`, `zone`.
    let cause: String
    let subject: Frame.Link
    let device: String
    let state: String
    /// `good`, `warn`, `bad` or `faint`.
    let tone: String
    /// The notification that tells in place of this one, or that this one is a copy of.
    let other: Frame.Link?

    init(_ notification: LoggedNotification, _ visit: Visit) {
        let place = visit.place(of: notification.user, notification.address.scope)
        number = Digits.grouped(notification.id)
        href = Self.href(notification.id, visit)
        time = ValueView(.time(notification.moment))
        user = visit.people.name(of: notification.user)
        subscription = Frame.Link(
            text: notification.subscriptionID.string, href: place.link("subscription", [("id", notification.subscriptionID.string)]))
        database = notification.address.scope.rawValue
        cause = notification.event?.rawValue ?? "zone"
        let zoneID = notification.address.scope == .shared ? notification.zoneID : ZoneID(zoneName: notification.zoneID.zoneName)
        subject = notification.recordName.map { Frame.Link(text: $0.string, href: place.link(toRecord: $0, in: zoneID)) }
            ?? Frame.Link(text: zoneID.zoneName.string, href: place.inZone(zoneID).link("zone"))
        device = visit.log.clients.label(ofClient: notification.clientID, token: notification.tokenID)
        (state, tone) = notification.stateWords
        other = (notification.successor ?? notification.original).map { Frame.Link(text: "notification \($0)", href: Self.href($0, visit)) }
    }

    static func href(_ id: Int64, _ visit: Visit) -> String { visit.place.link(Tab.notifications.rawValue, [("id", String(id))]) }

    func child(named name: String) -> Any? {
        switch name {
        case "number": number
        case "href": href
        case "time": time
        case "user": user
        case "subscription": subscription
        case "database": database
        case "cause": cause
        case "subject": subject
        case "device": device
        case "state": state
        case "tone": tone
        case "other": other ?? Absent()
        default: nil
        }
    }
}

extension LoggedNotification {
    /// Its state in words, and their tone.
    var stateWords: (String, String) {
        switch fate {
        case .waiting: delay == nil ? ("waiting", "warn") : ("waiting, held back by a rehearsal", "warn")
        case .delivered(let moment): ("delivered \(moment.utcText.prefix(19)) UTC\(original == nil ? "" : ", again")", "good")
        case .coalesced: ("coalesced into", "faint")
        case .replaced: ("replaced by", "faint")
        case .dropped: ("dropped: too many waited", "bad")
        case .expired: ("not delivered: the token expired", "bad")
        case .lost: ("lost by a rehearsal", "bad")
        case .ownChange: ("not sent: its own change", "faint")
        case .withoutContent: ("not sent: no notificationInfo", "bad")
        }
    }
}
