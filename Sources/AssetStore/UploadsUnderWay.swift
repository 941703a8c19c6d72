internal import RecordStore
internal import Records
internal import Synchronization

/// The running uploads of a store, so that closing it can end them.
final class UploadsUnderWay: Sendable {
    private struct Upload {
        let cancel: @Sendable () -> Void
        let finish: @Sendable () async -> Void
    }

    private struct State {
        var isClosed = false
        var next = 0
        var uploads: [Int: Upload] = [:]
    }

    private let state = Mutex(State())

    /// Runs an upload in its own task, which is cancelled with the caller's.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the store is closed before or during the upload; errors of `work`.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let (number, task) = try state.withLock { state in
            if state.isClosed { throw Self.closed }
            let task = Task { try await work() }
            state.next += 1
            state.uploads[state.next] = Upload(cancel: { task.cancel() }, finish: { _ = await task.result })
            return (state.next, task)
        }
        defer { state.withLock { $0.uploads[number] = nil } }
        do {
            return try await withTaskCancellationHandler { try await task.value } onCancel: { task.cancel() }
        } catch {
            // Reports the closed store instead of the resulting error of the body.
            if !Task.isCancelled, state.withLock({ $0.isClosed }) { throw Self.closed }
            throw error
        }
    }

    /// Cancels all uploads and refuses new ones.
    func close() async {
        let uploads = state.withLock { state in
            state.isClosed = true
            return Array(state.uploads.values)
        }
        for upload in uploads { upload.cancel() }
        for upload in uploads { await upload.finish() }
    }

    private static let closed = RecordError(.tryAgainLater, "The store was closed; send the file again", retryAfter: 1)
}
