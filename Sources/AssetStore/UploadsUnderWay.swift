internal import RecordStore
internal import Records
internal import Synchronization

/// The uploads that a store takes in at the moment, so that whoever closes it can end them.
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

    /// Takes an upload in, in a task of its own, which ends with the caller's.
    /// - Throws: `RecordError` TRY_AGAIN_LATER when uploads are closed, or are while this one runs; what `work` throws.
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
            // Not what became of a body that was cut short.
            if !Task.isCancelled, state.withLock({ $0.isClosed }) { throw Self.closed }
            throw error
        }
    }

    /// Ends all uploads, and takes no more.
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
