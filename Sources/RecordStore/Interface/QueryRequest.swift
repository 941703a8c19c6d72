public import JSON
public import Records

/// A query, the area to search and the requested page.
public struct QueryRequest: Sendable {
    public enum Area: Sendable, Hashable {
        case zone(ZoneID)
        /// Every zone of the database.
        case allZones
    }

    public var query: Query
    public var area: Area
    public var limit: PageLimit
    /// The marker of the previous page.
    public var continuationMarker: String?
    /// The fields to return; `nil` for all, empty for system fields only.
    public var desiredKeys: Set<Name>?

    public init(
        _ query: Query, in area: Area = .zone(.default), limit: PageLimit = PageLimit(records: 200), continuationMarker: String? = nil,
        desiredKeys: Set<Name>? = nil
    ) {
        self.query = query
        self.area = area
        self.limit = limit
        self.continuationMarker = continuationMarker
        self.desiredKeys = desiredKeys
    }
}

/// A page of records in the total order of the query: its sorts, then the record name.
public struct QueryPage: Sendable {
    public var records: [StoredRecord]
    /// The marker for the next page; `nil` if no records are left.
    public var continuationMarker: String?
    /// How the query was answered; `nil` if the engine does not report it.
    public var plan: ChosenPlan?

    public init(records: [StoredRecord], continuationMarker: String?, plan: ChosenPlan? = nil) {
        self.records = records
        self.continuationMarker = continuationMarker
        self.plan = plan
    }
}
