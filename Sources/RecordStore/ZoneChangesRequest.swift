public import JSON
public import Records

/// A pull of the records of a zone.
public struct ZoneChangesRequest: Sendable {
    public var zoneID: ZoneID
    /// `nil` asks for what exists now.
    public var since: ChangeToken?
    public var limit: PageLimit
    /// The fields to return; `nil` for all, empty for system fields only.
    public var desiredKeys: Set<Name>?
    /// The types to return; `nil` for all. Deletions are never hidden.
    public var desiredRecordTypes: Set<Name>?
    /// Newest first.
    public var reverse: Bool

    public init(
        _ zoneID: ZoneID, since: ChangeToken? = nil, limit: PageLimit = PageLimit(records: 200), desiredKeys: Set<Name>? = nil,
        desiredRecordTypes: Set<Name>? = nil, reverse: Bool = false
    ) {
        self.zoneID = zoneID
        self.since = since
        self.limit = limit
        self.desiredKeys = desiredKeys
        self.desiredRecordTypes = desiredRecordTypes
        self.reverse = reverse
    }
}

/// A page of a zone's changes. It may be empty while more is coming.
public struct ZoneChangesPage: Sendable {
    public var zoneID: ZoneID
    public var changes: [RecordChange]
    /// Where the next page, or the next pull, begins.
    public var syncToken: ChangeToken
    public var moreComing: Bool

    public init(zoneID: ZoneID, changes: [RecordChange], syncToken: ChangeToken, moreComing: Bool) {
        self.zoneID = zoneID
        self.changes = changes
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
