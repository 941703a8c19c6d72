public import JSON

// JSON form of subscriptions in requests and answers (Apple's reference page "Types and Dictionaries"). Stores and exports have it too.

extension Subscription {
    /// - Parameter defaultID: the id if the object has none.
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject, defaultID: Name? = nil) throws {
        let kind = try object.required("subscriptionType", "a string", object.string("subscriptionType"))
        let subscriptionID = try object.name("subscriptionID") ?? object.required("subscriptionID", "a string", defaultID)
        let subject: Subject
        switch kind {
        case "query":
            let query = try object.required("query", "an object", object.object("query"))
            let firesOn = try object.names("firesOn")?.map { name in
                guard let event = Event(rawValue: name.string) else {
                    throw RecordError.unexpectedInput(
                        "Unknown event '\(name)' in '\(object.place(of: "firesOn"))'; known are \(Event.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                return event
            }
            // Without a zone, a query subscription of CloudKit's framework is about all of them.
            subject = .query(
                RecordSubject(
                    try Query(query), firesOn: Set(firesOn ?? []), firesOnce: try object.bool("firesOnce") ?? false, zoneID: try object.zoneID()))
        case "zone":
            let zoneID = try object.required("zoneID", "an object", object.zoneID())
            subject = .zone(zoneID, recordType: try object.name("recordType"))
        case "database":
            subject = .database(recordType: try object.name("recordType"))
        default:
            throw RecordError.unexpectedInput("Unknown subscriptionType '\(kind)' in '\(object.place)'; known are query, zone, database")
        }
        self.init(subscriptionID, to: subject, notificationInfo: try object.object("notificationInfo").map { try NotificationInfo($0) })
    }
}

extension NotificationInfo {
    /// A member with its name in JSON.
    public typealias Part<Value> = (name: Name, path: any WritableKeyPath<NotificationInfo, Value> & Sendable)

    /// The members that are texts.
    public static let texts: [Part<String?>] = [
        ("alertBody", \.alertBody), ("alertLocalizationKey", \.alertLocalizationKey), ("alertActionLocalizationKey", \.alertActionLocalizationKey),
        ("alertLaunchImage", \.alertLaunchImage), ("title", \.title), ("titleLocalizationKey", \.titleLocalizationKey), ("subtitle", \.subtitle),
        ("subtitleLocalizationKey", \.subtitleLocalizationKey), ("soundName", \.soundName), ("category", \.category), ("collapseIDKey", \.collapseIDKey),
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
                    for event in Subscription.Event.allCases where subject.firesOn.contains(event) { writer.value(event.rawValue) }
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
