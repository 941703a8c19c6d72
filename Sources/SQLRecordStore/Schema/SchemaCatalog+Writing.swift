internal import RecordStore
internal import Records

extension SchemaCatalog {
    /// Writes the differences between a schema and this catalog, and adopts the schema. Indexes on few records are
    /// built or removed at once; for others background work is started.
    ///
    /// Records and values of removed types and fields must be removed first, with ``forget(type:_:)`` and
    /// ``forget(fields:of:_:)``.
    /// - Returns: the index work that must finish before all added indexes are complete.
    mutating func store(_ new: Schema, in db: SQLConnection) throws -> Set<Int64> {
        for role in new.roles.subtracting(schema.roles) {
            try db.run("INSERT INTO roles (name) VALUES (?)", [role.string])
        }
        for role in schema.roles.subtracting(new.roles) {
            try db.run("DELETE FROM roles WHERE name = ?", [role.string])
        }
        schema.roles = new.roles
        var awaited: Set<Int64> = []
        for type in new.sortedTypes where schema.types[type.name] != type {
            awaited.formUnion(try store(type, in: db))
        }
        try renew(db)
        return awaited
    }

    /// Writes and adopts a type that is new or has new fields. Does not examine other types, so the cost does not
    /// depend on their number.
    mutating func grow(_ type: RecordType, in db: SQLConnection) throws {
        _ = try store(type, in: db)
        try renew(db)
    }

    /// Increments the schema version, so that readers reload the schema.
    mutating func renew(_ db: SQLConnection) throws {
        version += 1
        try FactRows.set("schemaVersion", to: .integer(version), db)
    }

    // MARK: Types and fields

    private mutating func store(_ type: RecordType, in db: SQLConnection) throws -> Set<Int64> {
        let old = schema.types[type.name]
        let number = try typeNumber(type, in: db)
        if let old, old.grants != type.grants {
            try db.run("UPDATE types SET grants = ? WHERE number = ?", [Self.text(type.grants), number])
        }
        for (name, definition) in type.fields.sorted(by: { $0.key < $1.key }) where old?.fields[name] != definition {
            try store(definition, of: name, in: type.name, number: number, db)
        }
        for field in SystemField.allCases where old?.systemIndexes[field] ?? [] != type.systemIndexes[field] ?? [] {
            let definition = FieldDefinition(type: field.type, indexes: type.systemIndexes[field] ?? [])
            try store(definition, of: field.schemaName, in: type.name, number: number, db)
        }
        schema.types[type.name] = type
        var changes = IndexChanges(type: type, number: number, records: try IndexWork.records(ofType: number, db))
        for key in Set(type.indexedKeys + (old?.indexedKeys ?? [])).sorted(by: { $0.schemaName < $1.schemaName })
        where key != .system(.recordID) {
            guard let field = fieldNumber(key, of: type.name) else { continue }
            changes.add(
                from: old?.definition(of: key)?.indexes ?? [], to: type.definition(of: key)?.indexes ?? [], of: key,
                field,
                isNew: old?.definition(of: key) == nil)
        }
        let (were, are) = (old?.compositeIndexes ?? [], type.compositeIndexes)
        for index in were.subtracting(are) {
            guard let composite = compositeNumbers[type.name]?.removeValue(forKey: index) else { continue }
            try db.run("UPDATE composites SET dropped = 1 WHERE number = ?", [composite])
            changes.dropped.append((.composite(index, composite), []))
        }
        for index in are.subtracting(were).sorted(by: {
            ($0.filter.schemaName, $0.sort.schemaName) < ($1.filter.schemaName, $1.sort.schemaName)
        }) {
            let composite = try Int64.inserted(
                db, "INSERT INTO composites (type, filter, sort) VALUES (?, ?, ?) RETURNING number",
                [number, index.filter.schemaName.string, index.sort.schemaName.string])
            compositeNumbers[type.name, default: [:]][index] = composite
            changes.added.append((.composite(index, composite), [], false))
        }
        return try apply(changes, db)
    }

