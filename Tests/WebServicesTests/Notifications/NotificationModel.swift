import Records

/// Says which subscription fires for which change, and what then waits for a client: each subscription is compared with
/// each change.
struct NotificationModel {
    /// A zone of a user, by handle. The public database belongs to nobody.
    struct Place: Hashable {
        var owner: String?
        var zone: String
    }

    struct RecordKey: Hashable {
        var place: Place
        var name: String
    }

    struct Item: Hashable {
        var number: Int
        var text: String
        /// True if it is below the list that the guest of its zone sees.
        var isListed = false
    }

    /// A client with a token of its own.
    struct Client: Hashable {
        var user: String
        var id: String
    }

    enum Filter: Hashable {
        case none
        case isNumber(Int)
        case isBelow(Int)
        case isAny([Int])
        case isNotText(String)
        case begins(String)

        func matches(_ item: Item) -> Bool {
            switch self {
            case .none: true
            case .isNumber(let number): item.number == number
            case .isBelow(let number): item.number < number
            case .isAny(let numbers): numbers.contains(item.number)
            case .isNotText(let text): item.text != text
            case .begins(let text): item.text.hasPrefix(text)
            }
        }

        /// The filter in a request.
        var json: String {
            func filter(_ field: String, _ comparator: String, _ value: String) -> String {
                #"[{"fieldName":"\#(field)","comparator":"\#(comparator)","fieldValue":{"value":\#(value)}}]"#
            }
            return switch self {
            case .none: "[]"
            case .isNumber(let number): filter("n", "EQUALS", "\(number)")
            case .isBelow(let number): filter("n", "LESS_THAN", "\(number)")
            case .isAny(let numbers): filter("n", "IN", "\(numbers),\"type\":\"INT64_LIST\"")
            case .isNotText(let text): filter("s", "NOT_EQUALS", "\"\(text)\"")
            case .begins(let text): filter("s", "BEGINS_WITH", "\"\(text)\"")
            }
        }
    }

    struct Subscriber: Hashable {
        var user: String
        var scope: DatabaseScope
        var id: String
    }

    struct Subscription: Hashable {
        struct Query: Hashable {
            var type: String
            var filter: Filter
            var firesOn: Set<Records.Subscription.Event>
            var zone: String?
        }

        enum Subject: Hashable {
            case query(Query, firesOnce: Bool)
            case zone(String, type: String?)
            case database(type: String?)
        }

        enum Style: String, CaseIterable {
            /// Without content, nothing is sent.
            case mute = ""
            case silent = #""notificationInfo":{"shouldSendContentAvailable":true}"#
            case collapsing = #""notificationInfo":{"shouldSendContentAvailable":true,"collapseIDKey":"c"}"#
        }

        var subject: Subject
        var style: Style

        var zone: String? {
            switch subject {
            case .query(let query, _): query.zone
            case .zone(let zone, _): zone
            case .database: nil
            }
        }
    }

    /// A notification, or the latest of those that it stands for.
    private struct Waiting {
        var text: String
        var key: String?
    }

    let clients: [Client]
    /// The guests of zones, by place: who sees the whole zone, and who sees only what is below its list.
    let wholeGuests: [Place: String]
    let listGuests: [Place: String]
    private(set) var records: [RecordKey: Item] = [:]
    var subscriptions: [Subscriber: Subscription] = [:]
    private var waiting: [Client: [Waiting]] = [:]
    /// Number of times that subscriptions fired, by kind.
    private(set) var fired: [String: Int] = [:]

    init(clients: [Client], wholeGuests: [Place: String], listGuests: [Place: String]) {
        (self.clients, self.wholeGuests, self.listGuests) = (clients, wholeGuests, listGuests)
    }

    /// The names of records begin with their type.
    static func type(of name: String) -> String { String(name.prefix(1)) }

    /// The subscriptions with the same subject under another id.
    func isDuplicate(_ subscription: Subscription, of subscriber: Subscriber) -> Bool {
        guard case .query(let query, _) = subscription.subject else { return false }
        return subscriptions.contains { other, present in
            guard case .query(query, _) = present.subject else { return false }
            return other.user == subscriber.user && other.scope == subscriber.scope && other.id != subscriber.id
        }
    }

