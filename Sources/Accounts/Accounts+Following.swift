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
            var followed: Int64?
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

    /// - Parameter last: a number of SQLite's that changes with commits of other connections.
    /// - Returns: the present one.
    private func newest(after last: Int64?) async throws -> Int64? {
        try await queue.read { [self] database in
            let version = try Int64.fetchOne(database, sql: "PRAGMA data_version")
            if let last, last == version { return last }
            let (users, stored) = (try Self.users(in: database), try KnownCredentials(database))
            let (queries, connections) = (try Self.savedQueries(in: database), try Self.connections(in: database))
            let (titles, password) = (try Self.titleFields(in: database), try StoredPassword(database))
            known.withLock { $0.adopt(users) }
            credentials.withLock { $0.adopt(stored) }
            saved.withLock { $0 = queries }
            connected.withLock { $0 = connections }
            titled.withLock { $0 = titles }
            administration.withLock { administration in
                if administration.password == password { return }
                (administration.password, administration.remembered) = (password, nil)
            }
            return version
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
    /// Takes over the credentials of the file, which has each of them before memory has it.
    mutating func adopt(_ stored: KnownCredentials) {
        var stored = stored
        stored.keepUses(of: self)
        (tokens, keys, sessions, notificationTokens) = (stored.tokens, stored.keys, stored.sessions, stored.notificationTokens)
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

    /// Keeps uses that are not in the file yet.
    private mutating func keepUses(of known: KnownCredentials) {
        for use in known.unwritten {
            switch use {
            case .newUser, .user: break
            case .token(let id): tokens[id]?.lastUsed = known.tokens[id]?.lastUsed
            case .key(let id): keys[id]?.lastUsed = known.keys[id]?.lastUsed
            case .session(let id): sessions[id]?.lastUsed = known.sessions[id]?.lastUsed
            case .notificationToken(let key):
                guard let told = known.notificationTokens[key.id]?.first(where: { $0.key == key })?.told,
                    let index = notificationTokens[key.id]?.firstIndex(where: { $0.key == key })
                else { break }
                notificationTokens[key.id]?[index].told = told
            }
        }
    }
}
