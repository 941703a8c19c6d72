internal import GRDB
internal import JSON
internal import Records
internal import Synchronization

extension Accounts {
    /// Schedules writing a use to the file some seconds later; a new user that other processes must know, at once.
    func noteUse(_ use: KnownCredentials.Use) {
        let isFirst = credentials.withLock { $0.note(use) }
        if isShared, case .newUser = use { writeUses(after: .zero) } else if isFirst { writeUses(after: .seconds(5)) }
    }

    private func writeUses(after delay: Duration) {
        Task.detached(priority: .utility) { [weak self] in
            do {
                try await Task.sleep(for: delay)
                try await self?.writeUses()
            } catch {
                self?.report.withLock { $0 }(error)
            }
        }
    }

    /// Writes new users and the times of last uses that are not in the file yet. Call it before the server stops.
    /// - Throws: a file error. The uses are then written with the next ones.
    public func writeUses() async throws {
        let isWork = credentials.withLock { credentials in
            if credentials.unwritten.isEmpty { credentials.isWriting = false }
            return !credentials.unwritten.isEmpty
        }
        guard isWork else { return }
        let taken = Mutex<Set<KnownCredentials.Use>>([])
        do {
            try await queue.write { [self] database in
                // Taken inside the transaction, where nothing is removed or revoked concurrently.
                let uses = credentials.withLock { credentials in
                    credentials.isWriting = false
                    defer { credentials.unwritten = [] }
                    return credentials.unwritten
                }
                taken.withLock { $0 = uses }
                for use in uses { try write(use, database) }
            }
        } catch {
            taken.withLock { uses in
                credentials.withLock { credentials in
                    credentials.unwritten.formUnion(uses)
                    // If the transaction could not begin, this flag is still set and would prevent further writes.
                    credentials.isWriting = false
                }
            }
            throw error
        }
    }

    private func write(_ use: KnownCredentials.Use, _ database: Database) throws {
        switch use {
        case .newUser(let recordName):
            let (user, seen) = known.withLock { ($0.user(recordName: recordName), $0.lastSeen(recordName)) }
            if let user { try Self.write(user, seen: seen, database) }
        case .user(let recordName):
            // Another process may have removed the user, who then does not come back.
            let seen = known.withLock { $0.lastSeen(recordName)?.milliseconds }
            try database.execute(sql: "UPDATE user SET lastSeen = coalesce(?, lastSeen) WHERE userRecordName = ?", arguments: [seen, recordName.string])
        default:
            if let row = credentials.withLock({ $0.row(of: use) }) { try database.execute(sql: row.sql, arguments: row.arguments) }
        }
    }
}

extension KnownCredentials {
    fileprivate struct UseRow: Sendable {
        let sql: String
        let arguments: StatementArguments
    }

    fileprivate func row(of use: Use) -> UseRow? {
        switch use {
        case .newUser, .user: return nil
        case .token(let id):
            return tokens[id]?.lastUsed.map {
                UseRow(sql: "UPDATE apiToken SET lastUsed = ? WHERE id = ?", arguments: [$0.milliseconds, id])
            }
        case .key(let id):
            return keys[id]?.lastUsed.map {
                UseRow(sql: "UPDATE serverKey SET lastUsed = ? WHERE keyID = ?", arguments: [$0.milliseconds, id])
            }
        case .session(let id):
            return sessions[id]?.lastUsed.map {
                let newest = rotations[id]?.newest
                return UseRow(
                    sql: "UPDATE webAuthSession SET lastUsed = ?, newestIssue = ?, newestUse = ? WHERE id = ?",
                    arguments: [$0.milliseconds, newest?.issue, newest?.firstUse, id])
            }
        case .notificationToken(let key):
            return notificationTokens[key.id]?.first { $0.key == key }.map {
                UseRow(
                    sql: "UPDATE notificationToken SET told = ? WHERE id = ? AND container = ? AND environment = ?",
                    arguments: [$0.told, key.id, key.container.description, key.environment.rawValue])
            }
        }
    }
}
