public import JSON
public import Records

/// A database that can list the records of a zone as they are, without an index and without a feed: what a copy of everything needs.
public protocol RecordListing: RecordDatabase {
    /// One page of the records of a zone, of all types, in the order of their names.
    ///
    /// A record that is neither saved nor deleted while pages are read is in exactly one of them.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func list(_ request: RecordListRequest) async throws -> RecordListPage
}

/// Which records of a zone to list.
public struct RecordListRequest: Sendable {
    public var zoneID: ZoneID
    /// Where the page before ended; `nil` begins with the first name.
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
    /// May be empty while more is coming, when the types that were asked for are rare.
    public var records: [StoredRecord]
    /// What the next page comes after; `nil` when nothing remains.
    public var last: Name?

    public init(records: [StoredRecord], last: Name?) {
        self.records = records
        self.last = last
    }
}
