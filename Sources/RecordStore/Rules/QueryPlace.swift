public import JSON
public import Records

/// A record's place in the total order of a query: its sort values, then its name, then its zone.
///
/// Names are ascending, whatever the direction of the sorts.
public struct QueryPlace: Sendable, Hashable {
    /// One value per sort. For a sort by distance, the distance in metres.
    public let values: [FieldValue?]
    public let recordName: Name
    public let zoneID: ZoneID

    public init(values: [FieldValue?], recordName: Name, zoneID: ZoneID) {
        self.values = values
        self.recordName = recordName
        self.zoneID = zoneID
    }
}

extension ResolvedQuery {
    public func place(of record: QueriedRecord) -> QueryPlace {
        QueryPlace(
            values: sorts.map { $0.value(of: record) }, recordName: record.record.recordID.recordName, zoneID: record.record.recordID.zoneID)
    }

    /// True if `left` sorts before `right`.
    public func precedes(_ left: QueryPlace, _ right: QueryPlace) -> Bool {
        for ((left, right), sort) in zip(zip(left.values, right.values), sorts) {
            // A record without a location is farther away than all others.
            let order = sort.relativeLocation == nil ? ValueOrder.compare(left, right) : Self.compareDistances(left, right)
            if order != 0 { return (order < 0) == sort.ascending }
        }
        if left.recordName != right.recordName { return left.recordName < right.recordName }
        if left.zoneID.zoneName != right.zoneID.zoneName { return left.zoneID.zoneName < right.zoneID.zoneName }
        return (left.zoneID.ownerRecordName ?? "") < (right.zoneID.ownerRecordName ?? "")
    }
}

extension ResolvedQuery {
    private static func compareDistances(_ left: FieldValue?, _ right: FieldValue?) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): 1
        case (_, nil): -1
        default: ValueOrder.compare(left, right)
        }
    }
}

extension ResolvedQuery.Sort {
    /// The value to sort by; `nil` if the record has none.
    func value(of record: QueriedRecord) -> FieldValue? {
        guard let relativeLocation else { return record.value(of: key) }
        guard case .location(let place)? = record.value(of: key) else { return nil }
        return .double(relativeLocation.distance(to: place))
    }
}
