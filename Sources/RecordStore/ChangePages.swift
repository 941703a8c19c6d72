internal import Records

/// The changes of a zone, page by page. Each page is read on demand, so only one is in memory.
///
/// Starts at the request's token. After an error, continue with the `syncToken` of the last page as `since`.
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
        // Listens before the first page is read, so that no commit is missed.
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

        /// - Throws: `RecordError` like `zoneChanges`: ZONE_NOT_FOUND if the zone was deleted meanwhile.
        ///   `CancellationError` if a playback is cancelled before its end.
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
                // The first page is returned even if it is empty, because it contains the feed's current token.
                defer { hasBegun = true }
                if !hasBegun || !page.changes.isEmpty || commits == nil { return page }
            }
        }
    }
}

extension RecordDatabase {
    /// A zone's changes from the request's token to the present. Throws `CancellationError` if the task is cancelled
    /// before the end.
    public func playback(_ request: ZoneChangesRequest) -> ChangePages {
        ChangePages(self, request, follows: false)
    }
}

extension CommitSignalling {
    /// A zone's changes from the request's token on, followed by new ones as they are committed. The first page is
    /// returned at once even if it is empty; later pages always have changes. Ends when the task is cancelled or the
    /// engine is closed.
    public func follow(_ request: ZoneChangesRequest) -> ChangePages {
        ChangePages(self, request, follows: true)
    }
}
