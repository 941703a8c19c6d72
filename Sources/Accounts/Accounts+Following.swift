internal import GRDB
internal import JSON
internal import Synchronization

// Processes that serve one database share the file of accounts.

extension Accounts {
    /// How often the file is looked at.
    private static let interval = Duration.milliseconds(200)

    /// Takes over what other processes write to the file, until the accounts are released.
    func follow() {
        Task.detached(priority: .utility) { [weak self] in
            var followed: Followed?
            while let accounts = self {
                do {
                    followed = try await accounts.newest(after: followed)
                } catch {
                    accounts.report.withLock { $0 }(error)
                }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    /// What the file had when it was last looked at.
    private struct Followed: Sendable {
        /// A number of SQLite's that changes with commits of other connections.
        let version: Int64?
        let credentials: KnownCredentials.IDs
    }

    private func newest(after last: Followed?) async throws -> Followed {
        try await queue.read { [self] database in
            let version = try Int64.fetchOne(database, sql: "PRAGMA data_version")
            if let last, last.version == version { return last }
            let (users, stored) = (try Self.users(in: database), try KnownCredentials(database))
            let (queries, connections) = (try Self.savedQueries(in: database), try Self.connections(in: database))
            let password = try StoredPassword(database)
            known.withLock { $0.adopt(users) }
            credentials.withLock { $0.adopt(stored, after: last?.credentials) }
            saved.withLock { $0 = queries }
            connected.withLock { $0 = connections }
            administration.withLock { administration in
                if administration.password == password { return }
                (administration.password, administration.remembered) = (password, nil)
            }
            return Followed(version: version, credentials: stored.ids)
        }
    }
}

extension KnownUsers {
    /// Adds the users of the file, and forgets those that another process removed. A user who is not in the file yet stays.
    mutating func adopt(_ stored: KnownUsers) {
        var stored = stored
        for user in stored.all { insert(user) }
        for recordName in stored.removed {
            if let user = user(recordName: recordName) { forget(user) } else { removed.insert(recordName) }
        }
    }
}

extension KnownCredentials {
    /// Names of credentials.
    struct IDs: Sendable {
        let tokens: Set<String>
        let keys: Set<String>
        let sessions: Set<String>
        let notificationTokens: Set<String>
    }

    var ids: IDs {
        IDs(tokens: Set(tokens.keys), keys: Set(keys.keys), sessions: Set(sessions.keys), notificationTokens: Set(notificationTokens.keys))
    }

    /// Takes over the credentials of the file.
    /// - Parameter last: what the file had before. What is in memory and was not in the file is about to be written.
    mutating func adopt(_ stored: KnownCredentials, after last: IDs?) {
        func merged<Value>(_ held: [String: Value], _ stored: [String: Value], _ last: Set<String>?) -> [String: Value] {
            stored.merging(held.filter { name, _ in !(last?.contains(name) ?? false) }) { stored, _ in stored }
        }
        tokens = merged(tokens, stored.tokens, last?.tokens)
        keys = merged(keys, stored.keys, last?.keys)
        sessions = merged(sessions, stored.sessions, last?.sessions)
        notificationTokens = merged(notificationTokens, stored.notificationTokens, last?.notificationTokens)
        tokenIDs.merge(stored.tokenIDs) { _, stored in stored }
        for (id, rotation) in stored.rotations {
            guard var held = rotations[id], let newest = rotation.newest else {
                rotations[id] = rotation
                continue
            }
            held.used(issue: newest.issue, at: newest.firstUse, grace: Int64(WebAuthSession.grace) * 1000)
            rotations[id] = held
        }
        collectOrigins()
    }
}
