/// A user's request to be told of changes (Apple's reference page "Types and Dictionaries").
public struct Subscription: Sendable, Hashable {
    /// The kinds of changes of a record.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        case create
        case update
        case delete
    }

    /// The changes that a subscription is about.
    public enum Subject: Sendable, Hashable {
        /// Changes of records that match a query: as they became or, if they were deleted, as they were.
        case query(RecordSubject)
        /// Changes in one custom zone, of records of a type or (`nil`) of all.
        case zone(ZoneID, recordType: Name?)
        /// Changes in all custom zones of the database, of records of a type or (`nil`) of all.
        case database(recordType: Name?)
    }

    /// The subject of a query subscription.
    public struct RecordSubject: Sendable, Hashable {
        /// The type and the condition. Sorts count for nothing.
        public var query: Query
        /// The changes that are told, at least one.
        public var firesOn: Set<Event>
        /// True to end the subscription with its first notification.
        public var firesOnce: Bool
        /// `nil` for all zones of the database.
        public var zoneID: ZoneID?

        /// A query's changes, by default in all zones, again and again.
        public init(_ query: Query, firesOn: Set<Event>, firesOnce: Bool = false, zoneID: ZoneID? = nil) {
            self.query = query
            self.firesOn = firesOn
            self.firesOnce = firesOnce
            self.zoneID = zoneID
        }
    }

    /// Maximum length of an id in UTF-8 bytes.
    public static let idLimit = 255

    /// Unique among the subscriptions of a user in a database.
    public var subscriptionID: Name
    /// The changes to be told of. A public database has query subscriptions only, a shared one only those to the
    /// database.
    public var subject: Subject
    /// The notification's content. Without it, nothing is sent.
    public var notificationInfo: NotificationInfo?

    /// A subscription; without `notificationInfo` one that sends nothing.
    public init(_ subscriptionID: Name, to subject: Subject, notificationInfo: NotificationInfo? = nil) {
        self.subscriptionID = subscriptionID
        self.subject = subject
        self.notificationInfo = notificationInfo
    }

    /// The zone that the subscription is limited to, and with which it ends; `nil` for all zones of the database.
    public var zoneID: ZoneID? {
        switch subject {
        case .query(let subject): subject.zoneID
        case .zone(let zoneID, _): zoneID
        case .database: nil
        }
    }

    /// The subscription for another zone. One for all zones stays as it is.
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

/// The way a notification appears. Without alert, sound and badge it is silent.
public struct NotificationInfo: Sendable, Hashable {
    /// The text of the alert.
    public var alertBody: String?
    /// A key of the app's localized texts, for the alert's text.
    public var alertLocalizationKey: String?
    /// Names of fields, whose values are the arguments of the text.
    public var alertLocalizationArgs: [Name] = []
    /// A key of the app's localized texts, for the button that opens the app.
    public var alertActionLocalizationKey: String?
    /// The name of an image in the app, shown while it starts from the notification.
    public var alertLaunchImage: String?
    /// The line above the alert's text.
    public var title: String?
    /// A key of the app's localized texts, for the title.
    public var titleLocalizationKey: String?
    /// Like ``alertLocalizationArgs``.
    public var titleLocalizationArgs: [Name] = []
    /// The line between title and text.
    public var subtitle: String?
    /// A key of the app's localized texts, for the subtitle.
    public var subtitleLocalizationKey: String?
    /// Like ``alertLocalizationArgs``.
    public var subtitleLocalizationArgs: [Name] = []
    /// The name of a sound file in the app, or `default`.
    public var soundName: String?
    /// The category of the notification, by which the app shows its own actions.
    public var category: String?
    /// Notifications of one id replace each other on the device. Only for query subscriptions.
    public var collapseIDKey: String?
    /// True to count the notification in the app's badge.
    public var shouldBadge = false
    /// True to wake the app, so that it can fetch.
    public var shouldSendContentAvailable = false
    /// True to let an extension of the app change the notification before it is shown.
    public var shouldSendMutableContent = false
    /// Fields of the record to send along; `desiredKeys` in Apple's framework. Only for query subscriptions.
    public var additionalFields: [Name] = []

    /// A notification without anything to show.
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

// JSON form of subscriptions in requests and answers (Apple's reference page "Types and Dictionaries"). Stores and
// exports have it too.

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
            // Without a zone, a query subscription of CloudKit's framework is about all of them.
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
    /// The members that are names of fields.
    public static let lists: [Part<[Name]>] = [
        ("alertLocalizationArgs", \.alertLocalizationArgs), ("titleLocalizationArgs", \.titleLocalizationArgs),
        ("subtitleLocalizationArgs", \.subtitleLocalizationArgs), ("additionalFields", \.additionalFields),
    ]
    /// The members that are on or off.
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
    /// Writes a subscription as requests and answers have it.
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
