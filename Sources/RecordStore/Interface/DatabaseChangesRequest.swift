public import Records

/// A request for the changed zones of a database.
public struct DatabaseChangesRequest: Sendable {
    /// `nil` returns the zones that exist now.
    public var since: ChangeToken?
    /// True if a pull without a token also lists deleted zones, as the older `zones/changes` does.
    public var includesGoneZones: Bool
    /// Maximum number of zones per page.
    public var limit: Int

    public init(since: ChangeToken? = nil, includesGoneZones: Bool = false, limit: Int = 200) {
        self.since = since
        self.includesGoneZones = includesGoneZones
        self.limit = max(1, limit)
    }
}

/// Changed zones, ordered by their latest change.
public struct DatabaseChangesPage: Sendable {
    public var changes: [ZoneChange]
    /// The token for the next pull.
    public var syncToken: ChangeToken
    public var moreComing: Bool

    public init(changes: [ZoneChange], syncToken: ChangeToken, moreComing: Bool) {
        self.changes = changes
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
