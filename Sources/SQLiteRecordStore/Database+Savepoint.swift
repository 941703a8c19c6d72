internal import GRDB

extension Database {
    /// Runs `body` in a transaction that writes.
    ///
    /// Every commit needs one, so its statements are cached. GRDB's own `inTransaction` compiles them each time.
    func writing(_ body: () throws -> TransactionCompletion) throws {
        try cachedStatement(sql: "BEGIN IMMEDIATE").execute()
        do {
            try cachedStatement(sql: try body() == .commit ? "COMMIT" : "ROLLBACK").execute()
        } catch {
            // After some errors, such as a full disk, SQLite has already rolled back.
            if isInsideTransaction { try? cachedStatement(sql: "ROLLBACK").execute() }
            throw error
        }
    }

    /// Runs `body` in a savepoint and rolls it back if it throws.
    ///
    /// Every write needs one, as for ``writing(_:)``.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        try run("SAVEPOINT attempt", [])
        do {
            let value = try body()
            try run("RELEASE attempt", [])
            return value
        } catch {
            // After some errors, such as a full disk, SQLite has already rolled back the whole transaction.
            if isInsideTransaction {
                try run("ROLLBACK TO attempt", [])
                try run("RELEASE attempt", [])
            }
            throw error
        }
    }
}
