public import Records

/// Finds the subscriptions that a change fires without examining all others. They are indexed by database, then by
/// record type, then by the values that filters require.
public struct SubscriptionIndex: Sendable {
    /// Ordered by user, database and id.
    public let all: [OwnedSubscription]
    /// Zone and database subscriptions of private databases, by user.
    private var feeds: [Name: [Int]] = [:]
    /// Subscriptions of shared databases, by user.
    private var guests: [Name: [Int]] = [:]
    /// Query subscriptions by the owner of the database and the record type. The public database has no owner.
    private var queries: [Name?: [Name: Queries]] = [:]

    /// Indexes subscriptions. A query whose type or fields no longer exist never matches.
    public init(_ subscriptions: [OwnedSubscription], in schema: Schema) {
        all = subscriptions.sorted { left, right in
            if left.user != right.user { return left.user < right.user }
            return left.scope == right.scope
                ? left.subscription.subscriptionID < right.subscription.subscriptionID
                : left.scope.rawValue < right.scope.rawValue
        }
        for (number, owned) in all.enumerated() {
            switch owned.subscription.subject {
            case .query(let subject):
                guard let query = try? ResolvedQuery(subscribing: subject.query, in: schema) else { continue }
                let owner = owned.scope == .public ? nil : owned.user
                queries[owner, default: [:]][query.recordType, default: Queries()].add(number, query)
            case .zone, .database:
                if owned.scope == .shared {
                    guests[owned.user, default: []].append(number)
                } else {
                    feeds[owned.user, default: []].append(number)
                }
            }
        }
    }

    public var isEmpty: Bool { all.isEmpty }

    /// The subscriptions that a change fires. A record whose fields are damaged may match any query.
    public func subscriptions(firedBy change: CommittedChange) -> [OwnedSubscription] {
        var fired: Set<Int> = []
        if let record = change.record, change.owner != nil || change.isPublic,
            let queries = queries[change.owner]?[record.record.recordType]
        {
            fired.formUnion(queries.matches(record).filter { isAbout($0, change) })
        }
        if !change.zoneID.isDefault {
            if let owner = change.owner { fired.formUnion(feeds[owner, default: []].filter { isAbout($0, change) }) }
            for guest in change.guests { fired.formUnion(guests[guest, default: []].filter { isAbout($0, change) }) }
        }
        return fired.sorted().map { all[$0] }
    }

    private func isAbout(_ number: Int, _ change: CommittedChange) -> Bool {
        let owned = all[number]
        if change.position <= owned.position || change.position > owned.lastPosition ?? .max { return false }
        switch owned.subscription.subject {
        case .query(let subject):
            return change.record.map { subject.firesOn.contains($0.event) } ?? false
                && subject.zoneID.map { $0 == change.zoneID } ?? true
        case .zone(let zoneID, let recordType):
            return zoneID == change.zoneID
                && change.record.map { record in recordType.map { $0 == record.record.recordType } ?? true } ?? false
        case .database(let recordType):
            return recordType == nil || change.record?.record.recordType == recordType
        }
    }
}

/// The query subscriptions of a database and record type.
private struct Queries: Sendable {
    /// Indices of queries by the value that a field must have.
    private var byValue: [FieldKey: [LookupValue: [Int]]] = [:]
    private var others: [Int] = []
    private var queries: [Int: ResolvedQuery] = [:]
    /// The fields that the queries compare.
    private var comparedFields: Set<Name> = []

    mutating func add(_ number: Int, _ query: ResolvedQuery) {
        queries[number] = query
        comparedFields.formUnion(query.comparedFields)
        for filter in query.filters {
            guard let values = LookupValue.values(of: filter) else { continue }
            for value in values { byValue[filter.key, default: [:]][value, default: []].append(number) }
            return
        }
        others.append(number)
    }

    func matches(_ change: CommittedChange.OfRecord) -> [Int] {
        // An error would prevent the notifications of all other subscriptions.
        guard change.isKnown, let record = try? QueriedRecord(change.record, comparing: comparedFields) else {
            return Array(queries.keys)
        }
        var candidates = others
        for (key, numbers) in byValue {
            if let value = record.value(of: key).flatMap({ LookupValue($0) }) {
                candidates += numbers[value, default: []]
            }
        }
        return candidates.filter { queries[$0]?.matches(record) ?? false }
    }
}

/// A value in a form for lookup: two values are equal if they have the same text or number. References with the same
/// name in different zones are equal too.
private enum LookupValue: Hashable {
    case name(Name)
    case number(Int64)
    case bytes([UInt8])

