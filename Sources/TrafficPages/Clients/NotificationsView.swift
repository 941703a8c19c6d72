internal import Accounts
package import Console
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Notifications: the notifications of devices, and because of which change and subscription.
package enum NotificationsView {
    /// The maximum number of notifications on a page, and of devices.
    private static let limit = 100
    /// The number of the last notification of the previous page.
    private static let beforeField = "before"
}

/// This browser as a device of the acting user, which its script makes with `tokens/create`.
struct TestDevice: Component {
    static let template = "test_device"

    let create: String
    let user: String
    let name: String
    let environment: String
}

extension NotificationsView {
    /// One notification, or all.
    package static func answer(_ visit: Visit) async throws -> Answer {
        guard let id = visit.fields.text("id") else { return .page(try await load(visit)) }
        return .page(try NotificationView.load(id, visit))
    }

    private static func load(_ visit: Visit) async throws -> ComponentPage {
        let canSend = visit.console.notificationSender != nil
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
        let shown = found.prefix(limit)
        let knowsAll = visit.database.can(.fireSubscriptions)
        let standing =
            knowsAll
            ? try await visit.measure { try await visit.database.require(.fireSubscriptions).ownedSubscriptions() }
                .filter { !isOfUser || $0.user == actor.userRecordName } : []
        // Apple notifies the devices of a container in iCloud.
        let listens = canSend && knowsAll
        var parts: [any Component] = []
        if listens {
            let container = PercentEncoding.encoded(place.address.container.description)
            let environment = place.address.environment.rawValue
            parts.append(
                TestDevice(
                    create: "/device/1/\(container)/\(environment)/tokens/create",
                    user: actor.userRecordName.string, name: actor.displayName, environment: environment))
        }
        parts.append(
            Columns(
                style: "columns aside-list",
                [
                    Section(
                        "standing", "Subscriptions", isLive: true,
                        [table(of: standing, canFire: canSend, visit)]
                            + (listens ? likelyForm(besides: standing, visit) : [])),
                    Section("devices", "Devices", isLive: true, devices(tokens, listens: listens, visit)),
                ]))
        parts.append(Section("sent", "Sent", isLive: true, [sent(Array(shown), visit)]))
        let older = found.count > limit ? shown.last : nil
        return ComponentPage(
            .notifications,
            PageHead(
                Tab.notifications.title,
                live: Inline(
                    [
                        knowsAll ? Digits.count(standing.count, "subscription") : nil,
                        Digits.count(tokens.count, "device"),
                    ]
                    .compactMap(\.self).joined(separator: ", ")),
                forms: [
                    .choosing(
                        Tab.notifications.rawValue, at: place,
                        [
                            FormField(
                                .sentChoice([
                                    Choice("", "all users", isSelected: !isOfUser),
                                    Choice("user", actor.displayName, isSelected: isOfUser),
                                ]), "in", "Notifications of", isLabelled: false)
                        ], button: "Show")
                ], actions: [.button("New subscription", place.link("subscription"))],
                button: listens
                    ? Form.Button("Add a test device", act: nil, style: "go", listens: true) : nil),
            parts,
            foot: PageFooter(
                count: Digits.count(shown.count, "notification"),
                next: older.map {
                    Frame.Link(
                        text: "Older ›",
                        href: place.link(Tab.notifications.rawValue, area(visit) + [(beforeField, String($0.id))]))
                }, isLive: true))
    }

    /// The part of its address that the page keeps: the choice of the user alone.
    private static func area(_ visit: Visit) -> [(name: String, value: String)] {
        visit.fields["in"] == "user" ? [(name: "in", value: "user")] : []
    }

