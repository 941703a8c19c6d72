public import Records

/// A pull of the zones of a database.
public struct DatabaseChangesRequest: Sendable {
    /// `nil` asks for what exists now.
    public var since: ChangeToken?
    /// Whether a pull without a token also lists the zones that are gone, as the older `zones/changes` does.
    public var includesGoneZones: Bool
    /// Zones in a page.
    public var limit: Int

    public init(since: ChangeToken? = nil, includesGoneZones: Bool = false, limit: Int = 200) {
        self.since = since
        self.includesGoneZones = includesGoneZones
        self.limit = max(1, limit)
    }
}

/// Zones in the order of their latest change.
public struct DatabaseChangesPage: Sendable {
    public var changes: [ZoneChange]
    /// Where the next pull begins.
    public var syncToken: ChangeToken
    public var moreComing: Bool

    public init(changes: [ZoneChange], syncToken: ChangeToken, moreComing: Bool) {
        self.changes = changes
        self.syncToken = syncToken
        self.moreComing = moreComing
    }
}
