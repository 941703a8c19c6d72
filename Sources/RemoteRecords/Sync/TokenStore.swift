public import CloudKitClient
public import Foundation
public import Records
internal import Synchronization

/// The change tokens of one database and its zones, in a file: for an app that fetches changes by calls, without a
/// ``SyncEngine`` or a ``RecordCache``, which keep their own.
///
///     try await tokens.fetchChanges(of: zoneID, in: database) { page, isFromTheBeginning in
///         if isFromTheBeginning { removeAll(in: zoneID) }
///         store(page)
///     }
///
/// A token is stored after the app has stored what came before it. A program that is killed in between gets the page
/// again. Open each file once.
public final class TokenStore: Sendable {
    private let file: URL
    private let state: Mutex<SyncState>

    /// Opens the file, or begins with no tokens if there is none.
    /// - Parameters:
    ///   - file: the file of one database.
    ///   - user: the ID of the signed-in user's record. Tokens of another user are dropped. An app that does not know
    ///     its user calls ``removeAll()`` when the account changes.
    /// - Throws: an error of the file system; ``UnreadableRecord`` if the file is not one of this type.
    public init(_ file: URL, user: RecordID? = nil) throws {
        self.file = file
        let isThere = FileManager.default.fileExists(atPath: file.path(percentEncoded: false))
        var state = isThere ? try SyncState(Array(Data(contentsOf: file))) : SyncState()
        if let user, state.userRecordName != user.recordName { state.reset(for: user.recordName) }
        self.state = Mutex(state)
    }

    /// The token of the database; `nil` if its zones were never listed, or the token has expired.
    public var databaseToken: SyncToken? { state.withLock { $0.databaseToken } }

    /// The token of a zone; `nil` if it was never fetched, or the token has expired.
    public func token(of zoneID: ZoneID) -> SyncToken? { state.withLock { $0.zoneTokens[zoneID] } }

    /// Stores the token of the database; `nil` lists all zones the next time.
    /// - Throws: an error of the file system. The token has not changed then.
    public func setDatabaseToken(_ token: SyncToken?) throws { try change { $0.databaseToken = token } }

    /// Stores the token of a zone; `nil` fetches the whole zone the next time, as after its deletion.
    /// - Throws: an error of the file system. The token has not changed then.
    public func setToken(_ token: SyncToken?, of zoneID: ZoneID) throws { try change { $0.zoneTokens[zoneID] = token } }

    /// Removes all tokens, such as those of a user who signed out.
    /// - Throws: an error of the file system. Nothing was removed then.
    public func removeAll() throws { try change { $0.reset(for: $0.userRecordName) } }

    private func change(_ change: (inout SyncState) -> Void) throws {
        try state.withLock { state in
            var changed = state
            change(&changed)
            try Data(changed.positionBytes).write(to: file, options: .atomic)
            state = changed
        }
    }

    // MARK: Fetching

    /// Fetches the changes of a zone since its token, page by page.
    /// - Parameters:
    ///   - zoneID: the zone to fetch.
    ///   - database: the database of the file.
    ///   - desiredKeys: the keys to fetch; `nil` for all keys, empty for none.
    ///   - isolation: the actor on which `keep` runs, by default that of the caller.
    ///   - keep: stores a page. The token after it is stored when this has returned. `isFromTheBeginning` is true for
    ///     the first page of a zone without a token, also after one that has expired: what the app has of the zone may
    ///     have been deleted, and all that exists comes again.
    /// - Throws: ``OperationError``, such as `zoneNotFound`; the errors of `keep` and of the file. The pages before
    ///   are not fetched again.
    public func fetchChanges(
        of zoneID: ZoneID, in database: any DatabaseCalls, desiredKeys: Set<Name>? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ keep: (_ page: Database.RecordZoneChanges, _ isFromTheBeginning: Bool) async throws -> Void
    ) async throws {
        var hasExpired = false
        while true {
            let token = token(of: zoneID)
            let page: Database.RecordZoneChanges
            do throws(OperationError) {
                page = try await database.recordZoneChanges(
                    inZoneWith: zoneID, since: token, desiredKeys: desiredKeys)
            } catch {
                guard error.code == .changeTokenExpired, token != nil, !hasExpired else { throw error }
                hasExpired = true
                try setToken(nil, of: zoneID)
                continue
            }
            try await keep(page, token == nil)
            try setToken(page.changeToken, of: zoneID)
            guard page.moreComing else { return }
            if page.changeToken == token { throw Self.endless }
        }
    }

    /// Fetches the zones that changed since the token of the database, page by page.
    /// - Parameters:
    ///   - database: the database of the file.
    ///   - isolation: the actor on which `keep` runs, by default that of the caller.
    ///   - keep: stores a page, with the zones to fetch. The token after it is stored when this has returned, and those
    ///     of deleted zones are removed. `isFromTheBeginning` is true for the first page without a token, also after one
    ///     that has expired: all zones come again, and those that do not were deleted.
    /// - Throws: as ``fetchChanges(of:in:desiredKeys:isolation:_:)``.
    public func fetchDatabaseChanges(
        in database: any DatabaseCalls, isolation: isolated (any Actor)? = #isolation,
        _ keep: (_ page: Database.DatabaseChanges, _ isFromTheBeginning: Bool) async throws -> Void
    ) async throws {
        var hasExpired = false
        while true {
            let token = databaseToken
            let page: Database.DatabaseChanges
            do throws(OperationError) {
                page = try await database.databaseChanges(since: token)
            } catch {
                guard error.code == .changeTokenExpired, token != nil, !hasExpired else { throw error }
                hasExpired = true
                try setDatabaseToken(nil)
                continue
            }
            try await keep(page, token == nil)
            try change { state in
                for zoneID in page.deletions { state.forget(zoneID) }
                state.databaseToken = page.changeToken
            }
            guard page.moreComing else { return }
            if page.changeToken == token { throw Self.endless }
        }
    }

    private static let endless = OperationError(
        .serverRejectedRequest, "The server's pages of changes never end: it repeats a token")
}