    /// Subscriptions of all users, which can be fired with their latest change.
    private static func table(of standing: [OwnedSubscription], canFire: Bool, _ visit: Visit) -> Table {
        let rows = standing.prefix(limit).map { standing in
            let subscription = standing.subscription
            let place = visit.place(of: standing.user, standing.scope)
            let id = subscription.subscriptionID.string
            let fire = Form(
                .line, place.link("notification/fire"),
                hidden: ([(name: "id", value: id)] + area(visit)).map { Frame.Hidden(name: $0.name, value: $0.value) },
                [],
                buttons: [
                    Form.Button(
                        "Fire", act: nil, label: "Fire \(id)",
                        tip: "Notify its devices of the latest change that it is about")
                ], stays: true)
            let nothing: Inline =
                subscription.notificationInfo == nil ? " \(Inline("nothing is sent").styled("bad"))" : ""
            return Table.Row([
                Inline(ValueView(.link(id, href: place.link("subscription", [("id", id)]), hint: id))),
                Inline(subscription.occasion(in: standing.scope)) + nothing,
                "\(visit.people.name(of: standing.user)) \(.faint(Inline(standing.scope.rawValue)))",
                canFire ? .part(fire) : "",
            ])
        }
        let left = standing.count - limit
        return Table(
            "Standing subscriptions", ["subscription", .column("notifies when", "wide"), "user", .actions()], rows,
            nothing: EmptyState(sentence: "None yet. A subscription says which changes a device is told of."),
            more: left > 0 ? "\(Digits.count(left, "more subscription"))." : nil)
    }

    private static func devices(_ tokens: [NotificationToken], listens: Bool, _ visit: Visit) -> [any Component] {
        let waiting = Dictionary(
            grouping: visit.log.notifications.latest { $0.outcome == .waiting }, by: \.tokenID
        ).mapValues(\.count)
        let now = Timestamp.now()
        let lines = tokens.prefix(limit).map { token -> Inline in
            let name = visit.log.clients.label(ofClient: token.clientID, token: token.key.id)
            let registered = Timestamp(
                milliseconds: token.expires.milliseconds - SubscriptionRules.deviceTokenLifetime * 1000)
            let age: Inline =
                token.expires < now
                ? "\(Inline("expired").styled("bad")) \(.time(token.expires))" : "registered \(.time(registered))"
            let state: Inline =
                "\(age), notified up to \(Digits.grouped(token.deliveredPosition)), \(Digits.grouped(waiting[token.key.id] ?? 0)) waiting"
            return "\(strong: name) \(visit.people.name(of: token.user)) \(.faint(state))"
        }
        var parts: [any Component] = []
        if listens {
            parts.append(
                Paragraph.faint(
                    Inline(
                        "A test device needs scripts: this browser would listen at the web courier. Without them, a client calls `tokens/create`."
                    ).styled("needs-scripts")))
        }
        parts.append(
            lines.isEmpty
                ? Paragraph.faint("No client has a token in this environment.") : Listing(lines, style: "devices"))
        if tokens.count > limit {
            parts.append(Paragraph.remark("\(Digits.count(tokens.count - limit, "more token"))."))
        }
        return parts
    }

    private static func sent(_ notifications: [LoggedNotification], _ visit: Visit) -> any Component {
        if notifications.isEmpty {
            return Paragraph.faint(
                visit.log.isOn
                    ? "No notifications. A client that has subscribed and has called `tokens/create` is notified of changes by others."
                    : "Notifications are not recorded: the request log is off (`--request-log 0`), so the server does not know what it sent."
            )
        }
        return NotificationRow.table(notifications.map { NotificationRow($0, visit) })
    }
}

// MARK: - Subscriptions to try

extension NotificationsView {
    /// The likely first subscription: any change in the zone of the visit, or in the first one; elsewhere any change of
    /// the usual type, or of the database.
    /// - Returns: nothing if it is among the present ones, or if there is nothing to subscribe to.
    private static func likelyForm(besides present: [OwnedSubscription], _ visit: Visit) -> [any Component] {
        let (place, user) = (visit.place, visit.people.actor.userRecordName)
        let (id, text): (String, String)
        var fields = [(name: "do", value: "save"), (name: "sends", value: "1")]
        fields.append((name: "shouldSendContentAvailable", value: "1"))
        switch place.address.scope {
        case .private:
            let here = place.zoneID.flatMap { visit.hasFeed($0) ? $0 : nil }
            guard let zoneID = here ?? visit.customZones.first?.zoneID else { return [] }
            (id, text) = ("test-\(zoneID.zoneName)", "Subscribe to zone \(visit.zoneName(zoneID))")
            fields += [(name: "kind", value: "zone"), (name: "zone", value: zoneID.zoneName.string)]
        case .public:
            guard let type = visit.types.first?.name else { return [] }
            (id, text) = ("test-\(type)", "Subscribe to \(type)")
            fields += [(name: "kind", value: "query"), (name: "type", value: type.string)]
            fields += Subscription.Event.allCases.map { (name: "on", value: $0.rawValue) }
        case .shared:
            (id, text) = ("test-shared", "Subscribe to the shared database")
            fields.append((name: "kind", value: "database"))
        }
        let isPresent = present.contains {
            $0.user == user && $0.scope == place.address.scope && $0.subscription.subscriptionID == Name(id)
        }
        if isPresent { return [] }
        fields.append((name: "subscriptionID", value: id))
        return [
            Form(
                .line, place.with { $0.zone = .unspecified }.link("subscription"),
                hidden: fields.map { Frame.Hidden(name: $0.name, value: $0.value) }, [],
                buttons: [Form.Button(text, act: nil)], stays: true)
        ]
    }
}

