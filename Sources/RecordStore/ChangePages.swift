internal import Records

/// The changes of a zone, page after page: each is read when the one before was taken, so however long a feed is, one page of it is in
/// memory.
///
/// Begins where its request says. When it throws, go on later with the `syncToken` of the last page as `since`: nothing is missed.
public struct ChangePages: AsyncSequence, Sendable {
    public typealias Element = ZoneChangesPage

    private let database: any RecordDatabase
    private let request: ZoneChangesRequest
    private let follows: Bool

    fileprivate init(_ database: any RecordDatabase, _ request: ZoneChangesRequest, follows: Bool) {
        self.database = database
        self.request = request
        self.follows = follows
    }

    public func makeAsyncIterator() -> Iterator {
        // The signals begin before the first page is read, so that no commit falls in between.
        Iterator(database: database, request: request, commits: follows ? (database as? any CommitSignalling)?.commits().makeAsyncIterator() : nil)
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let database: any RecordDatabase
        fileprivate var request: ZoneChangesRequest
        fileprivate var commits: AsyncStream<Void>.Iterator?
        private var hasBegun = false
        private var isBehind = true

        fileprivate init(database: any RecordDatabase, request: ZoneChangesRequest, commits: AsyncStream<Void>.Iterator?) {
            self.database = database
            self.request = request
            self.commits = commits
        }

        /// - Throws: `RecordError`, as `zoneChanges` does: ZONE_NOT_FOUND when the zone was deleted meanwhile. `CancellationError` when a playback
        ///   is cancelled, which has not come to its end then.
        public mutating func next() async throws -> ZoneChangesPage? {
            while true {
                if !isBehind, await commits?.next() == nil { return nil }
                if Task.isCancelled {
                    if commits == nil { throw CancellationError() }
                    return nil
                }
                let page = try await database.zoneChanges(request)
                request.since = page.syncToken
                isBehind = page.moreComing
                // The first page is told even when it is empty: it says where the feed stands.
                defer { hasBegun = true }
                if !hasBegun || !page.changes.isEmpty || commits == nil { return page }
            }
        }
    }
}

extension RecordDatabase {
    /// A zone's changes from the request's token to the present, and then the end. Throws `CancellationError` when the task is cancelled before.
    public func playback(_ request: ZoneChangesRequest) -> ChangePages {
        ChangePages(self, request, follows: false)
    }
}

extension CommitSignalling {
    /// A zone's changes from the request's token on, and those to come as they are committed. The first page comes at once, even when it is
    /// empty; later ones hold changes. Ends when the task is cancelled or the engine is closed.
    public func follow(_ request: ZoneChangesRequest) -> ChangePages {
        ChangePages(self, request, follows: true)
    }
}
