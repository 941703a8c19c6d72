/// A user's request to be notified of changes (Apple's reference page "Types and Dictionaries").
public struct Subscription: Sendable, Hashable {
    /// The kinds of changes of a record.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// A record was created.
        case create
        /// A record was changed.
        case update
        /// A record was deleted.
        case delete
    }

    /// The changes that fire a subscription.
    public enum Subject: Sendable, Hashable {
        /// Changes of records that match a query: as they are after the change or, if they were deleted, as they were
        /// before.
        case query(RecordSubject)
        /// Changes in one custom zone, of records of one type or (`nil`) of all types.
        case zone(ZoneID, recordType: Name?)
        /// Changes in all custom zones of the database, of records of one type or (`nil`) of all types.
        case database(recordType: Name?)
    }

    /// The subject of a query subscription.
    public struct RecordSubject: Sendable, Hashable {
        /// The type and the filters. Sorts are ignored.
        public var query: Query
        /// The kinds of changes that fire the subscription, at least one.
        public var firesOn: Set<Event>
        /// True to end the subscription with its first notification.
        public var firesOnce: Bool
        /// The zone; `nil` for all zones of the database.
        public var zoneID: ZoneID?

        /// Creates a query subscription's subject, by default for all zones and for any number of changes.
        public init(_ query: Query, firesOn: Set<Event>, firesOnce: Bool = false, zoneID: ZoneID? = nil) {
            self.query = query
            self.firesOn = firesOn
            self.firesOnce = firesOnce
            self.zoneID = zoneID
        }
    }

    /// Maximum length of an id in UTF-8 bytes.
    public static let idLimit = 255

    /// The id, which is unique among the subscriptions of a user in a database.
    public var subscriptionID: Name
    /// The changes that fire the subscription. A public database supports only query subscriptions, a shared database
    /// only those to the whole database.
    public var subject: Subject
    /// The content of the notification. Without it, nothing is sent.
    public var notificationInfo: NotificationInfo?

    /// Creates a subscription. Without `notificationInfo` it sends nothing.
    public init(_ subscriptionID: Name, to subject: Subject, notificationInfo: NotificationInfo? = nil) {
        self.subscriptionID = subscriptionID
        self.subject = subject
        self.notificationInfo = notificationInfo
    }

    /// The zone to which the subscription is limited, and with which it ends; `nil` for all zones of the database.
    public var zoneID: ZoneID? {
        switch subject {
        case .query(let subject): subject.zoneID
        case .zone(let zoneID, _): zoneID
        case .database: nil
        }
    }

    /// The subscription for another zone. A subscription for all zones remains unchanged.
    public func inZone(_ zoneID: ZoneID) -> Subscription {
        var subscription = self
        switch subject {
        case .query(var subject) where subject.zoneID != nil:
            subject.zoneID = zoneID
            subscription.subject = .query(subject)
        case .zone(_, let recordType): subscription.subject = .zone(zoneID, recordType: recordType)
        case .query, .database: break
        }
        return subscription
    }
}

/// The content of a notification. Without alert, sound and badge it is silent.
public struct NotificationInfo: Sendable, Hashable {
    /// The text of the alert.
    public var alertBody: String?
    /// The key of a localized text in the app, for the alert's text.
    public var alertLocalizationKey: String?
    /// Names of fields whose values are the arguments of the localized text.
    public var alertLocalizationArgs: [Name] = []
    /// The key of a localized text in the app, for the button that opens the app.
    public var alertActionLocalizationKey: String?
    /// The name of an image in the app, shown while the app starts from the notification.
    public var alertLaunchImage: String?
    /// The line above the alert's text.
    public var title: String?
    /// The key of a localized text in the app, for the title.
    public var titleLocalizationKey: String?
    /// Like ``alertLocalizationArgs``, for the title.
    public var titleLocalizationArgs: [Name] = []
    /// The line between the title and the text.
    public var subtitle: String?
    /// The key of a localized text in the app, for the subtitle.
    public var subtitleLocalizationKey: String?
    /// Like ``alertLocalizationArgs``, for the subtitle.
    public var subtitleLocalizationArgs: [Name] = []
    /// The name of a sound file in the app, or `default`.
    public var soundName: String?
    /// The category of the notification, which determines the actions that the app shows.
    public var category: String?
    /// An id by which notifications replace earlier ones on the device. Only for query subscriptions.
    public var collapseIDKey: String?
    /// True to count the notification in the app's badge.
    public var shouldBadge = false
    /// True to wake the app, so that it can fetch changes.
    public var shouldSendContentAvailable = false
    /// True to let an extension of the app change the notification before it is shown.
    public var shouldSendMutableContent = false
    /// Fields of the record that the notification contains; `desiredKeys` in Apple's framework. Only for query
    /// subscriptions.
    public var additionalFields: [Name] = []

    /// Creates a notification without visible content.
    public init() {}
}

/// One operation on a subscription (Apple's reference page "Modifying Subscriptions").
public enum SubscriptionOperation: Sendable, Hashable {
    /// Adds the subscription, or replaces the one with its id.
    case save(Subscription)
    /// Ends the subscription with this id.
    case delete(Name)

    /// The id of the subscription that is saved or ended.
    public var subscriptionID: Name {
        switch self {
        case .save(let subscription): subscription.subscriptionID
        case .delete(let subscriptionID): subscriptionID
        }
    }
}

