internal import Console
internal import DataTransfer
internal import RecordStore
internal import Records

/// The records that a bulk change applies to, in the versions that the search found.
struct BulkTargets: Sendable {
    struct Target: Sendable {
        let recordID: RecordID
        let tag: String
    }

    /// The maximum number of records in one job. If more match, the job takes the first ones in the order of the query.
    static let limit = 20_000
    /// The maximum number of records to examine, including those that already have the value.
    static let lookLimit = 100_000
    /// The number of records that the dry run shows.
    static let shownLimit = 20
    private static let pageSize = 200

    private(set) var targets: [Target] = []
    /// The number of matching records that already have the value.
    private(set) var unchanged = 0
    /// True if more records match than one job changes.
    private(set) var isCutOff = false
    /// True if more records match than were examined.
    private(set) var isCutShort = false
    /// The first records, with all their fields.
    private(set) var shown: [StoredRecord] = []
    /// Identifies this set: it differs for other records, or for other versions of them.
    private var mark = FNV1a()

    var fingerprint: String { mark.text }

    /// Finds all matching records.
    /// - Parameter input: the new value of the field; `nil` for a deletion.
    /// - Throws: `RecordError` if the database refuses the query.
    static func find(_ form: BulkForm, plan: CheckedQuery, input: FieldInput?, visit: Visit) async throws -> BulkTargets
    {
        var looked = 0
        var found = BulkTargets()
        var marker: String?
        let wanted: Set<Name> = form.field.map { [$0.name] } ?? []
        let text = form.field.flatMap { field in input.map { Self.text(of: $0, field.type) } }
        repeat {
            try Task.checkCancellation()
            let request = QueryRequest(
                plan.query, in: visit.queryArea, limit: PageLimit(records: pageSize), continuationMarker: marker,
                desiredKeys: wanted)
            let page = try await visit.measure { try await visit.database.query(request) }
            for record in page.records {
                if looked == lookLimit {
                    found.isCutShort = true
                    return try await found.showingFirst(visit)
                }
                looked += 1
                if let field = form.field, let text {
                    let held = try record.fields.values(of: [field.name])[field.name]
                    if EditedField.text(of: held, field.type) == text {
                        found.unchanged += 1
                        continue
                    }
                }
                if found.targets.count == limit {
                    found.isCutOff = true
                    return try await found.showingFirst(visit)
                }
                found.add(record)
            }
            marker = page.continuationMarker
        } while marker != nil
        return try await found.showingFirst(visit)
    }

    private static func text(of input: FieldInput, _ type: FieldType) -> Name {
        switch input {
        case .cleared: ""
        case .tagged(let value, _, _), .untagged(let value, _): EditedField.text(of: value, type)
        }
    }

    private mutating func add(_ record: StoredRecord) {
        targets.append(Target(recordID: record.recordID, tag: record.recordChangeTag))
        for text in [record.recordID.zoneID.zoneName, record.recordID.recordName, Name(record.recordChangeTag)] {
            mark.add(text: text.string)
        }
    }

    private func showingFirst(_ visit: Visit) async throws -> BulkTargets {
        var found = self
        let first = targets.prefix(Self.shownLimit).map(\.recordID)
        if first.isEmpty { return found }
        found.shown = try await visit.measure { try await visit.database.fetch(first, desiredKeys: nil) }.compactMap {
            try? $0.get()
        }
        return found
    }
}

// MARK: - Job

/// Changes many records, one batch after another. Each save requires the change tag of the dry run, so it can't
/// overwrite other saves.
struct BulkWork: Sendable {
    /// Records per batch.
    private static let batchSize = BatchModifier.operationLimit

    let database: any RecordDatabase
    let place: Place
    let targets: [BulkTargets.Target]
    /// The field and its new value; `nil` deletes the records.
    let change: (field: Name, input: FieldInput)?

    /// - Throws: `CancellationError` on cancellation between two batches; `RecordError` if the database refuses a whole
    ///   batch.
    func run(_ run: BackgroundRun) async throws {
        var left = targets
        while true {
            let refused = try await pass(over: left, in: run)
            if refused.count == left.count {
                for (target, error) in refused { note(target, .failure(error), in: run) }
                return
            }
            // A parent mostly comes before the records below it. From the end, it comes after them.
            left = refused.reversed().map(\.0)
        }
    }

    /// - Returns: the records that can't be deleted as long as others refer to them. These may come in a later batch.
    private func pass(over targets: [BulkTargets.Target], in run: BackgroundRun) async throws -> [(
        BulkTargets.Target, RecordError
    )] {
        var refused: [(BulkTargets.Target, RecordError)] = []
        var start = 0
        while start < targets.count {
            try Task.checkCancellation()
            let batch = targets[start..<min(start + Self.batchSize, targets.count)]
            let results = try await database.modifyOnceFree(
                ModifyRequest(batch.map(operation), zoneID: .default, atomic: false))
            for (target, result) in zip(batch, results) {
                if change == nil, case .failure(let error) = result, error.code == .validatingReferenceError {
                    refused.append((target, error))
                } else {
                    note(target, result, in: run)
                }
            }
            start = batch.endIndex
        }
        return refused
    }

    private func operation(_ target: BulkTargets.Target) -> RecordOperation {
        let (name, zoneID) = (target.recordID.recordName, target.recordID.zoneID)
        guard let change else {
            return RecordOperation(.delete, recordName: name, zoneID: zoneID, recordChangeTag: target.tag)
        }
        return RecordOperation(
            .update, recordName: name, zoneID: zoneID, recordChangeTag: target.tag, fields: [change.field: change.input]
        )
    }

    private func note(_ target: BulkTargets.Target, _ result: Result<ModifyOutcome, RecordError>, in run: BackgroundRun)
    {
        let name = target.recordID.recordName
        run.update { $0.done += 1 }
        switch result {
        case .success: run.update { $0.achieved += 1 }
        // The record was deleted meanwhile, by another client or along with a record that it references.
        case .failure(let error) where change == nil && error.code == .notFound: run.update { $0.skipped += 1 }
        case .failure(let error):
            let reason = error.code == .conflict ? "It was saved after the dry run, and stays unchanged" : error.reason
            run.add(
                BackgroundRun.Problem(
                    subject: name.string, href: place.link(toRecord: name, in: target.recordID.zoneID),
                    code: error.code.rawValue, reason: reason))
        }
    }
}
