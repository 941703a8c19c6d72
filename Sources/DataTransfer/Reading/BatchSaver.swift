package import RecordStore
package import Records

/// Saves several batches concurrently, so that they share commits and the next batch is prepared during writes.
///
/// Batches may be committed in any order, so they must not depend on each other.
struct BatchSaver: Sendable {
    /// The maximum number of concurrent batches.
    private static let flightLimit = 6
    let database: any RecordDatabase
    /// True to save or refuse each record on its own. Otherwise the first refusal ends the save.
    var goesPastRefusals = false
    /// Uploads the assets of the records first; `nil` if there are none, or an earlier pass has uploaded them.
    var assets: AssetSupplier?
    /// The number of records saved by an earlier pass, which this pass saves again; `nil` for the first pass.
    var savedBefore: Int?
    /// True to save only what differs from the stored records.
    var leavesUnchanged = false
    /// False if a later pass sets the parents of the records. They count as changes all the same.
    var setsParents = true

    /// The counts and refusals of a save.
    struct Outcome: Sendable {
        var saved = 0
        /// The records that were left, because they have all values already.
        var unchanged = 0
        /// The refused records, if refusals do not end the save, in line order. Limited to ``Importer/problemLimit``.
        var refused: [RowProblem] = []
        var refusedCount = 0
        /// The saved shares with a new link, in line order. Limited to ``Importer/problemLimit``.
        var relinked: [RowProblem] = []
        var relinkedCount = 0
    }

    /// Saves all batches.
    /// - Parameters:
    ///   - next: creates the next batch; `nil` after the last one.
    ///   - report: receives the counts so far.
    /// - Throws: `ImportError.stopped` for the first refusal in batch order; `ImportError.noAsset` if an asset's file
    ///   can't be read; `ImportError.brokenOff` if `next` throws after a record was saved, once the running batches
    ///   have ended, so that the counts are correct; the error of `next` before that; `CancellationError` on
    ///   cancellation, once the running batches have ended.
    func save(_ next: () throws -> SaveBatch?, report: (Outcome) -> Void) async throws -> Outcome {
        try await withThrowingTaskGroup(of: (number: Int, result: BatchResult).self) { group in
            var (started, running) = (0, 0)
            var outcome = Outcome()
            var isDone = false
            var breakage: (any Error)?
            var failure: (number: Int, stop: Stop)?
            while true {
                while running < Self.flightLimit, !isDone, failure == nil {
                    let batch: SaveBatch?
                    do {
                        try Task.checkCancellation()
                        batch = try next()
                    } catch {
                        breakage = error
                        batch = nil
                    }
                    guard let batch else {
                        isDone = true
                        break
                    }
                    let number = started
                    group.addTask { (number, try await send(batch)) }
                    started += 1
                    running += 1
                }
                guard let (number, result) = try await group.next() else { break }
                running -= 1
                if result.isCancelled { (isDone, breakage) = (true, CancellationError()) }
                outcome.saved += result.saved
                outcome.unchanged += result.unchanged
                outcome.refusedCount += result.refused.count
                outcome.refused += result.refused.map {
                    RowProblem(file: $0.file, line: $0.line, reason: $0.error.reason)
                }
                outcome.relinkedCount += result.relinked.count
                outcome.relinked += result.relinked
                if max(outcome.refused.count, outcome.relinked.count) > 2 * Importer.problemLimit {
                    outcome.keepFirst()
                }
                if let stop = result.stop, failure.map({ number < $0.number }) ?? true { failure = (number, stop) }
                report(outcome)
            }
            let saved = savedBefore ?? outcome.saved
            switch failure?.stop {
            case .refusal(let refusal)?:
                throw ImportError.stopped(saved: saved, file: refusal.file, line: refusal.line, refusal.error)
            case .asset(let error)?: throw ImportError.noAsset(saved: saved, path: error.path, reason: error.reason)
            case nil: break
            }
            if breakage is CancellationError { throw CancellationError() }
            if let breakage { throw saved == 0 ? breakage : ImportError.brokenOff(saved: saved, reason: "\(breakage)") }
            outcome.keepFirst()
            return outcome
        }
    }

    /// The reason for the end of the save.
    private enum Stop: Sendable {
        case refusal(Refusal)
        case asset(AssetFileError)
    }

    private struct Refusal: Sendable {
        let file: String
        let line: Int
        let error: RecordError
    }

    private struct BatchResult: Sendable {
        var saved = 0
        var unchanged = 0
        /// The error that ends the save.
        var stop: Stop?
        /// True if the task was cancelled while the database was busy.
        var isCancelled = false
        /// The refusals that do not end the save.
        var refused: [Refusal] = []
        var relinked: [RowProblem] = []
    }

