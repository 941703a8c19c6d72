internal import GRDB
internal import Records
internal import Synchronization

extension Accounts {
    /// How long a use waits for others to be written with it.
    private static let delay = Duration.seconds(5)

    /// Sees to it that a use is in the file some seconds later.
    func noteUse(_ use: Credentials.Use) {
        guard credentials.withLock({ $0.note(use) }) else { return }
        Task.detached(priority: .utility) { [weak self] in
            try? await Task.sleep(for: Self.delay)
            try? await self?.writeUses()
        }
    }

    /// Writes when tokens, keys and sessions were last used, as far as it is not in the file yet. Whoever ends a server calls this.
    /// - Throws: an error of the file. Then the uses are tried again with the next ones.
    public func writeUses() async throws {
        let rows = credentials.withLock { credentials in
            credentials.isWriting = false
            defer { credentials.unwritten = [] }
            return credentials.unwritten.compactMap { credentials.row(of: $0) }
        }
        if rows.isEmpty { return }
        do {
            try await queue.write { database in
                for row in rows { try database.execute(sql: row.sql, arguments: row.arguments) }
            }
        } catch {
            credentials.withLock { $0.unwritten.formUnion(rows.map(\.use)) }
            throw error
        }
    }
}

extension Credentials {
    fileprivate struct UseRow: Sendable {
        let use: Use
        let sql: String
        let arguments: StatementArguments
    }

    fileprivate func row(of use: Use) -> UseRow? {
        switch use {
        case .token(let id):
            tokens[id]?.lastUsed.map {
                UseRow(use: use, sql: "UPDATE apiToken SET lastUsed = ? WHERE id = ?", arguments: [$0.milliseconds, id])
            }
        case .key(let id):
            keys[id]?.lastUsed.map {
                UseRow(use: use, sql: "UPDATE serverKey SET lastUsed = ? WHERE keyID = ?", arguments: [$0.milliseconds, id])
            }
        case .session(let id):
            sessions[id]?.lastUsed.map {
                let newest = rotations[id]?.newest
                return UseRow(
                    use: use, sql: "UPDATE webAuthSession SET lastUsed = ?, newestIssue = ?, newestUse = ? WHERE id = ?",
                    arguments: [$0.milliseconds, newest?.issue, newest?.firstUse, id])
            }
        }
    }
}
