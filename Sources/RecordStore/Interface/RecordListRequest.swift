public import JSON
public import Records

/// Selects a page of a zone's records.
public struct RecordListRequest: Sendable {
    public var zoneID: ZoneID
    /// `last` of the previous page; `nil` starts at the first name.
    public var after: Name?
    /// The types to list; `nil` for all.
    public var recordTypes: Set<Name>?
    public var limit: PageLimit

    public init(_ zoneID: ZoneID, after: Name? = nil, recordTypes: Set<Name>? = nil, limit: PageLimit = PageLimit(records: 200)) {
        self.zoneID = zoneID
        self.after = after
        self.recordTypes = recordTypes
        self.limit = limit
    }
}

/// A page of a zone's records, in the order of their names.
public struct RecordListPage: Sendable {
    /// Can be empty although more pages follow, if the requested types are rare.
    public var records: [StoredRecord]
    /// `after` of the request for the next page; `nil` if no records are left.
    public var last: Name?

    public init(records: [StoredRecord], last: Name?) {
        self.records = records
        self.last = last
    }
}