extension Subscription {
    /// When it notifies, in words: `a Message is created or updated in zone Chats`.
    fileprivate func occasion(in scope: DatabaseScope) -> String {
        func subject(_ recordType: Name?) -> String { recordType.map { "a \($0)" } ?? "anything" }
        switch self.subject {
        case .query(let subject):
            let events = Event.allCases.filter(subject.firesOn.contains).map { "\($0.rawValue)d" }
            let filters = subject.query.filters.count
            return "a \(subject.query.recordType) is \(events.joined(separator: " or "))"
                + (subject.zoneID.map { " in zone \($0.zoneName)" } ?? "")
                + (filters == 0 ? "" : ", with \(Digits.count(filters, "filter"))")
                + (subject.firesOnce ? ", once" : "")
        case .zone(let zoneID, let recordType): return "\(subject(recordType)) changes in zone \(zoneID.zoneName)"
        case .database(let recordType): return "\(subject(recordType)) changes in the \(scope.rawValue) database"
        }
    }
}

extension NotificationsView {
    /// Fires a subscription with the latest change that it is about.
    /// - Returns: the page that says what became of the notifications.
    /// - Throws: `RecordError` NOT_FOUND if there is no such subscription.
    package static func fire(_ visit: Visit) async throws -> String {
        let sender = try visit.console.required(visit.console.notificationSender)
        let (user, address) = (visit.people.actor.userRecordName, visit.place.address)
        guard let id = visit.fields.text("id").map({ Name($0) }) else {
            throw RecordError(.badRequest, "The form needs the id of a subscription")
        }
        let firing = try visit.database.require(.fireSubscriptions)
        let latest = 200
        let (standing, firings) = try await visit.measure {
            let standing = try await firing.ownedSubscriptions().first {
                $0.user == user && $0.scope == address.scope && $0.subscription.subscriptionID == id
            }
            guard let standing else {
                throw RecordError(.notFound, "\(visit.people.actor.displayName) has no subscription \(id) any more")
            }
            return (standing, try await firing.latestFirings(of: standing.subscription, limit: latest))
        }
        let notice: (name: String, value: String)
        if let change = firings.first(where: { !$0.subscriptions.isEmpty })?.change {
            notice = FiredNotice.parameter(sender.send(standing, about: change, in: address), visit)
        } else {
            notice = Notice.firedForNothing.parameter
        }
        return visit.place.link(Tab.notifications.rawValue, area(visit) + [notice])
    }
}

// MARK: - Rows

/// A notification in a list.
struct NotificationRow {
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

