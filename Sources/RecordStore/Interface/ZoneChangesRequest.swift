public import JSON
public import Records

/// A request for the changed records of a zone.
public struct ZoneChangesRequest: Sendable {
    public var zoneID: ZoneID
    /// `nil` returns the records that exist now.
    public var since: ChangeToken?
    public var limit: PageLimit
    /// The fields to return; `nil` for all, empty for system fields only.
    public var desiredKeys: Set<Name>?
    /// The types to return; `nil` for all. Deletions are always returned.
    public var desiredRecordTypes: Set<Name>?
    /// True to return the newest changes first.
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

/// A page of a zone's changes. Can be empty although more pages follow.
public struct ZoneChangesPage: Sendable {
    public var zoneID: ZoneID
    public var changes: [RecordChange]
    /// The token for the next page or pull.
    public var syncToken: ChangeToken
    public var moreComing: Bool

    public init(zoneID: ZoneID, changes: [RecordChange], syncToken: ChangeToken, moreComing: Bool) {
        self.zoneID = zoneID
        self.changes = changes
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
