internal import GRDB

extension Database {
    /// Runs `body` in a savepoint and rolls it back if it throws.
    ///
    /// Every write needs one, so its statements are cached. GRDB's own `inSavepoint` compiles them each time.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        try cachedStatement(sql: "SAVEPOINT attempt").execute()
        do {
            let value = try body()
            try cachedStatement(sql: "RELEASE attempt").execute()
            return value
        } catch {
            // After some errors, such as a full disk, SQLite has already rolled back the whole transaction.
            if isInsideTransaction {
                try cachedStatement(sql: "ROLLBACK TO attempt").execute()
                try cachedStatement(sql: "RELEASE attempt").execute()
            }
            throw error
        }
    }
}