    static func table(_ rows: [NotificationRow]) -> Table {
        Table(
            "Notifications", ["number", "time", "to", "change", "subscription", .column("state", "wide")],
            rows.map { row in
                Table.Row([
                    .link(row.number, row.href), Inline(row.time), "\(row.user) \(.faint(Inline(row.device)))",
                    "\(Inline(row.cause).styled("kind")) \(Inline([row.subject]))",
                    "\(Inline([row.subscription])) \(.faint(Inline(row.database)))",
                    "\(Inline(row.state).styled(row.tone)) \(Inline([row.other].compactMap(\.self)))",
                ])
            })
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
package enum NotificationView {
    /// - Throws: `RecordError` NOT_FOUND for one that is no longer kept, or of another environment.
    static func load(_ id: String, _ visit: Visit) throws -> ComponentPage {
        let notification = try find(id, visit)
        let value = try? JSONReader.value(of: notification.payload)
        let others = visit.log.notifications.latest { $0.successor == notification.id }.map {
            NotificationRow($0, visit)
        }
        let again = Form(
            .line, visit.place.link("notification/again"),
            hidden: [Frame.Hidden(name: "id", value: String(notification.id))], [], button: "Send again")
        var parts: [any Component] = [cause(NotificationRow(notification, visit), notification)]
        if !others.isEmpty {
            let lines = others.map { other -> Inline in
                "\(.link(other.number, other.href)) \(other.cause) \(Inline([other.subject])) \(.faint(Inline(other.time)))"
            }
            parts.append(Section("others", "It also covers", [Listing(lines)]))
        }
        if let value { parts.append(payload(value, of: notification, visit)) }
        return ComponentPage(
            .notifications,
            PageHead(
                "Notification \(notification.id)",
                crumb: .link("Notifications", visit.place.link(Tab.notifications.rawValue)),
                forms: visit.console.notificationSender != nil && value != nil ? [again] : []), parts)
    }

    private static func cause(_ row: NotificationRow, _ notification: LoggedNotification) -> Section {
        Section(
            "cause", "Cause",
            [
                Facts([
                    Facts.Fact(
                        "state", "\(Inline(row.state).styled(row.tone)) \(Inline([row.other].compactMap(\.self)))"),
                    Facts.Fact(
                        "change",
                        "\(row.cause) \(Inline([row.subject])) \(.faint("at position \(Digits.grouped(notification.position))"))"
                    ),
                    Facts.Fact(
                        "subscription", "\(Inline([row.subscription])) \(.faint("\(row.database) database"))"),
                    Facts.Fact("to", "\(row.user) \(.faint(Inline(row.device)))"),
                    Facts.Fact("fired", Inline(row.time)),
                ])
            ])
    }

    private static func payload(
        _ value: JSONValue, of notification: LoggedNotification, _ visit: Visit
    ) -> Section {
        var isPruned = false
        if case .object(let payload) = value, case .object(let app)? = payload["ck"] { isPruned = app["p"] != nil }
        let size = Digits.bytes(Int64(notification.payload.count))
        return Section(
            "payload", "Payload",
            [
                Paragraph.faint(
                    "\(size) of the 4,096 that Apple’s push service takes.\(isPruned ? " Parts were left out to fit." : "")"
                ),
                CodeBlock("The payload as JSON", Inline(RecordJSON.laidOut(value))),
                Form.choosing(
                    "notification/file", at: visit.place, keeping: [("id", String(notification.id))],
                    [
                        FormField(
                            .code, "bundle", "Bundle identifier of the app", placeholder: "com.example.App")
                    ], button: "Save for the simulator"),
                Paragraph.faint(
                    "Drop the file on a simulator. Without a bundle identifier, name the app in the command: \(.code("xcrun simctl push booted com.example.App notification-\(notification.id).apns"))"
                ),
            ])
    }

    private static func find(_ id: String?, _ visit: Visit) throws -> LoggedNotification {
        guard let notification = id.flatMap({ Int64($0) }).flatMap({ visit.log.notifications.notification($0) }),
            notification.address.container == visit.place.address.container,
            notification.address.environment == visit.place.address.environment
        else { throw RecordError(.notFound, "The log has no such notification, or no longer") }
        return notification
    }

    /// - Returns: the address of the copy.
    package static func sendAgain(_ visit: Visit) throws -> String {
        let sender = try visit.console.required(visit.console.notificationSender)
        let copy = try sender.sendAgain(find(visit.fields["id"], visit).id)
        let notice = FiredNotice.parameter(SentNotifications(devices: 1, queued: [copy]), visit)
        return visit.place.link(Tab.notifications.rawValue, [("id", String(copy)), notice])
    }

    /// A file to drop on a simulator, or for `xcrun simctl push`.
    package static func file(_ visit: Visit) throws -> Response {
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
