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

    /// Saves everything.
    /// - Parameters:
    ///   - next: makes the next batch, `nil` after the last one.
    ///   - report: is told how many records are saved so far.
    /// - Returns: the records saved.
    /// - Throws: `ImportError.stopped` for the first refusal in the order of the batches, when those that were under way have ended, so
    ///   that its count is true; what `next` throws.
    func save(_ next: () throws -> SaveBatch?, report: (Int) -> Void) async throws -> Int {
        try await withThrowingTaskGroup(of: (number: Int, ending: Ending).self) { group in
            var (started, running, saved) = (0, 0, 0)
            var isDone = false
            var failure: (number: Int, refusal: Refusal)?
            while true {
                while running < Self.flightLimit, !isDone, failure == nil {
                    guard let batch = try next() else {
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
                saved += ending.saved
                if let refusal = ending.refusal, failure.map({ number < $0.number }) ?? true { failure = (number, refusal) }
                report(saved)
            }
            if let refusal = failure?.refusal {
                throw ImportError.stopped(saved: saved, file: refusal.file, line: refusal.line, refusal.error)
            }
            return saved
        }
    }

    private struct Refusal: Sendable {
        let file: String
        let line: Int
        let error: RecordError
    }

    private struct Ending: Sendable {
        var saved = 0
        var refusal: Refusal?
    }

    /// Saves one batch; waits when the database is busy.
    private func send(_ batch: SaveBatch) async throws -> Ending {
        let request = ModifyRequest(batch.operations, zoneID: batch.zoneID, atomic: true)
        var tries = 0
        while true {
            do {
                return ending(of: batch, try await database.modify(request))
            } catch let error as RecordError where error.code == .tryAgainLater && tries < Self.retryLimit {
                tries += 1
                try await Task.sleep(for: .milliseconds(50 << tries))
            } catch let error as RecordError {
                return Ending(refusal: Refusal(file: batch.places[0].file, line: batch.places[0].line, error: error))
            }
        }
    }

    private func ending(of batch: SaveBatch, _ outcomes: [Result<ModifyOutcome, RecordError>]) -> Ending {
        var ending = Ending()
        for (outcome, place) in zip(outcomes, batch.places) {
            switch outcome {
            case .success: ending.saved += 1
            case .failure(let error):
                // The other items of an atomic batch only say that one failed.
                if ending.refusal == nil || ending.refusal?.error.code == .atomicError {
                    ending.refusal = Refusal(file: place.file, line: place.line, error: error)
                }
            }
        }
        return ending
    }
}