    /// Saves one batch, or what of it differs from the stored records.
    private func send(_ batch: SaveBatch) async throws -> BatchResult {
        if !leavesUnchanged { return try await write(batch) }
        let changes: SaveBatch
        do {
            changes = try await differing(from: batch)
        } catch is CancellationError {
            return BatchResult(isCancelled: true)
        } catch let error as RecordError {
            return BatchResult(
                stop: .refusal(Refusal(file: batch.places[0].file, line: batch.places[0].line, error: error)))
        }
        var result = changes.operations.isEmpty ? BatchResult() : try await write(changes)
        result.unchanged = batch.operations.count - changes.operations.count
        return result
    }

    /// The batch without what is stored already.
    private func differing(from batch: SaveBatch) async throws -> SaveBatch {
        var changes: [Name: RecordOperation] = [:]
        for operation in batch.operations { if let name = operation.recordName { changes[name] = operation } }
        let keys = Set(batch.operations.flatMap(\.fields.keys))
        try await database.readStored(batch.operations.compactMap(\.recordName), in: batch.zoneID, desiredKeys: keys) {
            let name = $0.recordID.recordName
            changes[name] = try changes[name]?.differing(from: $0)
        }
        return batch.replacingOperations { operation in
            guard let name = operation.recordName, var change = changes[name] else { return nil }
            if !setsParents, case .record = change.parent { change.parent = .unchanged }
            return change
        }
    }

    /// Writes one batch. Retries while the database is busy.
    private func write(_ batch: SaveBatch) async throws -> BatchResult {
        let operations: [RecordOperation]
        do {
            operations = try await assets?.supply(batch, through: database) ?? batch.operations
        } catch let failure as AssetSupplier.Failure {
            let place = batch.places[failure.index]
            return BatchResult(stop: .refusal(Refusal(file: place.file, line: place.line, error: failure.error)))
        } catch let error as AssetFileError {
            return BatchResult(stop: .asset(error))
        }
        let request = ModifyRequest(operations, zoneID: batch.zoneID, atomic: !goesPastRefusals)
        do {
            let result = result(of: batch, try await database.modifyOnceFree(request))
            if result.stop == nil { assets?.note(batch) }
            return result
        } catch is CancellationError {
            return BatchResult(isCancelled: true)
        } catch let error as RecordError {
            return BatchResult(
                stop: .refusal(Refusal(file: batch.places[0].file, line: batch.places[0].line, error: error)))
        }
    }

    private func result(of batch: SaveBatch, _ outcomes: [Result<ModifyOutcome, RecordError>]) -> BatchResult {
        var result = BatchResult()
        for ((outcome, operation), place) in zip(zip(outcomes, batch.operations), batch.places) {
            switch outcome {
            case .success(let saved):
                result.saved += 1
                guard case .saved(let record) = saved, record.sharing?.share != nil,
                    let link = record.sharing?.shortGUID,
                    let former = operation.provenance?.shortGUID, link != former
                else { continue }
                let reason =
                    "the share '\(record.recordID.recordName)' has the new link \(link), because \(former) leads to another share"
                result.relinked.append(RowProblem(file: place.file, line: place.line, reason: reason))
            case .failure(let error) where goesPastRefusals:
                result.refused.append(Refusal(file: place.file, line: place.line, error: error))
            case .failure(let error):
                // In an atomic batch, the other items only report that one item failed.
                if case .refusal(let earlier)? = result.stop, earlier.error.code != .atomicError { continue }
                result.stop = .refusal(Refusal(file: place.file, line: place.line, error: error))
            }
        }
        return result
    }
}

extension BatchSaver.Outcome {
    /// Keeps the refusals with the lowest line numbers, because batches end in any order.
    fileprivate mutating func keepFirst() {
        refused = Array(refused.sorted { $0.line < $1.line }.prefix(Importer.problemLimit))
        relinked = Array(relinked.sorted { $0.line < $1.line }.prefix(Importer.problemLimit))
    }
}

// MARK: - Batches

/// Records of one zone that are saved together, each with its position in a file.
struct SaveBatch: Sendable {
    /// The approximate size in bytes above which a batch is full, well below the 32 MiB that a server accepts per
    /// request.
    static let sizeLimit = 4 << 20

    let zoneID: ZoneID
    private(set) var operations: [RecordOperation] = []
    private(set) var places: [(file: String, line: Int)] = []
    private var size = 0
    private var assetBytes: Int64 = 0
    /// The limit for asset files in bytes. They are uploaded before the batch is saved, and their receipts are valid
    /// for an hour.
    private static let assetLimit: Int64 = 256 << 20

    init(zoneID: ZoneID) {
        self.zoneID = zoneID
    }

