public import JSON
public import Records

/// The first reason why a change does not fire a subscription, for those who wonder. ``SubscriptionIndex`` decides if it does.
public enum SubscriptionMiss: Sendable, Hashable {
    /// The change is in a database that the subscriber does not see.
    case otherDatabase
    case otherZone(ZoneID)
    /// Only query subscriptions are about the default zone.
    case defaultZone
    /// The subscription is about records, and a zone came or went.
    case notOfRecords
    case otherType(Name)
    /// The subscription is about other kinds of changes.
    case otherEvents(Set<Subscription.Event>)
    /// The query can't be compared any more, with the reason.
    case brokenQuery(String)
    /// The record's value does not satisfy the filter; `nil` if it has none.
    case filter(Query.Filter, FieldValue?)
    /// The change came before the subscription.
    case tooEarly
    /// The subscription fires once, and an earlier change fired it.
    case firedBefore(Int64)

    /// - Returns: `nil` if the change fires it, as far as roles let the subscriber know.
    public init?(of standing: StandingSubscription, by change: CommittedChange, in schema: Schema) {
        guard change.isSeen(by: Caller(userRecordName: standing.user), in: standing.scope) else {
            self = .otherDatabase
            return
        }
        if let miss = Self.inSubject(of: standing.subscription, change, schema) {
            self = miss
        } else if change.position <= standing.position {
            self = .tooEarly
        } else if let last = standing.lastPosition, change.position > last {
            self = .firedBefore(last)
        } else {
            return nil
        }
    }

    private static func inSubject(of subscription: Subscription, _ change: CommittedChange, _ schema: Schema) -> SubscriptionMiss? {
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

    private static func miss(of query: Query, _ record: CommittedChange.OfRecord, _ schema: Schema) -> SubscriptionMiss? {
        let resolved: ResolvedQuery
        do {
            resolved = try ResolvedQuery(subscribing: query, in: schema)
        } catch {
            return .brokenQuery((error as? RecordError)?.reason ?? "\(error)")
        }
        // A record that is not known, or damaged, may have matched any query.
        guard record.isKnown, let queried = try? QueriedRecord(record.record, for: resolved) else { return nil }
        // A valid query has all its filters, in their order.
        for (asked, filter) in zip(query.filters, resolved.filters) {
            let value = queried.value(of: filter.key)
            if !filter.matches(value) { return .filter(asked, value) }
        }
        return nil
    }
}
