internal import RecordStore
internal import Records
internal import Synchronization

/// The schema, with the numbers of types and fields in the tables.
struct SchemaCatalog: Sendable {
    /// Increases with each change of the schema or index work. Readers compare it with the file to see whether they
    /// are up to date.
    var version: Int64 = 0
    var schema = Schema()
    /// Existing types only.
    var typeNumbers: [Name: Int64] = [:]
    /// Includes removed types, because their deletions still refer to them.
    var typeNames: [Int64: Name] = [:]
    /// Keyed by type, then by the field's name in the schema language.
    var fieldNumbers: [Name: [Name: Int64]] = [:]
    var indexLimits = IndexLimits()
    /// Pending index work, in the order in which it was started.
    var works: [IndexWork] = []
    /// Indexed fields by type that saves must update, whether or not the index is complete. Excludes the record name,
    /// which every record has an entry for.
    private(set) var indexedFields: [Name: [IndexedField]] = [:]

    struct IndexedField: Sendable {
        let key: FieldKey
        let number: Int64
        let indexes: Indexes
    }

    /// Composite indexes by type that saves must update.
    private(set) var composites: [Name: [Composite]] = [:]
    var compositeNumbers: [Name: [CompositeIndex: Int64]] = [:]

    struct Composite: Sendable {
        let index: CompositeIndex
        let number: Int64
        /// True if the index contains all records and queries may use it.
        let isComplete: Bool
    }

    func fieldNumber(_ key: FieldKey, of type: Name) -> Int64? {
        fieldNumbers[type]?[key.schemaName]
    }

    /// - Throws: ``DamagedRow`` for an unknown number.
    func typeName(of number: Int64) throws -> Name { try Self.typeName(of: number, in: typeNames) }

    static func typeName(of number: Int64, in typeNames: [Int64: Name]) throws -> Name {
        guard let name = typeNames[number] else {
            throw DamagedRow(in: "types", "has no row for type \(number), which the table 'records' refers to")
        }
        return name
    }

    /// - Throws: `RecordError` INTERNAL_ERROR for a missing type. A default of 0 is not possible, because 0 stands
    ///   for deletions.
    func typeNumber(of name: Name) throws -> Int64 {
        guard let number = typeNumbers[name] else {
            throw RecordError(.internalError, "The type '\(name)' has no number in the store")
        }
        return number
    }

    // MARK: Reading

    static func version(in db: SQLConnection) throws -> Int64 {
        try FactRows.number("schemaVersion", db) ?? 0
    }

    init() {}

    init(_ db: SQLConnection) throws {
        version = try Self.version(in: db)
        schema.roles = Set(
            try SQLRow.fetchAll(db, sql: "SELECT name FROM roles").map { Name(try $0.value("name", in: "roles")) })
        for row in try SQLRow.fetchAll(db, sql: "SELECT number, name, grants, removed FROM types") {
            let (name, number): (Name, Int64) = (
                Name(try row.value("name", in: "types")), try row.value("number", in: "types")
            )
            typeNames[number] = name
            let isRemoved: Bool = try row.value("removed", in: "types")
            if isRemoved { continue }
            typeNumbers[name] = number
            schema.types[name] = RecordType(name: name, grants: Self.grants(try row.value("grants", in: "types")))
        }
        for row in try SQLRow.fetchAll(db, sql: "SELECT number, type, name, declaration, indexes FROM fields") {
            guard let type = typeNames[try row.value("type", in: "fields")] else { continue }
            let name = Name(try row.value("name", in: "fields"))
            fieldNumbers[type, default: [:]][name] = try row.value("number", in: "fields")
            let indexes = Indexes(rawValue: try row.value("indexes", in: "fields"))
            switch FieldKey(schemaName: name) {
            case .system(let field): if !indexes.isEmpty { schema.types[type]?.systemIndexes[field] = indexes }
            case .custom:
                guard var definition = FieldDefinition(declaration: try row.value("declaration", in: "fields")) else {
                    continue
                }
                definition.indexes = indexes
                schema.types[type]?.fields[name] = definition
            }
        }
        try readComposites(db)
        works = try IndexWork.all(typeNames: typeNames, db)
        for type in schema.types.values { listIndexes(of: type.name) }
    }

    private mutating func readComposites(_ db: SQLConnection) throws {
        for row in try SQLRow.fetchAll(db, sql: "SELECT number, type, filter, sort FROM composites WHERE dropped = 0") {
            guard let type = typeNames[try row.value("type", in: "composites")] else { continue }
            let index = CompositeIndex(
                filter: FieldKey(schemaName: Name(try row.value("filter", in: "composites"))),
                sort: FieldKey(schemaName: Name(try row.value("sort", in: "composites"))))
            schema.types[type]?.compositeIndexes.insert(index)
            compositeNumbers[type, default: [:]][index] = try row.value("number", in: "composites")
        }
    }

