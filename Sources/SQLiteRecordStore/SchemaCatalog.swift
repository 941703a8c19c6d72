internal import GRDB
internal import JSON
internal import Records

/// The schema with the numbers that types and fields have in the tables.
struct SchemaCatalog: Sendable {
    /// Grows with every change of the schema, so that a reader sees whether what it holds is what the file says.
    var version: Int64 = 0
    var schema = Schema()
    private(set) var typeNumbers: [Name: Int64] = [:]
    private(set) var typeNames: [Int64: Name] = [:]
    /// By type, then by the field's name in the schema language.
    private(set) var fieldNumbers: [Name: [Name: Int64]] = [:]
    /// Indexes whose entries are being built, by type and field: saves keep them up, queries don't know them yet.
    private var pending: [Name: [FieldKey: Indexes]] = [:]
    /// Bits of a field's indexes in its row; those above are of the pending ones.
    private static let indexBits = 3
    /// The fields of each type that have an index, or get one, but for the record's name, which every record of a type has an entry for.
    private(set) var indexedFields: [Name: [IndexedField]] = [:]

    struct IndexedField: Sendable {
        let key: FieldKey
        let number: Int64
        let indexes: Indexes
    }

    /// The composite indexes of each type that saves keep up.
    private(set) var composites: [Name: [Composite]] = [:]

    struct Composite: Sendable {
        let index: CompositeIndex
        let number: Int64
        /// Whether every record is entered, so that queries may use it.
        let isComplete: Bool
    }

    func fieldNumber(_ key: FieldKey, of type: Name) -> Int64? {
        fieldNumbers[type]?[key.schemaName]
    }

    // MARK: Reading

    static func version(in db: Database) throws -> Int64 {
        try Int64.fetchOne(db, cachedSQL: "SELECT value FROM facts WHERE name = 'schemaVersion'") ?? 0
    }

    init() {}

    init(_ db: Database) throws {
        version = try Self.version(in: db)
        schema.roles = Set(try String.fetchAll(db, sql: "SELECT name FROM roles").map { Name($0) })
        for row in try Row.fetchAll(db, sql: "SELECT number, name, grants FROM types") {
            let name = Name(row["name"] as String)
            typeNumbers[name] = row["number"]
            typeNames[row["number"]] = name
            schema.types[name] = RecordType(name: name, grants: Self.grants(row["grants"]))
        }
        for row in try Row.fetchAll(db, sql: "SELECT number, type, name, declaration, indexes FROM fields") {
            guard let type = typeNames[row["type"]] else { continue }
            let name = Name(row["name"] as String)
            fieldNumbers[type, default: [:]][name] = row["number"]
            let stored = row["indexes"] as Int
            let indexes = Indexes(rawValue: stored & (1 << Self.indexBits - 1))
            let pending = Indexes(rawValue: stored >> Self.indexBits)
            if !pending.isEmpty { self.pending[type, default: [:]][FieldKey(schemaName: name)] = pending }
            switch FieldKey(schemaName: name) {
            case .system(let field): if !indexes.isEmpty { schema.types[type]?.systemIndexes[field] = indexes }
            case .custom:
                guard let fieldType = FieldType(wireName: row["declaration"]) else { continue }
                schema.types[type]?.fields[name] = FieldDefinition(type: fieldType, indexes: indexes)
            }
        }
        for type in schema.types.values { listIndexes(of: type) }
    }

    private mutating func listIndexes(of type: RecordType) {
        let pending = pending[type.name] ?? [:]
        let keys = type.indexedKeys.filter { $0 != .system(.recordID) }
        indexedFields[type.name] = (keys + pending.keys.filter { !keys.contains($0) }).compactMap { key in
            guard let number = fieldNumber(key, of: type.name) else { return nil }
            return IndexedField(key: key, number: number, indexes: (type.definition(of: key)?.indexes ?? []).union(pending[key] ?? []))
        }
    }

    // MARK: Writing