    // MARK: Changes

    /// A record becomes an item, or ends.
    mutating func change(_ key: RecordKey, to item: Item?, by saver: Client) {
        let before = records[key]
        records[key] = item
        guard let shown = item ?? before else { return }
        let event: Records.Subscription.Event = item == nil ? .delete : before == nil ? .create : .update
        for (subscriber, subscription) in inOrder
        where isSeen(by: subscriber, key.place, isListed: before?.isListed == true || item?.isListed == true) {
            switch subscription.subject {
            case .query(let query, let firesOnce):
                guard query.type == Self.type(of: key.name), query.firesOn.contains(event),
                    query.zone.map({ $0 == key.place.zone }) ?? true,
                    query.filter.matches(shown)
                else { continue }
                if firesOnce { subscriptions[subscriber] = nil }
                let fo = event == .create ? 1 : event == .update ? 2 : 3
                let key = "qry \(subscriber.scope.rawValue) \(subscriber.id) \(key.place.zone) \(key.name) \(fo)"
                tell(
                    key, of: subscription, to: subscriber, by: saver,
                    coalescing: subscription.style == .collapsing ? "c" : nil)
            case .zone(let zone, let type)
            where zone == key.place.zone && type.map({ $0 == Self.type(of: key.name) }) ?? true:
                tell(zone: zone, "fet", of: subscription, to: subscriber, by: saver)
            case .database(let type)
            where key.place.zone != "_defaultZone" && type.map({ $0 == Self.type(of: key.name) }) ?? true:
                tell(zone: key.place.zone, "met", of: subscription, to: subscriber, by: saver)
            case .zone, .database: continue
            }
        }
    }

    /// A zone comes, or goes with its records and subscriptions.
    mutating func comeOrGo(_ place: Place) {
        for (subscriber, subscription) in inOrder where subscriber.scope == .private && subscriber.user == place.owner {
            if case .database(nil) = subscription.subject {
                tell(zone: place.zone, "met", of: subscription, to: subscriber, by: nil)
            }
            if subscription.zone == place.zone { subscriptions[subscriber] = nil }
        }
        records = records.filter { $0.key.place != place }
    }

    private var inOrder: [(Subscriber, Subscription)] {
        subscriptions.map { ($0.key, $0.value) }.sorted {
            ($0.0.user, $0.0.scope.rawValue, $0.0.id) < ($1.0.user, $1.0.scope.rawValue, $1.0.id)
        }
    }

    private func isSeen(by subscriber: Subscriber, _ place: Place, isListed: Bool) -> Bool {
        switch subscriber.scope {
        case .public: place.owner == nil
        case .private: place.owner == subscriber.user
        case .shared: wholeGuests[place] == subscriber.user || isListed && listGuests[place] == subscriber.user
        }
    }

    // MARK: Clients

    private mutating func tell(
        zone: String, _ kind: String, of subscription: Subscription, to subscriber: Subscriber, by saver: Client?
    ) {
        let text = "\(kind) \(subscriber.scope.rawValue) \(subscriber.id) \(zone)"
        tell(text, of: subscription, to: subscriber, by: saver, coalescing: text)
    }

    /// Everybody but the client that saved has one more notification.
    private mutating func tell(
        _ text: String, of subscription: Subscription, to subscriber: Subscriber, by saver: Client?,
        coalescing key: String?
    ) {
        fired["\(subscriber.scope.rawValue) \(text.prefix(3))", default: 0] += 1
        if subscription.style == .mute { return }
        for client in clients where client.user == subscriber.user && client != saver {
            if let key, let index = waiting[client]?.firstIndex(where: { $0.key == key }) {
                waiting[client]?[index].text = text
            } else {
                waiting[client, default: []].append(Waiting(text: text, key: key))
            }
        }
    }

    /// The client takes all its notifications.
    mutating func take(of client: Client) -> [String] {
        defer { waiting[client] = nil }
        return waiting[client]?.map(\.text) ?? []
    }
}
