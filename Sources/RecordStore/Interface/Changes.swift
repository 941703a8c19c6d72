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
        _ zoneID: ZoneID, since: ChangeToken? = nil, limit: PageLimit = PageLimit(records: 200),
        desiredKeys: Set<Name>? = nil,
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

extension DatabaseChangesRequest: JSONObjectCoded {
    package static let form = JSONForm<DatabaseChangesRequest>(
        { since, includesGoneZones, limit in
            // An empty token requests the changes from the start.
            DatabaseChangesRequest(
                since: since.flatMap { $0.text.isEmpty ? nil : $0 }, includesGoneZones: includesGoneZones,
                limit: limit.records)
        },
        JSONPart("syncToken", \.since),
        JSONPart(joined: JSONMember("includesGoneZones", default: false), \.includesGoneZones),
        JSONPart(joined: .page, { PageLimit(records: $0.limit) }))
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

extension DatabaseChangesPage: JSONObjectCoded {
    package static let form = JSONForm(
        DatabaseChangesPage.init(changes:syncToken:moreComing:), JSONPart("zones", \.changes),
        JSONPart("syncToken", \.syncToken), JSONPart("moreComing", \.moreComing))
}

extension ZoneChange: JSONObjectCoded {
    package static let form = JSONForm(
        ZoneChange.init(zoneID:kind:timestamp:syncToken:), JSONPart("zoneID", \.zoneID), JSONPart("change", \.kind),
        JSONPart("timestamp", \.timestamp), JSONPart("syncToken", \.syncToken))
}

/// Position of a record in the feed of its zone, on the same scale as change tokens.
public struct RecordPosition: Sendable, Hashable {
    /// Position of the latest save. A client whose token is at or after this position has the current record.
    public var latest: Int64
    /// Position of the save that created the record.
    public var born: Int64

    public init(latest: Int64, born: Int64) {
        self.latest = latest
        self.born = born
    }
}

// MARK: - Pages

/// A page of a feed, or a value derived from one.
public protocol FeedPage: Sendable {
    /// The token for the next page or pull.
    var syncToken: ChangeToken { get }
    var moreComing: Bool { get }
}

extension FeedPage {
    /// Passes this page and all later ones up to the present to `take`, in order. Reads each page while the previous
    /// one is being processed. Holds only these two pages, provided that the caller keeps no copy of the first one.
    /// - Parameters:
    ///   - next: reads the page after a page.
    ///   - take: processes a page; `false` stops.
    /// - Returns: the last page processed.
    /// - Throws: `RecordError` INTERNAL_ERROR if more pages follow, but the token leads back to an earlier page, which
    ///   may happen with another server.
    @discardableResult
    public consuming func andLater(
        _ next: @escaping @Sendable (Self) async throws -> Self, take: (Self) async throws -> Bool
    ) async throws -> Self {
        var page = self
        var cycle = CycleDetector(from: nil)
        while page.moreComing {
            let current = page
            if cycle.isClosed(by: current.syncToken.text) {
                _ = try await take(current)
                throw RecordError(known: .pagesInACircle)
            }
            async let following = next(current)
            guard try await take(current) else { return current }
            page = try await following
        }
        _ = try await take(page)
        return page
    }
}

extension ZoneChangesPage: FeedPage {}
extension DatabaseChangesPage: FeedPage {}

extension RecordDatabase {
    /// Passes the pages of a zone's changes to `take`, from the request's token to the present.
    /// - Parameter take: processes a page; `false` stops.
    /// - Returns: the last page processed.
    @discardableResult
    public func pull(_ request: ZoneChangesRequest, take: (ZoneChangesPage) async throws -> Bool) async throws
        -> ZoneChangesPage
    {
        try await zoneChanges(request).andLater(
            { page in
                var next = request
                next.since = page.syncToken
                return try await zoneChanges(next)
            }, take: take)
    }

    /// The current token of a zone's feed; without a zone, of the database's feed.
    /// - Throws: `RecordError` BAD_REQUEST if there is no feed; ZONE_NOT_FOUND if the zone does not exist.
    public func currentToken(of zoneID: ZoneID?) async throws -> ChangeToken {
        guard let zoneID else { return try await require(.tellCurrentToken).currentToken() }
        guard let token = try await fetchZones([zoneID]).first?.get().syncToken else { throw ZoneRules.noFeed }
        return token
    }

    /// The number of changes in a pull of a zone, or of the database; `nil` if the store would have to read the
    /// changes to count them.
    public func changeCount(in zoneID: ZoneID?, since token: ChangeToken?) async throws -> Int? {
        if let token { return try await part(.explainTokens)?.explain(token).changesAfter }
        guard let zoneID else { return nil }
        return try await part(.countRecords)?.counts(in: zoneID).total
    }
}
