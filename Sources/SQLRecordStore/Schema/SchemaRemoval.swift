internal import RecordStore
internal import Records

/// Removes the records and values of types with many records before the schema changes, in steps between other saves.
/// The schema change itself then has to remove only what was saved meanwhile. The types and fields stay in the schema
/// until the change. So if a removal stops halfway, some records or values are deleted, and nothing else.
struct SchemaRemoval {
    /// Number of positions that are examined together for records saved meanwhile.
    private static let positionsInRange: Int64 = 512

    let store: OpenStore
    let caller: Caller
    let limits: IndexLimits
    let clock: @Sendable () -> Timestamp

    /// Runs the removal.
    /// - Returns: by type, the position up to which saved records have lost the values of the removed fields.
    /// - Throws: `RecordError` BAD_REQUEST if a share needs a record of a removed type. In this case nothing is
    ///   removed.
    func run(_ change: SchemaChange) async throws -> [Name: Int64] {
        for type in change.removedTypes.sorted() {
            if let refusal = try await store.read({ db, catalog in
                try SchemaEditor.refusal(ofRemoving: type, catalog, db)
            }) {
                throw refusal
            }
        }
        for type in change.removedTypes.sorted() where try await isLarge(type) { try await removeRecords(of: type) }
        var reached: [Name: Int64] = [:]
        for (type, fields) in change.removedFields.sorted(by: { $0.key < $1.key }) where try await isLarge(type) {
            reached[type] = try await removeValues(of: fields, in: type)
        }
        return reached
    }

    private func isLarge(_ type: Name) async throws -> Bool {
        try await store.read { db, catalog in
            guard let number = catalog.typeNumbers[type] else { return false }
            return try IndexWork.records(ofType: number, db).living > catalog.indexLimits.recordsAtOnce
        }
    }

    /// Deletes the records of a type in each zone once. The schema change itself deletes records that are saved in
    /// zones already done.
    private func removeRecords(of type: Name) async throws {
        for zone in try await store.readLong(
            for: .scan, { db, catalog in try SchemaEditor.zones(of: type, catalog, db) })
        {
            try await inSteps(of: type, after: IndexChunk.Place(zone: zone.number)) { editor, place, mayGoOn in
                // The zone may have been deleted meanwhile.
                guard try IndexChunk.position(of: zone.number, editor.db) != nil else { return nil }
                return try editor.removeRecords(
                    of: type, in: zone, after: place, from: editor.state.catalog, while: mayGoOn)
            }
        }
    }

    /// - Returns: the position up to which saved records have lost the values.
    private func removeValues(of fields: Set<Name>, in type: Name) async throws -> Int64 {
        let start = try await store.write { _, state in state.position }
        try await inSteps(of: type, after: IndexChunk.Place()) { editor, place, mayGoOn in
            try editor.removeValues(of: fields, in: type, after: place, from: editor.state.catalog, while: mayGoOn)
        }
        // Then the records saved meanwhile are processed. The schema change itself processes the last of them.
        return try await inSteps(from: start) { editor, reached, mayGoOn in
            guard editor.state.catalog.typeNumbers[type] != nil else { return nil }
            var reached = reached
            repeat {
                let end = reached + Self.positionsInRange
                if editor.state.position <= end { return nil }
                try editor.removeValues(of: fields, in: type, savedAt: reached + 1...end, from: editor.state.catalog)
                reached = end
            } while mayGoOn()
            return reached
        }
    }

    // MARK: Steps

    /// Runs steps from record to record of a type. The words of long texts are determined before each step.
    private func inSteps(
        of type: Name, after place: IndexChunk.Place,
        _ body: @escaping @Sendable (inout SchemaEditor, IndexChunk.Place, () -> Bool) throws -> IndexChunk.Place?
    ) async throws {
        _ = try await inSteps(from: place, words: { try await words(of: type, after: $0) }) { editor, place, mayGoOn in
            guard editor.state.catalog.typeNumbers[type] != nil else { return nil }
            return try body(&editor, place, mayGoOn)
        }
    }

    /// Runs steps until one returns that nothing is left. Each step is a save like any other.
    /// - Returns: the place at which the last step began.
    @discardableResult
    private func inSteps<Place: Sendable>(
        from start: Place, words: (Place) async throws -> PreparedWords = { _ in .none },
        _ body: @escaping @Sendable (inout SchemaEditor, Place, () -> Bool) throws -> Place?
    ) async throws -> Place {
        var pace = WorkPace(store)
        var place = start
        while true {
            try Task.checkCancellation()
            await limits.beforeStep?()
            let words = try await words(place)
            let next = try await store.write { [caller, limits, clock, place, budget = pace.budget] db, state in
                var editor = SchemaEditor(db, state, by: caller, at: clock(), words: words)
                let end = ContinuousClock.now + budget
                var count = 0
                let next = try body(&editor, place) {
                    count += 1
                    return count < limits.rowsInStep && ContinuousClock.now < end
                }
                state = editor.state
                return next
            }
            guard let next else { return place }
            place = next
            await pace.rest()
        }
    }

    /// The words of the searchable texts of the next records.
    private func words(of type: Name, after place: IndexChunk.Place) async throws -> PreparedWords {
        let texts = try await store.readLong(for: .scan) { db, catalog -> [String] in
            let keys = Set(
                (catalog.indexedFields[type] ?? []).filter { $0.indexes.contains(.searchable) }.compactMap {
                    field -> Name? in
                    if case .custom(let name) = field.key { name } else { nil }
                })
            guard !keys.isEmpty, let rows = try SchemaEditor.rows(of: type, after: place, catalog, db)?.rows else {
                return []
            }
            return try rows.flatMap { row in
                try row.record.fields.values(of: keys).values.compactMap {
                    if case .string(let text) = $0 { text } else { nil }
                }
            }
        }
        return PreparedWords.areLong(texts) ? try await PreparedWords.of { texts } : .none
    }
}
