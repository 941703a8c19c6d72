internal import Logging
internal import RecordStore
internal import Records
internal import Synchronization

/// Follows the commits of environments, each in a task of its own that checks for changes after each commit, until
/// nobody needs them any more.
final class CommitFollower: Sendable {
    private struct Following {
        let number: Int
        /// Wakes the task to check for changes.
        let waker: AsyncStream<Void>.Continuation
        let task: Task<Void, Never>
        /// True if ``CommitFollower/follow(_:as:check:)`` was called since the last check began, so that its result is
        /// too old to end the task.
        var isAsked = false
    }

    private struct State {
        var followed: [Notifier.Place: Following] = [:]
        var lastNumber = 0
        var isClosed = false
    }

    private let engine: any RecordEngine
    private let access: Access
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameter access: the access with which the changes are read.
    init(engine: any RecordEngine, access: Access, logger: Logger) {
        self.engine = engine
        self.access = access
        self.logger = logger
    }

    /// Wakes the task that follows an environment, or starts it.
    /// - Parameters:
    ///   - user: the user who reads the changes, if the task is started.
    ///   - check: reads what was committed so far, in the public database. Returns `false` if nobody needs the changes
    ///     any more.
    func follow(
        _ place: Notifier.Place, as user: Name, check: @escaping @Sendable (any RecordDatabase) async throws -> Bool
    ) {
        state.withLock { state in
            if state.isClosed { return }
            if let following = state.followed[place] {
                state.followed[place]?.isAsked = true
                following.waker.yield()
                return
            }
            state.lastNumber += 1
            let number = state.lastNumber
            let (wakes, waker) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            waker.yield()
            let task = Task { [weak self, engine, access, logger] in
                do {
                    let database = try await engine.database(
                        place.address(.public), as: Caller(userRecordName: user, access: access))
                    let commits = try database.require(.signalCommits).commits()
                    let forwarding = Task {
                        for await _ in commits { waker.yield() }
                        waker.finish()
                    }
                    defer { forwarding.cancel() }
                    for await _ in wakes {
                        do {
                            self?.begin(place, number)
                            if try await !check(database), self?.end(place, number, unlessAsked: true) ?? true {
                                return
                            }
                        } catch let error as RecordError where error.code == .tryAgainLater {
                            // The store is busy, or is being closed or opened.
                            try await Task.sleep(for: .seconds(1))
                            waker.yield()
                        }
                    }
                } catch is CancellationError {
                } catch {
                    logger.warning(
                        "Changes of \(place.container) (\(place.environment.rawValue)) are not followed until a device asks again: \(error)"
                    )
                }
                _ = self?.end(place, number)
            }
            state.followed[place] = Following(number: number, waker: waker, task: task)
        }
    }

    /// Ends all tasks, and starts no more.
    func close() {
        let followed = state.withLock { state in
            state.isClosed = true
            defer { state.followed = [:] }
            return state.followed.values
        }
        for following in followed { following.task.cancel() }
    }

    private func begin(_ place: Notifier.Place, _ number: Int) {
        state.withLock { state in if state.followed[place]?.number == number { state.followed[place]?.isAsked = false }
        }
    }

    /// - Returns: `true` if the environment is no longer followed by this task.
    private func end(_ place: Notifier.Place, _ number: Int, unlessAsked: Bool = false) -> Bool {
        state.withLock { state in
            guard let following = state.followed[place], following.number == number else { return true }
            if unlessAsked, following.isAsked { return false }
            state.followed[place] = nil
            return true
        }
    }
}
