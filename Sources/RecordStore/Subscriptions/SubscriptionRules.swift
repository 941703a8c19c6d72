public import Records

/// The rules for subscriptions: the kinds permitted in each database, and the required and permitted members.
public enum SubscriptionRules {
    /// Maximum number of subscriptions of a user in a database. CloudKit documents no limit.
    public static let limit = 1000
    /// Maximum number of fields in a notification.
    public static let additionalFieldsLimit = 3
    /// Maximum length of each text of a notification, in bytes of UTF-8.
    public static let textLimit = 1000
    /// Maximum number of fields whose values are arguments of a localized text.
    public static let argumentsLimit = 10
    /// Maximum size of a subscription, in bytes of JSON.
    public static let sizeLimit = 16_384
    /// Time in seconds for which a device's token is valid: twelve hours, as in iCloud.
    public static let deviceTokenLifetime: Int64 = 43_200

    /// - Throws: `RecordError` AUTHENTICATION_REQUIRED for an anonymous caller, to whom no subscription could belong.
    public static func check(_ caller: Caller) throws {
        if caller.access == .anonymous { throw GrantRules.signInNeeded }
    }

    /// - Throws: `RecordError` BAD_REQUEST with the violated rule, or the error of the query.
    static func check(_ subscription: Subscription, in address: DatabaseAddress, _ schema: Schema) throws {
        try NameRules.checkSubscriptionID(subscription.subscriptionID)
        let info = subscription.notificationInfo ?? NotificationInfo()
        if info.additionalFields.count > additionalFieldsLimit {
            throw RecordError(
                .badRequest,
                "Too many additionalFields: \(info.additionalFields.count), and the limit is \(additionalFieldsLimit); fetch the record instead"
            )
        }
        try checkSize(subscription, info)
        switch subscription.subject {
        case .query(let subject):
            if address.scope == .shared {
                throw wrongPlace(
                    "query", "the public and the private database; a shared database has database subscriptions")
            }
            if subject.firesOn.isEmpty {
                throw RecordError.unexpectedInput("Expected 'firesOn' to have at least one of create, update, delete")
            }
            if !subject.query.filters.allSatisfy({ $0.value.isFinite && $0.distance?.isFinite ?? true }) {
                throw RecordError.unexpectedInput("A filter has a number that is not finite")
            }
            _ = try ResolvedQuery(subscribing: subject.query, in: schema)
            for name in info.additionalFields { try check(name, of: schema.types[subject.query.recordType]) }
        case .zone(let zoneID, _):
            if address.scope != .private { throw wrongPlace("zone", "private databases") }
            if zoneID.isDefault { throw ZoneRules.noFeed }
            try checkFeedInfo(info)
        case .database:
            if address.scope == .public {
                throw wrongPlace(
                    "database", "private and shared databases; the public database has query subscriptions")
            }
            try checkFeedInfo(info)
        }
    }

    /// The size is limited because all subscriptions are held in memory, and a notification has little room.
    private static func checkSize(_ subscription: Subscription, _ info: NotificationInfo) throws {
        for part in NotificationInfo.texts {
            let length = info[keyPath: part.path]?.utf8.count ?? 0
            if length > textLimit {
                throw RecordError(.badRequest, "'\(part.name)' has \(length) bytes, and the limit is \(textLimit)")
            }
        }
        for part in NotificationInfo.lists where info[keyPath: part.path].count > argumentsLimit {
            throw RecordError(
                .badRequest,
                "'\(part.name)' has \(info[keyPath: part.path].count) names, and the limit is \(argumentsLimit)")
        }
        for name in NotificationInfo.lists.flatMap({ info[keyPath: $0.path] }) where name.utf8.count > Field.nameLimit {
            throw RecordError(
                .badRequest,
                "The name of a field in 'notificationInfo' has \(name.utf8.count) bytes, and the limit is \(Field.nameLimit)"
            )
        }
        var writer = JSONWriter(capacity: 512)
        writer.value(subscription)
        if writer.bytes.count > sizeLimit {
            throw RecordError(
                .badRequest, "The subscription has \(writer.bytes.count) bytes, and the limit is \(sizeLimit)")
        }
    }

