/// Rows of `facts`: what a store has one of, by name. Their values have no type of their own.
enum FactRows {
    static func value(_ name: String, _ db: SQLConnection) throws -> SQLValue? {
        try SQLValue.fetchOne(db, sql: "SELECT value FROM facts WHERE name = ?", [name])
    }

    /// - Returns: `nil` if there is no such fact.
    /// - Throws: ``DamagedRow`` if it is not a whole number.
    static func number(_ name: String, _ db: SQLConnection) throws -> Int64? {
        switch try value(name, db) {
        case nil: nil
        case .integer(let number): number
        default: throw DamagedRow(in: "facts", "holds no number for \(name)")
        }
    }

    /// - Throws: ``DamagedRow`` if it is not bytes.
    static func bytes(_ name: String, _ db: SQLConnection) throws -> [UInt8]? {
        switch try value(name, db) {
        case nil: nil
        case .bytes(let bytes): bytes
        default: throw DamagedRow(in: "facts", "holds no bytes for \(name)")
        }
    }

    static func set(_ name: String, to value: SQLValue, _ db: SQLConnection) throws {
        try db.run("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", [name, value])
    }
}
