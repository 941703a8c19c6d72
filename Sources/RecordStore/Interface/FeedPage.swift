internal import JSON
public import Records

/// A page of a feed, or what was made from one.
public protocol FeedPage: Sendable {
    /// The token for the next page or pull.
    var syncToken: ChangeToken { get }
    var moreComing: Bool { get }
}

extension FeedPage {
    /// Takes this page and all later ones up to the present, in order. Reads each page while the one before is taken, and
    /// holds no more than these two, if the caller keeps no copy of the first one.
    /// - Parameters:
    /// - next: reads the page after a page.
    /// - take: returns `false` to end before the present.
    /// - Returns: the last page taken.
    /// - Throws: `RecordError` INTERNAL_ERROR if more is coming, but the token leads back to an earlier page, as that of another server may.
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
    /// Takes the pages of a zone's changes from a request's token to the present.
    /// - Parameter take: returns `false` to end before.
    /// - Returns: the last page taken.
    @discardableResult
    public func pull(_ request: ZoneChangesRequest, take: (ZoneChangesPage) async throws -> Bool) async throws -> ZoneChangesPage {
        try await zoneChanges(request).andLater({ page in
            var next = request
            next.since = page.syncToken
            return try await zoneChanges(next)
        }, take: take)
    }

    /// The current token of a zone's feed; without a zone, of the database's feed.
    /// - Throws: `RecordError` BAD_REQUEST if there is no feed; ZONE_NOT_FOUND if the zone does not exist.
    public func currentToken(of zoneID: ZoneID?) async throws -> ChangeToken {
        guard let zoneID else { return try await currentToken() }
        guard let token = try await fetchZones([zoneID]).first?.get().syncToken else { throw ZoneRules.noFeed }
        return token
    }

    /// The number of changes in a pull of a zone, or of the database; `nil` if the store can't tell without reading them.
    public func changeCount(in zoneID: ZoneID?, since token: ChangeToken?) async throws -> Int? {
        if let token { return can(.explainTokens) ? try await explain(token).changesAfter : nil }
        guard let zoneID, can(.countRecords) else { return nil }
        return try await counts(in: zoneID).total
    }
}