    private mutating func typeNumber(_ type: RecordType, in db: SQLConnection) throws -> Int64 {
        if let number = typeNumbers[type.name] { return number }
        // A type that was removed and created again gets its old number, because its deletions refer to it.
        let entered = try Int64.fetchOne(
            db,
            sql: """
                INSERT INTO types (name, grants) VALUES (?, ?)
                ON CONFLICT (name) DO UPDATE SET grants = excluded.grants, removed = 0 RETURNING number
                """, [type.name.string, Self.text(type.grants)])
        guard let number = entered else { throw DamagedRow(in: "types", "returned no number for a new row") }
        typeNumbers[type.name] = number
        typeNames[number] = type.name
        // Every type has this entry, whatever its indexes. It lists the type's records.
        try store(
            FieldDefinition(type: .reference), of: SystemField.recordID.schemaName, in: type.name, number: number, db)
        return number
    }

    /// Inserts or updates a field. Numbers are never reused, because rows of a deleted zone may still exist under
    /// them.
    private mutating func store(
        _ definition: FieldDefinition, of field: Name, in type: Name, number: Int64, _ db: SQLConnection
    ) throws {
        fieldNumbers[type, default: [:]][field] = try Int64.inserted(
            db,
            """
            INSERT INTO fields (number, type, name, declaration, indexes) VALUES (max(coalesce((SELECT max(number) FROM fields), 0), ?) + 1, ?, ?, ?, ?)
            ON CONFLICT (type, name) DO UPDATE SET declaration = excluded.declaration, indexes = excluded.indexes RETURNING number
            """,
            [
                try FactRows.number("lastField", db) ?? 0, number, field.string, definition.declaration,
                definition.indexes.rawValue,
            ])
    }

    /// Remembers the highest field number before fields are deleted, so that their numbers are not reused.
    static func retireFieldNumbers(_ db: SQLConnection) throws {
        let last = try Int64.fetchOne(db, sql: "SELECT max(number) FROM fields") ?? 0
        try FactRows.set("lastField", to: .integer(max(last, try FactRows.number("lastField", db) ?? 0)), db)
    }

    // MARK: Indexes

    /// Differences of a type's indexes.
    private struct IndexChanges {
        let type: RecordType
        let number: Int64
        let records: IndexWork.RecordCounts
        var dropped: [(target: IndexTarget, indexes: Indexes)] = []
        var added: [(target: IndexTarget, indexes: Indexes, isNew: Bool)] = []
        /// Targets that already serve another index. Running work on them is awaited.
        var joined: [IndexTarget] = []

        /// - Parameter isNew: `true` if the field did not exist before, so no record has a value in it.
        mutating func add(from old: Indexes, to new: Indexes, of key: FieldKey, _ number: Int64, isNew: Bool) {
            for target in [IndexTarget.entries(key, number), .tokens(key, number)] {
                let (was, now) = (old.intersection(target.indexes), new.intersection(target.indexes))
                if was.isEmpty, !now.isEmpty { added.append((target, now, isNew)) }
                if !was.isEmpty, now.isEmpty { dropped.append((target, was)) }
                if !was.isEmpty, !now.subtracting(was).isEmpty { joined.append(target) }
            }
        }
    }

    private mutating func apply(_ changes: IndexChanges, _ db: SQLConnection) throws -> Set<Int64> {
        var targets = changes.joined
        var atOnce: [IndexTarget] = []
        for (target, indexes) in changes.dropped {
            if changes.records.all <= indexLimits.recordsAtOnce {
                try target.removeAll(db)
                try end(target, db)
            } else {
                try begin(.removing, on: target, indexes, changes, db)
            }
        }
        for (target, indexes, isNew) in changes.added {
            let isBeingRemoved = works.contains { $0.type == changes.type.name && $0.target == target }
            if isBeingRemoved {
                try begin(.clearing, on: target, indexes, changes, db)
                targets.append(target)
            } else if changes.records.living <= indexLimits.recordsAtOnce {
                // No record has a value in a new field, so no record has to be read.
                if isNew {
                    try target.enterMissing(members: members(of: changes.type.name), db)
                } else {
                    atOnce.append(target)
                }
            } else {
                try begin(.building, on: target, indexes, changes, db)
                targets.append(target)
            }
        }
        listIndexes(of: changes.type.name)
        if !atOnce.isEmpty { try IndexChunk.enterAll(atOnce, of: changes.type.name, self, db) }
        return Set(works.filter { $0.type == changes.type.name && targets.contains($0.target) }.map(\.id))
    }

    /// Number of the field whose entries list the records of a type.
    func members(of type: Name) throws -> Int64 {
        guard let number = fieldNumber(.system(.recordID), of: type) else {
            throw DamagedRow(in: "fields", "has no row for the record names of type '\(type)'")
        }
        return number
    }

