internal import Records
internal import Synchronization

// What the engine does at the moment, for an interface that shows it.

extension SyncEngine {
    /// What an engine does now, and how its latest work ended.
    public struct Activity: Sendable {
        /// True while changes are fetched.
        public internal(set) var isFetching = false
        /// True while changes are sent.
        public internal(set) var isSending = false
        /// The error of the latest fetch; `nil` if it succeeded, or if there was none yet.
        public internal(set) var fetchError: OperationError?
        /// The error of the latest send, which may be `partialFailure`; `nil` as for ``fetchError``.
        public internal(set) var sendError: OperationError?

        /// The error of the latest fetch, or else of the latest send.
        public var lastError: OperationError? { fetchError ?? sendError }
    }

    /// The kinds of work that ``Activity`` tells of.
    enum Work {
        case fetch, send
    }

    /// What the engine does now.
    public var activity: Activity { work.withLock { $0 } }

    /// A stream of the engine's activity: as it is now, and after each change. A listener that is slow misses those in
    /// between. The stream does not keep the engine alive, and ends with it.
    public func activities() -> AsyncStream<Activity> {
        let changes = workSignals.listen()
        let (stream, continuation) = AsyncStream.makeStream(of: Activity.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield(activity)
        let task = Task { [weak self] in
            for await _ in changes {
                guard let activity = self?.activity else { break }
                continuation.yield(activity)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Notes in ``activity`` that work runs, and how it ends. A cancellation is not an error.
    func noting<Value>(_ kind: Work, _ body: () async throws -> Value) async throws -> Value {
        note(kind, isRunning: true, nil)
        do {
            let value = try await body()
            note(kind, isRunning: false, nil)
            return value
        } catch {
            let failure = OperationError(any: error)
            note(kind, isRunning: false, failure.code == .operationCancelled ? nil : failure)
            throw error
        }
    }

    /// The error of the work before stays until this one has ended.
    private func note(_ kind: Work, isRunning: Bool, _ error: OperationError?) {
        work.withLock { activity in
            switch kind {
            case .fetch:
                activity.isFetching = isRunning
                if !isRunning { activity.fetchError = error }
            case .send:
                activity.isSending = isRunning
                if !isRunning { activity.sendError = error }
            }
        }
        workSignals.send()
    }
}