    var isFull: Bool {
        operations.count >= BatchModifier.operationLimit || size > Self.sizeLimit || assetBytes > Self.assetLimit
    }

    /// - Parameters:
    ///   - size: the approximate size of the record, in bytes.
    ///   - assetBytes: the size of the record's files, in bytes.
    mutating func add(_ operation: RecordOperation, size: Int, assetBytes: Int64 = 0, file: String, line: Int) {
        self.assetBytes = self.assetBytes.addingSaturated(assetBytes)
        operations.append(operation)
        places.append((file, line))
        self.size += size
    }

    /// The same batch with other operations; those without another one are left out.
    func replacingOperations(_ other: (RecordOperation) -> RecordOperation?) -> SaveBatch {
        var batch = SaveBatch(zoneID: zoneID)
        for (operation, place) in zip(operations, places) {
            guard let operation = other(operation) else { continue }
            batch.add(operation, size: 0, file: place.file, line: place.line)
        }
        return batch
    }
}

// MARK: - Differences

extension RecordOperation {
    /// The same save with only the fields that the stored record has not got already.
    /// - Returns: `nil` if the save would change nothing.
    func differing(from stored: StoredRecord) throws -> RecordOperation? {
        // The database refuses another type.
        guard recordType == stored.recordType else { return self }
        let present = fields.isEmpty ? [:] : try stored.fields.values(of: Set(fields.keys))
        let hasParent =
            switch parent {
            case .unchanged: true
            case .cleared: stored.parent == nil
            case .record(let name): stored.parent == name
            }
        var operation = self
        operation.fields = fields.filter { !$0.value.isStored(as: present[$0.key]) }
        if hasParent { operation.parent = .unchanged }
        return operation.fields.isEmpty && hasParent ? nil : operation
    }
}

extension FieldInput {
    /// True if the field has this value. A reference that names only its target has what is stored of the same target,
    /// so that its action stays.
    fileprivate func isStored(as present: FieldValue?) -> Bool {
        switch self {
        case .cleared: return present == nil
        case .tagged(let value, _, _), .untagged(let value, _):
            guard let present else { return false }
            if case .reference(let mine) = value, case .reference(let stored) = present,
                mine == Reference(recordName: mine.recordName)
            {
                return mine.recordName == stored.recordName
            }
            // By their bytes, because equal strings may have different ones.
            return FieldsText([Field(name: "value", value: value)])
                == FieldsText([Field(name: "value", value: present)])
        }
    }
}

// MARK: - Database

extension RecordDatabase {
    /// Modifies records. Repeats the request up to eight times while the database is busy.
    /// - Throws: `RecordError` as ``RecordDatabase/modify(_:)`` does; `CancellationError` on cancellation in between.
    package func modifyOnceFree(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        var tries = 0
        while true {
            do {
                return try await modify(request)
            } catch let error as RecordError where error.code == .tryAgainLater && tries < 8 {
                tries += 1
                try await Task.sleep(for: .milliseconds(50 << tries))
            }
        }
    }

    /// Reads the records that exist among some names. Only a few of them are in memory at a time.
    /// - Throws: `RecordError` as ``RecordDatabase/fetch(_:desiredKeys:)`` does, and what `read` throws.
    func readStored(
        _ names: [Name], in zoneID: ZoneID, desiredKeys: Set<Name>?, _ read: (StoredRecord) throws -> Void
    ) async throws {
        var left = names[...]
        while !left.isEmpty {
            try Task.checkCancellation()
            let asked = left.prefix(BatchModifier.operationLimit)
            let results = try await fetch(
                asked.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: desiredKeys,
                bytesLimit: SaveBatch.sizeLimit)
            var tooLarge: [Name] = []
            for (name, result) in zip(asked, results) {
                switch result {
                case .success(let record): try read(record)
                case .failure(let error) where error == .tooManyBytes: tooLarge.append(name)
                case .failure: break
                }
            }
            // The first record is returned whatever its size.
            if tooLarge.count == asked.count { throw RecordError.tooManyBytes }
            left = ArraySlice(tooLarge) + left.dropFirst(asked.count)
        }
    }

    /// Creates a zone of a private database if it does not exist.
    /// - Returns: true if the zone was missing.
    /// - Throws: `RecordError` ZONE_NOT_FOUND for a missing zone of another user.
    func makeZone(_ zoneID: ZoneID) async throws -> Bool {
        if zoneID.isDefault, address.scope != .shared { return false }
        guard case .failure(let error)? = try await fetchZones([zoneID]).first else { return false }
        guard error.code == .zoneNotFound, address.scope == .private else { throw error }
        for outcome in try await modifyZones([.create(zoneID)]) { _ = try outcome.get() }
        return true
    }
}
