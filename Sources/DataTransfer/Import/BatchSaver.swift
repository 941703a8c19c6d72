internal import Records
internal import RecordStore

/// Saves batches, several at a time, so that they share commits and the next is made ready while others are written.
///
/// Batches may be committed in any order: they must not depend on each other.
struct BatchSaver: Sendable {
    /// Batches under way at once.
    private static let flightLimit = 6
    /// Times that a batch is tried again when the database is busy.
    private static let retryLimit = 8

    let database: any RecordDatabase
    /// Whether each record is saved or refused by itself; otherwise the first refusal ends the saving.
    var goesPastRefusals = false
    /// Uploads what the records need first; `nil` when they have no assets, or have had them before.
    var assets: AssetSupplier?
    /// Records that are there from an earlier pass, which this one saves again; `nil` for a first pass.
    var savedBefore: Int?

    /// What came of saving.
    struct Outcome: Sendable {
        var saved = 0
        /// The records that were refused, when the saving went past them, in the order of their lines; at most
        /// ``Importer/problemLimit``.
        var refused: [RowProblem] = []
        var refusedCount = 0
    }

    /// Saves everything.
    /// - Parameters:
    ///   - next: makes the next batch, `nil` after the last one.
    ///   - report: is told how many records are saved so far.
    /// - Throws: `ImportError.stopped` for the first refusal in the order of the batches, `ImportError.noAsset` when a file that a record
    ///   needs can't be read, and `ImportError.brokenOff` for what `next` throws once a record is saved, when the batches that were under
    ///   way have ended, so that their counts are true; what `next` throws before; `CancellationError` when it is cancelled, once the batches
    ///   that were under way have ended.
    func save(_ next: () throws -> SaveBatch?, report: (Int) -> Void) async throws -> Outcome {
        try await withThrowingTaskGroup(of: (number: Int, ending: Ending).self) { group in
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
                guard let (number, ending) = try await group.next() else { break }
                running -= 1
                if ending.isCancelled { (isDone, breakage) = (true, CancellationError()) }
                outcome.saved += ending.saved
                outcome.refusedCount += ending.refused.count
                outcome.refused += ending.refused.map { RowProblem(file: $0.file, line: $0.line, reason: $0.error.reason) }
                if outcome.refused.count > 2 * Importer.problemLimit { outcome.keepFirst() }
                if let stop = ending.stop, failure.map({ number < $0.number }) ?? true { failure = (number, stop) }
                report(outcome.saved)
            }
            let saved = savedBefore ?? outcome.saved
            switch failure?.stop {
            case .refusal(let refusal)?: throw ImportError.stopped(saved: saved, file: refusal.file, line: refusal.line, refusal.error)
            case .asset(let error)?: throw ImportError.noAsset(saved: saved, path: error.path, reason: error.reason)
            case nil: break
            }
            if breakage is CancellationError { throw CancellationError() }
            if let breakage { throw saved == 0 ? breakage : ImportError.brokenOff(saved: saved, reason: "\(breakage)") }
            outcome.keepFirst()
            return outcome
        }
    }

    /// Why no more is saved.
    private enum Stop: Sendable {
        case refusal(Refusal)
        case asset(AssetFileError)
    }

    private struct Refusal: Sendable {
        let file: String
        let line: Int
        let error: RecordError
    }

    private struct Ending: Sendable {
        var saved = 0
        /// What ends the saving.
        var stop: Stop?
        /// Whether it was given up while the database was busy.
        var isCancelled = false
        /// What the saving goes past.
        var refused: [Refusal] = []
    }

    /// Saves one batch; waits when the database is busy.
    private func send(_ batch: SaveBatch) async throws -> Ending {
        let operations: [RecordOperation]
        do {
            operations = try await assets?.supply(batch, through: database) ?? batch.operations
        } catch let failure as AssetSupplier.Failure {
            let place = batch.places[failure.index]
            return Ending(stop: .refusal(Refusal(file: place.file, line: place.line, error: failure.error)))
        } catch let error as AssetFileError {
            return Ending(stop: .asset(error))
        }
        let request = ModifyRequest(operations, zoneID: batch.zoneID, atomic: !goesPastRefusals)
        var tries = 0
        while true {
            do {
                let ending = ending(of: batch, try await database.modify(request))
                if ending.stop == nil { assets?.note(batch) }
                return ending
            } catch let error as RecordError where error.code == .tryAgainLater && tries < Self.retryLimit {
                tries += 1
                do { try await Task.sleep(for: .milliseconds(50 << tries)) } catch { return Ending(isCancelled: true) }
            } catch let error as RecordError {
                return Ending(stop: .refusal(Refusal(file: batch.places[0].file, line: batch.places[0].line, error: error)))
            }
        }
    }

    private func ending(of batch: SaveBatch, _ outcomes: [Result<ModifyOutcome, RecordError>]) -> Ending {
        var ending = Ending()
        for (outcome, place) in zip(outcomes, batch.places) {
            switch outcome {
            case .success: ending.saved += 1
            case .failure(let error) where goesPastRefusals:
                ending.refused.append(Refusal(file: place.file, line: place.line, error: error))
            case .failure(let error):
                // The other items of an atomic batch only say that one failed.
                if case .refusal(let earlier)? = ending.stop, earlier.error.code != .atomicError { continue }
                ending.stop = .refusal(Refusal(file: place.file, line: place.line, error: error))
            }
        }
        return ending
    }
}

extension BatchSaver.Outcome {
    /// Batches end in any order; what is named are the first lines.
    fileprivate mutating func keepFirst() {
        refused = Array(refused.sorted { $0.line < $1.line }.prefix(Importer.problemLimit))
    }
}