    init?(_ value: FieldValue) {
        switch value {
        case .string(let string): self = .name(Name(string))
        case .reference(let reference): self = .name(reference.recordName)
        case .int64(let integer): self = .number(integer)
        case .timestamp(let timestamp): self = .number(timestamp.milliseconds)
        case .bytes(let bytes): self = .bytes(bytes)
        default: return nil
        }
    }

    /// The values of which a record must have one to match the filter; `nil` if the filter does not determine them.
    static func values(of filter: ResolvedQuery.Filter) -> Set<LookupValue>? {
        let operands: [FieldValue]
        switch (filter.comparator, filter.operand) {
        case (.equals, .value(let operand)): operands = [operand]
        case (.in, .anyOf(let candidates)): operands = candidates
        default: return nil
        }
        let values = operands.compactMap { LookupValue($0) }
        return values.count == operands.count ? Set(values) : nil
    }
}

// MARK: - Reasons for not firing

/// The first reason why a change does not fire a subscription, for pages that explain it. ``SubscriptionIndex``
/// decides whether it does.
public enum SubscriptionMiss: Sendable, Hashable {
    /// The change is in a database that the subscriber does not see.
    case otherDatabase
    case otherZone(ZoneID)
    /// The change is in the default zone, for which only query subscriptions fire.
    case defaultZone
    /// A zone was created or ended, but the subscription concerns records.
    case notOfRecords
    case otherType(Name)
    /// The subscription concerns other kinds of changes.
    case otherEvents(Set<Subscription.Event>)
    /// The query is no longer valid. Contains the reason.
    case brokenQuery(String)
    /// The record's value does not satisfy the filter. The value is `nil` if the record has none.
    case filter(Query.Filter, FieldValue?)
    /// The change happened before the subscription was saved.
    case tooEarly
    /// The subscription fires once, and an earlier change at this position fired it.
    case firedBefore(Int64)

    /// - Returns: `nil` if the change fires the subscription, without regard to the subscriber's roles.
    public init?(of owned: OwnedSubscription, by change: CommittedChange, in schema: Schema) {
        guard change.isSeen(by: Caller(userRecordName: owned.user), in: owned.scope) else {
            self = .otherDatabase
            return
        }
        if let miss = Self.inSubject(of: owned.subscription, change, schema) {
            self = miss
        } else if change.position <= owned.position {
            self = .tooEarly
        } else if let last = owned.lastPosition, change.position > last {
            self = .firedBefore(last)
        } else {
            return nil
        }
    }

    private static func inSubject(of subscription: Subscription, _ change: CommittedChange, _ schema: Schema)
        -> SubscriptionMiss?
    {
        let type = change.record?.record.recordType
        switch subscription.subject {
        case .query(let subject):
            guard let record = change.record else { return .notOfRecords }
            if let zoneID = subject.zoneID, zoneID != change.zoneID { return .otherZone(zoneID) }
            if record.record.recordType != subject.query.recordType { return .otherType(subject.query.recordType) }
            if !subject.firesOn.contains(record.event) { return .otherEvents(subject.firesOn) }
            return miss(of: subject.query, record, schema)
        case .zone(let zoneID, let recordType):
            guard let type else { return .notOfRecords }
            if zoneID != change.zoneID { return .otherZone(zoneID) }
            return recordType.flatMap { $0 == type ? nil : .otherType($0) }
        case .database(let recordType):
            if change.zoneID.isDefault { return .defaultZone }
            guard let recordType else { return nil }
            return type == nil ? .notOfRecords : type == recordType ? nil : .otherType(recordType)
        }
    }

    private static func miss(of query: Query, _ record: CommittedChange.OfRecord, _ schema: Schema) -> SubscriptionMiss?
    {
        let resolved: ResolvedQuery
        do {
            resolved = try ResolvedQuery(subscribing: query, in: schema)
        } catch {
            return .brokenQuery((error as? RecordError)?.reason ?? "\(error)")
        }
        // A record that is unknown or damaged may match any query.
        guard record.isKnown, let queried = try? QueriedRecord(record.record, for: resolved) else { return nil }
        // A valid query has all its filters, in the same order.
        for (asked, filter) in zip(query.filters, resolved.filters) {
            let value = queried.value(of: filter.key)
            if !filter.matches(value) { return .filter(asked, value) }
        }
        return nil
    }
}