    private static func wrongPlace(_ kind: String, _ places: String) -> RecordError {
        RecordError(.badRequest, "Subscriptions of the type \(kind) exist in \(places)")
    }

    private static func checkFeedInfo(_ info: NotificationInfo) throws {
        // The error has CloudKit's text.
        if info.collapseIDKey != nil { throw RecordError(known: .collapseIDRefused) }
        if !info.additionalFields.isEmpty {
            throw RecordError(.badRequest, "Only notifications of query subscriptions carry additionalFields")
        }
    }

    /// Checks a field's type. A field that does not exist yet is accepted, because a later save may create it.
    private static func check(_ field: Name, of type: RecordType?) throws {
        guard let type = type?.fields[field]?.type else { return }
        let isSmall = [.string, .int64, .double, .location, .timestamp, .reference].contains(type.valueType)
        if !isSmall || type.isList || type.isEncrypted {
            throw RecordError(.badRequest, "A notification can't carry the field '\(field)' of type \(type.wireName)")
        }
    }

    /// The error for a second subscription to the same changes under another id, with CloudKit's text.
    static let duplicate = RecordError(known: .duplicateSubscription)

    public static let notFound = RecordError(known: .subscriptionNotFound)
}

/// Applies operations to the subscriptions of a user in a database, for all engines.
public struct SubscriptionModifier {
    private let address: DatabaseAddress
    private let schema: Schema
    private var present: [Name: Subscription]

    /// - Parameter present: the user's subscriptions in the database.
    public init(_ present: [Subscription], in address: DatabaseAddress, _ schema: Schema) {
        self.address = address
        self.schema = schema
        self.present = Dictionary(present.map { ($0.subscriptionID, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Attempts every operation, even if others fail.
    /// - Parameters:
    ///   - zoneID: returns the zone ID with its owner. Throws `RecordError` ZONE_NOT_FOUND.
    ///   - write: stores a change.
    /// - Returns: the results of the operations. A saved subscription is returned as it is stored.
    public mutating func apply(
        _ operations: [SubscriptionOperation], zoneID: (ZoneID) throws -> ZoneID,
        write: (SubscriptionOperation) throws -> Void
    ) throws -> [Result<SubscriptionOperation, RecordError>] {
        try operations.map { operation in
            do {
                switch operation {
                case .save(let subscription):
                    let subscription = try admitted(subscription, zoneID)
                    try write(.save(subscription))
                    present[subscription.subscriptionID] = subscription
                    return .success(.save(subscription))
                case .delete(let subscriptionID):
                    guard present.removeValue(forKey: subscriptionID) != nil else { throw SubscriptionRules.notFound }
                    try write(operation)
                    return .success(operation)
                }
            } catch let error as RecordError {
                return .failure(error)
            }
        }
    }

    private func admitted(_ subscription: Subscription, _ zoneID: (ZoneID) throws -> ZoneID) throws -> Subscription {
        try SubscriptionRules.check(subscription, in: address, schema)
        let subscription = try subscription.zoneID.map { subscription.inZone(try zoneID($0)) } ?? subscription
        if case .query(let subject) = subscription.subject {
            let isDuplicate = present.values.contains { other in
                guard other.subscriptionID != subscription.subscriptionID, case .query(let other) = other.subject else {
                    return false
                }
                return other.query.recordType == subject.query.recordType
                    && other.query.filters == subject.query.filters
                    && other.firesOn == subject.firesOn && other.zoneID == subject.zoneID
            }
            if isDuplicate { throw SubscriptionRules.duplicate }
        }
        if present[subscription.subscriptionID] == nil, present.count >= SubscriptionRules.limit {
            throw RecordError(
                .badRequest,
                "Too many subscriptions: a user may have \(SubscriptionRules.limit) in a database; delete those that are not needed"
            )
        }
        return subscription
    }
}