// MARK: - JSON

// JSON form of subscriptions in requests and responses (Apple's reference page "Types and Dictionaries"). Stores and
// exports use it too.

extension Subscription {
    /// - Parameter defaultID: the id if the object has none.
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject, defaultID: Name? = nil) throws {
        let kind = try object.required("subscriptionType", "a string", object.string("subscriptionType"))
        let subscriptionID =
            try object.name("subscriptionID") ?? object.required("subscriptionID", "a string", defaultID)
        let subject: Subject
        switch kind {
        case "query":
            let query = try object.required("query", "an object", object.object("query"))
            let firesOn = try object.names("firesOn")?.map { name in
                guard let event = Event(rawValue: name.string) else {
                    throw RecordError.unexpectedInput(
                        "Unknown event '\(name)' in '\(object.place(of: "firesOn"))'; known are \(Event.allCases.map(\.rawValue).joined(separator: ", "))"
                    )
                }
                return event
            }
            // In CloudKit's framework, a query subscription without a zone concerns all zones.
            subject = .query(
                RecordSubject(
                    try Query(query), firesOn: Set(firesOn ?? []), firesOnce: try object.bool("firesOnce") ?? false,
                    zoneID: try object.zoneID()))
        case "zone":
            let zoneID = try object.required("zoneID", "an object", object.zoneID())
            subject = .zone(zoneID, recordType: try object.name("recordType"))
        case "database":
            subject = .database(recordType: try object.name("recordType"))
        default:
            throw RecordError.unexpectedInput(
                "Unknown subscriptionType '\(kind)' in '\(object.place)'; known are query, zone, database")
        }
        self.init(
            subscriptionID, to: subject,
            notificationInfo: try object.object("notificationInfo").map { try NotificationInfo($0) })
    }
}

extension NotificationInfo {
    /// A member with its name in JSON.
    public typealias Part<Value> = (name: Name, path: any WritableKeyPath<NotificationInfo, Value> & Sendable)

    /// The members that are texts.
    public static let texts: [Part<String?>] = [
        ("alertBody", \.alertBody), ("alertLocalizationKey", \.alertLocalizationKey),
        ("alertActionLocalizationKey", \.alertActionLocalizationKey),
        ("alertLaunchImage", \.alertLaunchImage), ("title", \.title), ("titleLocalizationKey", \.titleLocalizationKey),
        ("subtitle", \.subtitle),
        ("subtitleLocalizationKey", \.subtitleLocalizationKey), ("soundName", \.soundName), ("category", \.category),
        ("collapseIDKey", \.collapseIDKey),
    ]
    /// The members that are lists of field names.
    public static let lists: [Part<[Name]>] = [
        ("alertLocalizationArgs", \.alertLocalizationArgs), ("titleLocalizationArgs", \.titleLocalizationArgs),
        ("subtitleLocalizationArgs", \.subtitleLocalizationArgs), ("additionalFields", \.additionalFields),
    ]
    /// The members that are `true` or `false`.
    public static let switches: [Part<Bool>] = [
        ("shouldBadge", \.shouldBadge), ("shouldSendContentAvailable", \.shouldSendContentAvailable),
        ("shouldSendMutableContent", \.shouldSendMutableContent),
    ]

    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        self.init()
        for part in Self.texts { self[keyPath: part.path] = try object.string(part.name) }
        for part in Self.lists { self[keyPath: part.path] = try object.names(part.name) ?? [] }
        for part in Self.switches { self[keyPath: part.path] = try object.bool(part.name) ?? false }
        // The framework's name for the same list.
        if additionalFields.isEmpty { additionalFields = try object.names("desiredKeys") ?? [] }
    }
}

extension JSONWriter {
    /// Writes a subscription in the format of requests and responses.
    public mutating func value(_ subscription: Subscription) {
        object { writer in
            writer.member("subscriptionID", subscription.subscriptionID)
            switch subscription.subject {
            case .query(let subject):
                writer.member("subscriptionType", "query")
                writer.name("query")
                writer.value(subject.query)
                writer.name("firesOn")
                writer.array { writer in
                    for event in Subscription.Event.allCases where subject.firesOn.contains(event) {
                        writer.value(event.rawValue)
                    }
                }
                writer.member("firesOnce", subject.firesOnce)
                writer.member("zoneWide", subject.zoneID == nil)
            case .zone(_, let recordType):
                writer.member("subscriptionType", "zone")
                if let recordType { writer.member("recordType", recordType) }
            case .database(let recordType):
                writer.member("subscriptionType", "database")
                if let recordType { writer.member("recordType", recordType) }
            }
            if let zoneID = subscription.zoneID {
                writer.name("zoneID")
                writer.value(zoneID)
            }
            guard let info = subscription.notificationInfo else { return }
            writer.name("notificationInfo")
            writer.value(info)
        }
    }

    /// Writes the members that are set.
    private mutating func value(_ info: NotificationInfo) {
        object { writer in
            for part in NotificationInfo.texts {
                if let text = info[keyPath: part.path] { writer.member(part.name, text) }
            }
            for part in NotificationInfo.lists where !info[keyPath: part.path].isEmpty {
                writer.name(part.name)
                writer.array { writer in for name in info[keyPath: part.path] { writer.value(name) } }
            }
            for part in NotificationInfo.switches where info[keyPath: part.path] { writer.member(part.name, true) }
        }
    }
}