    private mutating func begin(
        _ phase: IndexWork.Phase, on target: IndexTarget, _ indexes: Indexes, _ changes: IndexChanges,
        _ db: SQLConnection
    ) throws {
        let total = phase == .building ? changes.records.living : changes.records.all
        if let index = works.firstIndex(where: { $0.type == changes.type.name && $0.target == target }) {
            works[index].phase = phase
            works[index].indexes = indexes
            try works[index].restart(total: total, db)
        } else {
            works.append(
                try IndexWork.insert(
                    phase, target, indexes, in: changes.type.name, number: changes.number, total: total, db))
        }
    }

    // MARK: Work

    /// Ends the work on a target, and removes its composite index if that was dropped.
    mutating func end(_ target: IndexTarget, _ db: SQLConnection) throws {
        let ended = works.filter { $0.target == target }
        works.removeAll { $0.target == target }
        for work in ended { try db.run("DELETE FROM indexWork WHERE id = ?", [work.id]) }
        if case .composite(_, let number) = target {
            try db.run("DELETE FROM composites WHERE number = ? AND dropped = 1", [number])
        }
    }

    /// Moves work to its next phase: cleared indexes are built, other work is finished.
    mutating func advance(_ work: IndexWork, _ db: SQLConnection) throws {
        guard let index = works.firstIndex(where: { $0.id == work.id }) else { return }
        if work.phase == .clearing {
            works[index].phase = .building
            try works[index].restart(total: try IndexWork.records(ofType: typeNumber(of: work.type), db).living, db)
        } else {
            try end(work.target, db)
        }
        listIndexes(of: work.type)
        try renew(db)
    }

    // MARK: Removals

    /// Removes a type that has no records.
    mutating func forget(type name: Name, _ db: SQLConnection) throws {
        guard let number = typeNumbers.removeValue(forKey: name) else { return }
        try retire(targets(of: name), db)
        try Self.retireFieldNumbers(db)
        try db.run("DELETE FROM composites WHERE type = ?", [number])
        try db.run("DELETE FROM indexWork WHERE type = ?", [number])
        try db.run("DELETE FROM fields WHERE type = ?", [number])
        try db.run("UPDATE types SET removed = 1, grants = '' WHERE number = ?", [number])
        works.removeAll { $0.type == name }
        (schema.types[name], fieldNumbers[name], compositeNumbers[name]) = (nil, nil, nil)
        listIndexes(of: name)
    }

    /// Removes fields without values, and the composite indexes that contain them.
    mutating func forget(fields: Set<Name>, of type: Name, _ db: SQLConnection) throws {
        let keys = Set(fields.map { FieldKey.custom($0) })
        let targets = targets(of: type).filter { !keys.isDisjoint(with: $0.keys) }
        try retire(targets, db)
        for case .composite(let index, let number) in targets {
            try db.run("DELETE FROM composites WHERE number = ?", [number])
            compositeNumbers[type]?[index] = nil
            schema.types[type]?.compositeIndexes.remove(index)
        }
        try Self.retireFieldNumbers(db)
        for field in fields {
            if let number = fieldNumbers[type]?.removeValue(forKey: field) {
                try db.run("DELETE FROM fields WHERE number = ?", [number])
            }
            schema.types[type]?.fields[field] = nil
        }
        listIndexes(of: type)
    }

    /// Removes indexes. The first rows are removed at once, the rest by the sweep.
    private mutating func retire(_ targets: some Sequence<IndexTarget>, _ db: SQLConnection) throws {
        var room = indexLimits.rowsInStep
        for target in targets {
            let removed = try target.remove(limit: room, db)
            if removed == room { try RetiredIndexRows.insert(target, db) }
            room -= removed
            try end(target, db)
        }
    }

    /// All targets that may have rows, including those of dropped indexes.
    private func targets(of type: Name) -> Set<IndexTarget> {
        var targets = Set(works.filter { $0.type == type }.map(\.target))
        for (field, number) in fieldNumbers[type] ?? [:] {
            let key = FieldKey(schemaName: field)
            targets.formUnion([.entries(key, number), .tokens(key, number)])
        }
        for (index, number) in compositeNumbers[type] ?? [:] { targets.insert(.composite(index, number)) }
        return targets
    }
}
