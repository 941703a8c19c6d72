internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

/// Removes the records and values dropped by a schema change in steps before the change is made, so that the change
/// itself finds few. Types and fields exist until then, so an interrupted removal has deleted records or values but
/// nothing else.
struct SchemaRemoval {
    /// Positions per step when searching for saves made in the meantime.
    private static let positionsInStep: Int64 = 512

    let store: SQLiteStore
    let caller: Caller
    let now: Timestamp
    let limits: IndexLimits

    /// Runs the removal.
    /// - Returns: by type, the position up to which records have lost the values of the removed fields.
    func run(_ change: SchemaChange) async throws -> [Name: Int64] {
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

    private func removeRecords(of type: Name) async throws {
        let zones = try await store.read { db, catalog in
            try SchemaEditor.livingZones(db).filter { try IndexChunk.hasMember(after: IndexChunk.Place(zone: $0.number), catalog.members(of: type), db) }
        }
        for zone in zones {
            try await inSteps { editor, mayGoOn in
                // The zone may have been deleted in the meantime.
                guard try IndexChunk.position(of: zone.number, editor.db) != nil else { return false }
                return try editor.removeRecords(of: type, in: zone, while: mayGoOn)
            }
        }
    }

    /// - Returns: the position up to which records have lost the values.
    private func removeValues(of fields: Set<Name>, in type: Name) async throws -> Int64 {
        let place = Shared(IndexChunk.Place?.some(IndexChunk.Place()))
        let reached = Shared(try await store.write { _, state in state.position })
        try await inSteps { editor, mayGoOn in
            guard editor.state.catalog.schema.types[type] != nil else { return false }
            return try place.withLock { place in
                guard let last = place else { return false }
                place = try editor.removeValues(of: fields, in: type, after: last, while: mayGoOn)
                return place != nil
            }
        }
        // Then processes records saved in the meantime. The schema change itself handles the last ones.
        try await inSteps { editor, _ in
            guard editor.state.catalog.schema.types[type] != nil else { return false }
            return try reached.withLock { reached in
                let end = reached + Self.positionsInStep
                if editor.state.position <= end { return false }
                try editor.removeValues(of: fields, in: type, savedAt: reached + 1...end)
                reached = end
                return true
            }
        }
        return reached.withLock { $0 }
    }

    /// Runs steps until `body` returns `false`. Each step is a write like any other.
    private func inSteps(_ body: @escaping @Sendable (inout SchemaEditor, () -> Bool) throws -> Bool) async throws {
        var pace = WorkPace(store)
        var isLeft = true
        while isLeft {
            try Task.checkCancellation()
            await limits.beforeStep?()
            isLeft = try await store.write { [caller, now, limits, budget = pace.budget] db, state in
                var editor = SchemaEditor(db, state, by: caller, at: now)
                let clock = ContinuousClock()
                let end = clock.now + budget
                var count = 0
                let isLeft = try body(&editor) {
                    count += 1
                    return count < limits.rowsInStep && clock.now < end
                }
                state = editor.state
                return isLeft
            }
            await pace.rest()
        }
    }
}