    /// Index work on indexes that the edits request.
    func builds(namedBy edits: [SchemaEdit]) -> Set<Int64> {
        var named: [(type: Name, key: FieldKey)] = []
        var composites: Set<CompositeIndex> = []
        for edit in edits {
            switch edit {
            case .addType(let type):
                named += type.indexedKeys.map { (type.name, $0) }
                composites.formUnion(type.compositeIndexes)
            case .setIndexes(let indexes, let key, let type), .addIndexes(let indexes, let key, let type):
                if !indexes.isEmpty { named.append((type, key)) }
            case .addCompositeIndex(let index, _): composites.insert(index)
            case .removeType, .removeField, .dropIndexes, .setGrants, .addGrants, .addRole, .removeRole,
                .removeCompositeIndex:
                continue
            }
        }
        return Set(
            works.filter { work in
                guard work.phase != .removing else { return false }
                if case .composite(let index, _) = work.target { return composites.contains(index) }
                return named.contains { $0.type == work.type && work.target.keys == [$0.key] }
            }.map(\.id))
    }

    /// Recomputes the indexes that saves must update.
    mutating func listIndexes(of typeName: Name) {
        guard let type = schema.types[typeName] else {
            (indexedFields[typeName], composites[typeName]) = (nil, nil)
            return
        }
        let works = works.filter { $0.type == typeName }
        indexedFields[typeName] = type.indexedKeys.filter { $0 != .system(.recordID) }.compactMap { key in
            guard let number = fieldNumber(key, of: typeName), var indexes = type.definition(of: key)?.indexes else {
                return nil
            }
            // New rows would mix with the old ones that are still being removed.
            for work in works where work.phase == .clearing {
                if work.target == .entries(key, number) { indexes.subtract(IndexTarget.entryIndexes) }
                if work.target == .tokens(key, number) { indexes.remove(.searchable) }
            }
            return indexes.isEmpty ? nil : IndexedField(key: key, number: number, indexes: indexes)
        }
        composites[typeName] = compositeNumbers[typeName]?.map { index, number in
            Composite(
                index: index, number: number, isComplete: !works.contains { $0.target == .composite(index, number) })
        }.sorted { $0.number < $1.number }
    }

    // MARK: Grants as text: `_creator:WRITE;_icloud:CREATE`

    static func text(_ grants: [Grant]) -> String {
        grants.map { "\($0.role):" + $0.permissions.map(\.rawValue).sorted().joined(separator: ",") }.joined(
            separator: ";")
    }

    private static func grants(_ text: String) -> [Grant] {
        text.split(separator: ";").compactMap { part in
            let halves = part.split(separator: ":")
            guard halves.count == 2 else { return nil }
            return Grant(
                role: Name(halves[0]),
                permissions: Set(halves[1].split(separator: ",").compactMap { Grant.Permission(rawValue: String($0)) }))
        }
    }
}

extension FieldDefinition {
    /// The text stored in `fields`: the type as requests name it, or the schema language's spelling for numbers,
    /// followed by the idle indexes.
    var declaration: String {
        ([type.number == nil ? type.wireName : type.schemaName] + idleIndexes.names).joined(separator: " ")
    }

    /// Parses ``declaration``, which contains only the idle indexes.
    /// - Returns: `nil` if the type is unknown.
    init?(declaration: String) {
        var words = declaration.split(separator: " ")
        var idle: Indexes = []
        while let last = words.last, let index = Indexes(name: String(last)) {
            idle.insert(index)
            words.removeLast()
        }
        let text = words.joined(separator: " ")
        guard let type = FieldType(wireName: text) ?? FieldType(schemaName: text) else { return nil }
        self.init(type: type, idleIndexes: idle)
    }
}

// MARK: - Latest schema

/// The schema after the latest commit. Readers use it, and read the schema from the file only if their snapshot has
/// another version.
final class LatestCatalog: Sendable {
    private let latest: Mutex<SchemaCatalog>

    init(_ catalog: SchemaCatalog) {
        latest = Mutex(catalog)
    }

    /// May be outdated when it is used. Use it only as a hint.
    var schema: Schema { latest.withLock { $0.schema } }

    /// Stores the schema of a commit, unless a newer one is stored already.
    func take(_ catalog: SchemaCatalog) {
        latest.withLock { if $0.version < catalog.version { $0 = catalog } }
    }

    /// The schema of the snapshot that `db` reads.
    func catalog(of db: SQLConnection) throws -> SchemaCatalog {
        let version = try SchemaCatalog.version(in: db)
        let held = latest.withLock { $0 }
        if held.version == version { return held }
        var read = try SchemaCatalog(db)
        read.indexLimits = held.indexLimits
        take(read)
        return read
    }
}
