internal import JSON
internal import RecordStore
internal import Records

/// Changes many records, a batch after the other. Each is changed only as it was found, so nobody's save is lost.
struct BulkWork: Sendable {
    /// Records in a batch.
    private static let batchSize = 200
    /// Times that a batch is tried again when the database is busy.
    private static let retryLimit = 8

    let database: any RecordDatabase
    let place: Place
    let targets: [BulkTargets.Target]
    /// The field and what becomes of it; `nil` deletes the records.
    let change: (field: Name, input: FieldInput)?

    /// - Throws: `CancellationError` when it is cancelled between two batches; `RecordError` when a batch is refused as a whole.
    func run(_ run: BackgroundRun) async throws {
        var start = 0
        while start < targets.count {
            try Task.checkCancellation()
            let batch = targets[start..<min(start + Self.batchSize, targets.count)]
            let results = try await send(ModifyRequest(batch.map(operation), zoneID: .default, atomic: false))
            for (target, result) in zip(batch, results) { note(target, result, in: run) }
            start = batch.endIndex
            run.update { $0.done = start }
        }
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
        switch result {
        case .success: run.update { $0.achieved += 1 }
        // Deleted meanwhile: with the record that it referred to, or by somebody.
        case .failure(let error) where change == nil && error.code == .notFound: run.update { $0.skipped += 1 }
        case .failure(let error):
            let reason = error.code == .conflict ? "Somebody saved it since the dry run; it was left as it is" : error.reason
            run.add(
                BackgroundRun.Problem(
                    subject: name.string, href: place.link(toRecord: name, in: target.recordID.zoneID), code: error.code.rawValue, reason: reason))
        }
    }
}
