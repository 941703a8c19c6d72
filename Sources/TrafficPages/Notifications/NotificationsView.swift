internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The page Notifications: what devices were told, and because of which change and subscription.
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
        let told: String
        let waiting: String
    }

    let title = Self.tab.title
    let notice: String?
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
            notification.address.container == place.address.container && notification.address.environment == place.address.environment
                && (!isOfUser || notification.user == actor.userRecordName)
        }
        let tokens = visit.accounts.notificationTokens { token in
            token.key.container == place.address.container && token.key.environment == place.address.environment
                && (!isOfUser || token.user == actor.userRecordName)
        }
        let waiting = Dictionary(
            grouping: visit.log.notifications.latest { $0.fate == .waiting }, by: \.tokenID
        ).mapValues(\.count)
        let now = Timestamp.now()
        let shown = found.prefix(limit)
        let area = isOfUser ? [("in", "user")] : []
        return NotificationsView(
            notice: Notice.text(visit.fields["notice"]), action: "\(place.path)/\(Tab.notifications.rawValue)",
            hidden: place.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) },
            areas: [
                Choice("", "all users", isSelected: !isOfUser), Choice("user", actor.displayName, isSelected: isOfUser),
            ],
            isOff: !visit.log.isOn, rows: shown.map { NotificationRow($0, visit) },
            devices: tokens.prefix(limit).map { Device($0, waiting: waiting[$0.key.id] ?? 0, now: now, visit) },
            more: tokens.count > limit ? "\(Digits.count(tokens.count - limit, "more token"))." : nil,
            older: found.count > limit
                ? shown.last.map { place.link(Tab.notifications.rawValue, area.map { (name: $0.0, value: $0.1) } + [(beforeField, String($0.id))]) } : nil,
            count: Digits.count(shown.count, "notification"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension NotificationsView.Device {
    fileprivate init(_ token: NotificationToken, waiting: Int, now: Timestamp, _ visit: Visit) {
        name = visit.log.clients.label(ofClient: token.clientID, token: token.key.id)
        user = visit.people.name(of: token.user)
        registered = ValueView(.time(Timestamp(milliseconds: token.expires.milliseconds - SubscriptionRules.tokenLifetime * 1000)))
        expires = ValueView(.time(token.expires))
        isExpired = token.expires < now
        told = Digits.grouped(token.told)
        self.waiting = Digits.grouped(waiting)
    }
}
