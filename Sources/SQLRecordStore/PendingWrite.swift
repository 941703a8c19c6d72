internal import Records
internal import Synchronization

/// A write waiting for its commit.
protocol PendingWrite: Sendable {
    /// True if it is committed without other writes.
    var isAlone: Bool { get }
    /// True if it reads neither counts nor positions of zones.
    var isBatch: Bool { get }
    /// Runs the write. An error of the write itself is kept and reported by `succeed()` after the commit.
    /// - Returns: `false` if the write failed or was refused and its changes must be rolled back.
    /// - Throws: an error after which the database has rolled back the whole transaction, such as a full disk, or must.
    func run(_ db: SQLConnection, _ state: inout CommitWriter.State) throws -> Bool
    func succeed()
    func fail(_ error: any Error)
}

extension PendingWrite {
    /// Runs the write as one of several in a transaction. The others continue if it fails.
    func runInSavepoint(_ db: SQLConnection, _ state: inout CommitWriter.State) throws {
        do {
            try db.attempt {
                if try !run(db, &state) { throw WorkFailed() }
            }
        } catch is WorkFailed {}
    }
}

/// Makes the savepoint roll back.
private struct WorkFailed: Error {}

final class Write<Value: Sendable>: PendingWrite {
    let isAlone: Bool
    let isBatch: Bool
    private let body: @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value
    private let continuation: CheckedContinuation<Value, any Error>
    private let result = Mutex<Result<Value, any Error>?>(nil)

    init(
        isAlone: Bool, isBatch: Bool, body: @escaping @Sendable (SQLConnection, inout CommitWriter.State) throws -> Value,
        continuation: CheckedContinuation<Value, any Error>
    ) {
        self.isAlone = isAlone
        self.isBatch = isBatch
        self.body = body
        self.continuation = continuation
    }

    func run(_ db: SQLConnection, _ state: inout CommitWriter.State) throws -> Bool {
        let before = state
        do {
            let value = try body(db, &state)
            result.withLock { $0 = .success(value) }
            if !state.isRefused { return true }
            state = before
            return false
        } catch {
            state = before
            if !db.isInsideTransaction || (error as? SQLError)?.cause == .conflict { throw error }
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
