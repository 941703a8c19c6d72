internal import Accounts
internal import Console
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Notifications: the notifications of devices, and because of which change and subscription.
struct NotificationsView: Page {
    static let template = "notifications"
    static let tab = Tab.notifications
    /// The maximum number of notifications on a page, and of devices.
    private static let limit = 100
    /// The number of the last notification of the previous page.
    private static let beforeField = "before"

    /// A token in this environment.
    struct Device: ViewModel {
        let name: String
        let user: String
        let registered: ValueView
        let expires: ValueView
        let isExpired: Bool
        let position: String
        let waiting: String
    }

    let title = Self.tab.title
    let action: String
    let hidden: [Frame.Hidden]
    let areas: [Choice]
    let isOff: Bool
    let rows: [NotificationRow]
    let devices: [Device]
    let more: String?
    let older: String?
    let count: String
    let milliseconds: String
}

extension NotificationsView {
    static func load(_ visit: Visit) -> NotificationsView {
        let place = visit.place
        let actor = visit.people.actor
        let isOfUser = visit.fields["in"] == "user"
        let before = visit.fields.number(beforeField, in: 0...Int64.max)
        let found = visit.log.notifications.latest(limit + 1, before: before) { notification in
            notification.address.container == place.address.container
                && notification.address.environment == place.address.environment
                && (!isOfUser || notification.user == actor.userRecordName)
        }
        let tokens = visit.accounts.notificationTokens { token in
            token.key.container == place.address.container && token.key.environment == place.address.environment
                && (!isOfUser || token.user == actor.userRecordName)
        }
        let waiting = Dictionary(
            grouping: visit.log.notifications.latest { $0.outcome == .waiting }, by: \.tokenID
        ).mapValues(\.count)
        let now = Timestamp.now()
        let shown = found.prefix(limit)
        let area = isOfUser ? [("in", "user")] : []
        return NotificationsView(
            action: "\(place.path)/\(Tab.notifications.rawValue)",
            hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            areas: [
                Choice("", "all users", isSelected: !isOfUser), Choice("user", actor.displayName, isSelected: isOfUser),
            ],
            isOff: !visit.log.isOn, rows: shown.map { NotificationRow($0, visit) },
            devices: tokens.prefix(limit).map { Device($0, waiting: waiting[$0.key.id] ?? 0, now: now, visit) },
            more: tokens.count > limit ? "\(Digits.count(tokens.count - limit, "more token"))." : nil,
            older: found.count > limit
                ? shown.last.map {
                    place.link(
                        Tab.notifications.rawValue,
                        area.map { (name: $0.0, value: $0.1) } + [(beforeField, String($0.id))])
                } : nil,
            count: Digits.count(shown.count, "notification"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension NotificationsView.Device {
    fileprivate init(_ token: NotificationToken, waiting: Int, now: Timestamp, _ visit: Visit) {
        name = visit.log.clients.label(ofClient: token.clientID, token: token.key.id)
        user = visit.people.name(of: token.user)
        registered = ValueView(
            .time(Timestamp(milliseconds: token.expires.milliseconds - SubscriptionRules.tokenLifetime * 1000)))
        expires = ValueView(.time(token.expires))
        isExpired = token.expires < now
        position = Digits.grouped(token.deliveredPosition)
        self.waiting = Digits.grouped(waiting)
    }
}

// MARK: - Rows

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
            text: notification.subscriptionID.string,
            href: place.link("subscription", [("id", notification.subscriptionID.string)]))
        database = notification.address.scope.rawValue
        cause = notification.event?.rawValue ?? "zone"
        let zoneID =
            notification.address.scope == .shared ? notification.zoneID : ZoneID(zoneName: notification.zoneID.zoneName)
        subject =
            notification.recordName.map { Frame.Link(text: $0.string, href: place.link(toRecord: $0, in: zoneID)) }
            ?? Frame.Link(text: zoneID.zoneName.string, href: place.inZone(zoneID).link("zone"))
        device = visit.log.clients.label(ofClient: notification.clientID, token: notification.tokenID)
        (state, tone) = notification.stateWords
        other = (notification.successor ?? notification.original).map {
            Frame.Link(text: "notification \($0)", href: Self.href($0, visit))
        }
    }

    static func href(_ id: Int64, _ visit: Visit) -> String {
        visit.place.link(Tab.notifications.rawValue, [("id", String(id))])
    }

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
        switch outcome {
        case .waiting: delay == nil ? ("waiting", "warn") : ("waiting, held back by a rehearsal", "warn")
        case .delivered(let moment):
            ("delivered \(moment.utcText.prefix(19)) UTC\(original == nil ? "" : ", again")", "good")
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

// MARK: - One notification

/// The page of one notification: its cause, its device, and its payload.
struct NotificationView: Page {
    static let template = "notification"
    static let tab = Tab.notifications

    let title: String
    let row: NotificationRow
    let position: String
    /// The payload as JSON; `nil` if it was not made.
    let payload: String?
    let size: String
    let isPruned: Bool
    /// The notifications that this one stands for.
    let others: [NotificationRow]
    let all: String
    /// The form that sends it again; `nil` if it can't be sent.
    let again: String?
    let id: String
    /// The form that saves it for a simulator, and its fields.
    let file: String
    let hidden: [Frame.Hidden]
    let milliseconds: String
}

extension NotificationView {
    /// - Throws: `RecordError` NOT_FOUND for one that is no longer kept, or of another environment.
    static func load(_ id: String, _ visit: Visit, canSend: Bool) throws -> NotificationView {
        let notification = try find(id, visit)
        let place = visit.place
        let value = try? JSONReader.value(of: notification.payload)
        let others = visit.log.notifications.latest { $0.successor == notification.id }
        var isPruned = false
        if case .object(let payload)? = value, case .object(let app)? = payload["ck"] { isPruned = app["p"] != nil }
        return NotificationView(
            title: "Notification \(notification.id)", row: NotificationRow(notification, visit),
            position: Digits.grouped(notification.position), payload: value.map { RecordJSON.laidOut($0) },
            size: Digits.bytes(Int64(notification.payload.count)), isPruned: isPruned,
            others: others.map { NotificationRow($0, visit) },
            all: place.link(Tab.notifications.rawValue),
            again: canSend && value != nil ? place.link("notification/again") : nil,
            id: String(notification.id), file: "\(place.path)/notification/file",
            hidden: (place.parameters + [("id", String(notification.id))]).map {
                Frame.Hidden(name: $0.name, value: $0.value)
            },
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }

    private static func find(_ id: String?, _ visit: Visit) throws -> LoggedNotification {
        guard let notification = id.flatMap({ Int64($0) }).flatMap({ visit.log.notifications.notification($0) }),
            notification.address.container == visit.place.address.container,
            notification.address.environment == visit.place.address.environment
        else { throw RecordError(.notFound, "The log has no such notification, or no longer") }
        return notification
    }

    /// - Returns: the address of the copy.
    static func sendAgain(_ visit: Visit, _ sender: any NotificationSender) throws -> String {
        let copy = try sender.sendAgain(find(visit.fields["id"], visit).id)
        return visit.place.link(Tab.notifications.rawValue, [("id", String(copy)), Notice.notificationSent.parameter])
    }

    /// A file to drop on a simulator, or for `xcrun simctl push`.
    static func file(_ visit: Visit) throws -> Response {
        let notification = try find(visit.fields["id"], visit)
        guard let bytes = SimulatorFile.bytes(of: notification.payload, bundle: visit.fields.text("bundle")) else {
            throw RecordError(.badRequest, "The notification was not made, so there is nothing to save")
        }
        var response = Response.content(bytes, type: "application/json")
        response.headers[.contentDisposition] = "attachment; filename=\"notification-\(notification.id).apns\""
        response.headers[.cacheControl] = "no-store"
        return response
    }
}

/// The form of a notification that Apple's `simctl push` takes: its payload, with the app that gets it if the command
/// does not name it.
enum SimulatorFile {
    /// - Parameter bundle: the app's bundle identifier; `nil` to leave it to the command.
    /// - Returns: `nil` if the payload is not a JSON object with the member `aps`.
    static func bytes(of payload: [UInt8], bundle: String?) -> [UInt8]? {
        guard case .object(let object)? = try? JSONReader.value(of: payload), object["aps"] != nil else { return nil }
        let target = bundle.map { [JSONObject.Member(name: "Simulator Target Bundle", value: .string($0))] } ?? []
        return Array((RecordJSON.laidOut(.object(JSONObject(target + object))) + "\n").utf8)
    }
}
