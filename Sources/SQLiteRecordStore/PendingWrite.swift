internal import GRDB
internal import Records
internal import Synchronization

/// A save that waits for its commit.
protocol PendingWrite: Sendable {
    /// Whether it is committed without others.
    var isAlone: Bool { get }
    /// Does the work; keeps an error of the work itself for later.
    /// - Returns: whether the work succeeded. When it did not, what it did by then is to be undone.
    /// - Throws: the error after which SQLite gave the whole transaction up, such as a full disk.
    func run(_ db: Database, _ state: inout CommitWriter.State) throws -> Bool
    func succeed()
    func fail(_ error: any Error)
}

extension PendingWrite {
    /// Does the work as one of several in a transaction, which go on when it fails.
    func runInSavepoint(_ db: Database, _ state: inout CommitWriter.State) throws {
        do {
            try db.attempt {
                if try !run(db, &state) { throw WorkFailed() }
            }
        } catch is WorkFailed {}
    }
}

/// Undoes what a save did by the time it failed.
private struct WorkFailed: Error {}

final class Write<Value: Sendable>: PendingWrite {
    let isAlone: Bool
    private let body: @Sendable (Database, inout CommitWriter.State) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(
        isAlone: Bool, body: @escaping @Sendable (Database, inout CommitWriter.State) throws -> Value,
        continuation: CheckedContinuation<Value, any Error>
    ) {
        self.isAlone = isAlone
        self.body = body
        self.continuation = continuation
    }

    func run(_ db: Database, _ state: inout CommitWriter.State) throws -> Bool {
        let before = state
        do {
            let value = try body(db, &state)
            result.withLock { $0 = .success(value) }
            return true
        } catch {
            state = before
            if !db.isInsideTransaction { throw error }
            result.withLock { $0 = .failure(error) }
            return false
        }
    }

    func succeed() {
        let result = result.withLock { $0 }
        continuation.resume(with: result ?? .failure(RecordError(.internalError, "The save was not run")))
    }

    func fail(_ error: any Error) {
        continuation.resume(throwing: error)
    }
}
