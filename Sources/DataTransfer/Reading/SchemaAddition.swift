internal import RecordStore
internal import Records

/// Types and fields that are added to a schema for the records of a file.
///
/// The indexes of new fields are added after the records. A save enters a record into each index, at places all over
/// it; a build sorts the entries of many records first. An import of 300,000 rows into five indexes takes half the time.
struct SchemaAddition: Sendable {
    private var edits: [SchemaEdit] = []
    private var lateEdits: [SchemaEdit] = []
    /// The types with late indexes.
    private var indexedTypes: Set<Name> = []

    /// - Parameter added: new types, and existing ones with what they gain.
    init(_ added: [RecordType], to schema: Schema) {
        let granted = added.filter { schema.types[$0.name] == nil }.flatMap(\.grants).map(\.role)
        let roles = Set(granted).subtracting(schema.roles).subtracting(Grant.systemRoles)
        edits = roles.sorted().map { .addRole($0) }
        for var type in added {
            let present = schema.types[type.name]?.fields ?? [:]
            for (name, definition) in type.fields.sorted(by: { $0.key < $1.key })
            where present[name] == nil && !definition.indexes.isEmpty {
                type.fields[name]?.indexes = []
                lateEdits.append(.addIndexes(definition.indexes, of: .custom(name), in: type.name))
                indexedTypes.insert(type.name)
            }
            edits.append(.addType(type))
        }
    }

    /// Adds the types and fields, saves the records, then adds the indexes and waits for their builds.
    ///
    /// If the save throws, the indexes are added nevertheless, for the records saved until then.
    /// - Throws: what `save` throws; `RecordError` if the database refuses the schema, in which case nothing is saved,
    ///   or if the indexes can't be built.
    func apply<Outcome>(
        to database: any RecordDatabase, _ progress: (ImportProgress) -> Void, saving save: () async throws -> Outcome
    ) async throws -> Outcome {
        let editor = try database.require(.editSchema)
        if !edits.isEmpty { _ = try await editor.edit(edits, because: .data) }
        let outcome: Outcome
        do {
            outcome = try await save()
        } catch {
            if lateEdits.isEmpty { throw error }
            // In its own task, because this one may be cancelled. The error of the save says more than one of this edit.
            await Task { [lateEdits] in
                _ = try? await editor.edit(lateEdits, because: .data, waitingForIndexes: false)
            }.value
            throw error
        }
        if !lateEdits.isEmpty { try await addIndexes(with: editor, database, progress) }
        return outcome
    }

    private func addIndexes(
        with editor: any SchemaEditing, _ database: any RecordDatabase, _ progress: (ImportProgress) -> Void
    ) async throws {
        let showing = try database.require(.showSchema)
        progress(ImportProgress(phase: .indexing, fraction: 0, count: 0))
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { [lateEdits] in
                _ = try await editor.edit(lateEdits, because: .data)
                return true
            }
            repeat {
                let builds = try await showing.indexBuilds().filter {
                    $0.work == .building && indexedTypes.contains($0.recordType)
                }
                let (done, total) = builds.reduce((0.0, 0.0)) { ($0.0 + Double($1.done), $0.1 + Double($1.total)) }
                if total > 0 {
                    let count = builds.reduce(0) { max($0, $1.done) }
                    progress(ImportProgress(phase: .indexing, fraction: min(1, done / total), count: count))
                }
                group.addTask {
                    try await Task.sleep(for: .milliseconds(200))
                    return false
                }
            } while try await group.next() == false
            group.cancelAll()
        }
    }
}