    /// Writes what a schema has beyond this catalog, or has otherwise, and takes it over.
    mutating func store(_ new: Schema, in db: Database) throws {
        for role in new.roles.subtracting(schema.roles) {
            try db.execute(sql: "INSERT INTO roles (name) VALUES (?)", arguments: [role.string])
        }
        for type in new.sortedTypes where schema.types[type.name] != type {
            let number = try typeNumber(type, in: db)
            defer { listIndexes(of: type) }
            for (name, definition) in type.fields where schema.types[type.name]?.fields[name] != definition {
                try store(definition, of: name, in: type.name, number: number, db)
            }
            for (field, indexes) in type.systemIndexes where schema.types[type.name]?.systemIndexes[field] != indexes {
                try store(FieldDefinition(type: field.type, indexes: indexes), of: field.schemaName, in: type.name, number: number, db)
            }
        }
        schema = new
        version += 1
        try db.execute(sql: "INSERT OR REPLACE INTO facts (name, value) VALUES ('schemaVersion', ?)", arguments: [version])
    }

    private mutating func typeNumber(_ type: RecordType, in db: Database) throws -> Int64 {
        if let number = typeNumbers[type.name] { return number }
        try db.execute(sql: "INSERT INTO types (name, grants) VALUES (?, ?)", arguments: [type.name.string, Self.text(type.grants)])
        let number = db.lastInsertedRowID
        typeNumbers[type.name] = number
        typeNames[number] = type.name
        // Every type has this entry, whatever its indexes: it is the list of the type's records.
        try store(FieldDefinition(type: .reference), of: SystemField.recordID.schemaName, in: type.name, number: number, db)
        return number
    }

    /// Lets saves keep up the entries of indexes that are being built.
    /// - Returns: the field's number.
    mutating func keepUp(_ indexes: Indexes, of key: FieldKey, in type: RecordType, _ db: Database) throws -> Int64 {
        let typeNumber = try typeNumber(type, in: db)
        if fieldNumber(key, of: type.name) == nil, let definition = type.definition(of: key) {
            try store(definition, of: key.schemaName, in: type.name, number: typeNumber, db)
        }
        guard let number = fieldNumber(key, of: type.name) else { throw RecordError(.internalError, "The field '\(key)' has no number") }
        let all = (pending[type.name]?[key] ?? []).union(indexes)
        pending[type.name, default: [:]][key] = all
        try db.execute(
            sql: "UPDATE fields SET indexes = (indexes & \(1 << Self.indexBits - 1)) | ? WHERE number = ?",
            arguments: [all.rawValue << Self.indexBits, number])
        listIndexes(of: type)
        return number
    }

    /// Whether the entries of these indexes are built, or kept up until they are.
    func isKeptUp(_ indexes: Indexes, of key: FieldKey, in type: Name) -> Bool {
        pending[type]?[key]?.isSuperset(of: indexes) ?? false
    }

    private mutating func store(
        _ definition: FieldDefinition, of field: Name, in type: Name, number: Int64, _ db: Database
    ) throws {
        // What another walk left halfway is still kept up.
        let pending = (pending[type]?[FieldKey(schemaName: field)] ?? []).subtracting(IndexBuild.needed(definition.indexes))
        self.pending[type]?[FieldKey(schemaName: field)] = pending.isEmpty ? nil : pending
        try db.execute(
            sql: """
                INSERT INTO fields (type, name, declaration, indexes) VALUES (?, ?, ?, ?)
                ON CONFLICT (type, name) DO UPDATE SET declaration = excluded.declaration, indexes = excluded.indexes
                """,
            arguments: [number, field.string, definition.type.wireName, definition.indexes.rawValue | pending.rawValue << Self.indexBits])
        fieldNumbers[type, default: [:]][field] = try Int64.fetchOne(
            db, sql: "SELECT number FROM fields WHERE type = ? AND name = ?", arguments: [number, field.string])
    }

    // MARK: Grants as text: `_creator:WRITE;_icloud:CREATE`

    private static func text(_ grants: [Grant]) -> String {
        grants.map { "\($0.role):" + $0.permissions.map(\.rawValue).sorted().joined(separator: ",") }.joined(separator: ";")
    }

    private static func grants(_ text: String) -> [Grant] {
        text.split(separator: ";").compactMap { part in
            let halves = part.split(separator: ":")
            guard halves.count == 2 else { return nil }
            return Grant(role: Name(halves[0]), permissions: Set(halves[1].split(separator: ",").compactMap { Grant.Permission(rawValue: String($0)) }))
        }
    }
}
