internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Changes many records, one batch after another. Each save requires the change tag of the dry run, so it can't overwrite other saves.
struct BulkWork: Sendable {
    /// Records per batch.
    private static let batchSize = 200
    /// Retries of a batch while the database is busy.
    private static let retryLimit = 8

    let database: any RecordDatabase
    let place: Place
    let targets: [BulkTargets.Target]
    /// The field and its new value; `nil` deletes the records.
    let change: (field: Name, input: FieldInput)?

    /// - Throws: `CancellationError` on cancellation between two batches; `RecordError` if the database refuses a whole batch.
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
    private func pass(over targets: [BulkTargets.Target], in run: BackgroundRun) async throws -> [(BulkTargets.Target, RecordError)] {
        var refused: [(BulkTargets.Target, RecordError)] = []
        var start = 0
        while start < targets.count {
            try Task.checkCancellation()
            let batch = targets[start..<min(start + Self.batchSize, targets.count)]
            let results = try await send(ModifyRequest(batch.map(operation), zoneID: .default, atomic: false))
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
        guard let change else { return RecordOperation(.delete, recordName: name, zoneID: zoneID, recordChangeTag: target.tag) }
        return RecordOperation(.update, recordName: name, zoneID: zoneID, recordChangeTag: target.tag, fields: [change.field: change.input])
    }

    private func send(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        var tries = 0
        while true {
            do {
                return try await database.modify(request)
            } catch let error as RecordError where error.code == .tryAgainLater && tries < Self.retryLimit {
                tries += 1
                try await Task.sleep(for: .milliseconds(50 << tries))
            }
        }
    }

    private func note(_ target: BulkTargets.Target, _ result: Result<ModifyOutcome, RecordError>, in run: BackgroundRun) {
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
                    subject: name.string, href: place.link(toRecord: name, in: target.recordID.zoneID), code: error.code.rawValue, reason: reason))
        }
    }
}
