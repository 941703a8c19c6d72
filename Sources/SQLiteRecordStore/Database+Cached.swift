internal import GRDB
internal import Records

// Statements that run often are compiled once per connection.

extension Database {
    func run(_ sql: String, _ arguments: StatementArguments) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

extension DatabaseValueConvertible {
    static func fetchOne(_ db: Database, cachedSQL sql: String, _ arguments: StatementArguments = StatementArguments()) throws -> Self? {
        try fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchAll(_ db: Database, cachedSQL sql: String, _ arguments: StatementArguments) throws -> [Self] {
        try fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
    }
}

extension Row {
    static func fetchOne(_ db: Database, cachedSQL sql: String, _ arguments: StatementArguments) throws -> Row? {
        try fetchOne(db.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchAll(_ db: Database, cachedSQL sql: String, _ arguments: StatementArguments) throws -> [Row] {
        try fetchAll(db.cachedStatement(sql: sql), arguments: arguments)
    }
}

extension Row {
    /// A column of a table that everything rests on.
    /// - Throws: `RecordError` INTERNAL_ERROR in a damaged file, where it can hold anything.
    func sound<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        guard let value = Value.fromDatabaseValue(self[column]) else {
            throw RecordError(.internalError, "The store is damaged: '\(column)' of its schema can't be read")
        }
        return value
    }
}
