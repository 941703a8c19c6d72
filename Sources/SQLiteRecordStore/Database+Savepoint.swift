internal import GRDB

extension Database {
    /// Runs a part of a transaction that is undone when it throws.
    ///
    /// Every save needs one, so its statements are compiled once; the library's own are compiled each time.
    func attempt<Value>(_ body: () throws -> Value) throws -> Value {
        try cachedStatement(sql: "SAVEPOINT attempt").execute()
        do {
            let value = try body()
            try cachedStatement(sql: "RELEASE attempt").execute()
            return value
        } catch {
            // After some errors, such as a full disk, SQLite has given up the whole transaction.
            if isInsideTransaction {
                try cachedStatement(sql: "ROLLBACK TO attempt").execute()
                try cachedStatement(sql: "RELEASE attempt").execute()
            }
            throw error
        }
    }
}
