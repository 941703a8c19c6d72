internal import CloudKitClient
public import RecordStore
public import Records
internal import Synchronization

extension CloudKitDatabase {
    public func note(_ zone: Zone) {
        if let token = zone.syncToken { engine.tokens.note(token, in: feed(of: zone.zoneID)) }
    }

    // MARK: Changes

    /// CloudKit reports neither when a zone changed, nor whether a user or an app deleted it.
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        let feed = TokenReceipts.Feed.database(address.scope)
        engine.tokens.noteRequest(since: request.since, in: feed)
        let page = try await reading {
            try await $0.databaseChanges(
                since: request.since.map { SyncToken($0.text) }, limit: min(request.limit, DatabaseClient.itemLimit))
        }
        let token = ChangeToken(text: page.syncToken.text)
        engine.tokens.note(token, in: feed, moreComing: page.moreComing)
        let changes = page.zones.map { received in
            let zone = zone(received)
            return ZoneChange(
                zoneID: zone.zoneID, kind: received.isDeleted ? .deleted : .changed, timestamp: nil,
                syncToken: zone.syncToken)
        }
        return DatabaseChangesPage(changes: changes, syncToken: token, moreComing: page.moreComing)
    }

    /// CloudKit reports neither positions nor whether a record was created or modified. Of a deleted record it only
    /// reports the name.
    public func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let feed = feed(of: request.zoneID)
        engine.tokens.noteRequest(since: request.since, in: feed)
        let pull = ZonePull(
            request.zoneID, since: request.since.map { SyncToken($0.text) },
            limit: min(request.limit.records, DatabaseClient.itemLimit),
            desiredKeys: request.desiredKeys, desiredRecordTypes: request.desiredRecordTypes, reverse: request.reverse)
        let page: ZoneFeedPage
        switch try await reading({ try await $0.zoneChanges([pull]) }).first {
        case .success(let received)?: page = received
        case .failure(let error)?: throw RecordError(error)
        case nil: throw RecordError(.internalError, "CloudKit's answer has no zone")
        }
        let token = ChangeToken(text: page.syncToken.text)
        engine.tokens.note(token, in: feed, moreComing: page.moreComing)
        return ZoneChangesPage(
            zoneID: page.zoneID, changes: try page.changes.map(change), syncToken: token, moreComing: page.moreComing)
    }

    /// - Throws: `RecordError` for a record that could not be read. Its page cannot be skipped, because the change
    ///   would be missed.
    private func change(_ received: ZoneFeedPage.Change) throws -> RecordChange {
        switch received {
        case .saved(let record): RecordChange(kind: nil, position: nil, record: try stored(record))
        case .deleted(let deletion): RecordChange(deletionOf: deletion.recordID)
        case .failed(let error): throw RecordError(error)
        }
    }

    // MARK: Received tokens

    /// The time when a token was received, and the number of pulls since.
    /// - Parameter zoneID: the zone of the token; `nil` for a token of the database.
    /// - Returns: `nil` if the token was not received by this server, or is no longer remembered.
    public func receipt(of token: ChangeToken, in zoneID: ZoneID?) -> TokenReceipts.Receipt? {
        engine.tokens.receipt(of: token, in: zoneID.map { feed(of: $0) } ?? .database(address.scope))
    }

    /// Answers name the owner of a zone. Requests need not, if there is only one possible owner.
    private func feed(of zoneID: ZoneID) -> TokenReceipts.Feed {
        .zone(address.scope == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName), address.scope)
    }
}

// MARK: - Tokens

/// The change tokens that were received from CloudKit, each with its time. CloudKit itself has no information about a
/// token.
///
/// They are kept in memory, for the latest ``limit`` tokens only.
public final class TokenReceipts: Sendable {
    public static let limit = 1000
    /// The maximum size in bytes of a token that is remembered. CloudKit's tokens have about 50 bytes.
    static let bytesLimit = 4096

    enum Feed: Sendable, Hashable {
        case database(DatabaseScope)
        case zone(ZoneID, DatabaseScope)
    }

    public struct Receipt: Sendable, Hashable {
        /// The first time that the token was received.
        public let received: Timestamp
        /// The number of pulls of the feed that began since then. All pages of a pull count as one.
        public let pullsSince: Int
    }

    private struct Key: Hashable {
        let feed: Feed
        let token: ChangeToken
    }

    private struct Entry {
        let received: Timestamp
        let pullsBefore: Int
        /// True if the token belongs to a page that is not the last one of its pull.
        var isWithinPull: Bool
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        /// The keys in a ring buffer, beginning with the oldest.
        var order: [Key] = []
        var oldest = 0
        var pulls: [Feed: Int] = [:]
    }

    private let clock: @Sendable () -> Timestamp
    private let state = Mutex(State())

    init(clock: @escaping @Sendable () -> Timestamp) {
        self.clock = clock
    }

    /// - Returns: `nil` if the token was never received, or is no longer remembered.
    func receipt(of token: ChangeToken, in feed: Feed) -> Receipt? {
        state.withLock { state in
            state.entries[Key(feed: feed, token: token)].map {
                Receipt(received: $0.received, pullsSince: state.pulls[feed, default: 0] - $0.pullsBefore)
            }
        }
    }

    /// Counts a request as a new pull, unless it continues one.
    func noteRequest(since token: ChangeToken?, in feed: Feed) {
        state.withLock { state in
            if let token, state.entries[Key(feed: feed, token: token)]?.isWithinPull == true { return }
            state.pulls[feed, default: 0] += 1
        }
    }

    func note(_ token: ChangeToken, in feed: Feed, moreComing: Bool = false) {
        guard token.text.utf8.count <= Self.bytesLimit else { return }
        let (key, now) = (Key(feed: feed, token: token), clock())
        state.withLock { state in
            if state.entries[key] != nil {
                state.entries[key]?.isWithinPull = moreComing
                return
            }
            state.entries[key] = Entry(
                received: now, pullsBefore: state.pulls[feed, default: 0], isWithinPull: moreComing)
            if state.order.count < Self.limit { return state.order.append(key) }
            state.entries[state.order[state.oldest]] = nil
            state.order[state.oldest] = key
            state.oldest = (state.oldest + 1) % Self.limit
            // Counts of zones without remembered tokens are not needed.
            guard state.pulls.count > Self.limit * 2 else { return }
            let feeds = Set(state.order.map(\.feed))
            state.pulls = state.pulls.filter { feeds.contains($0.key) }
        }
    }
}
