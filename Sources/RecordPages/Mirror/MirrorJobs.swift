internal import Accounts
internal import Console
internal import Mirroring
internal import Records
internal import Synchronization

/// The pulls of mirrors that this server began, and the turns of pulls and pushes: a mirror does one at a time.
final class MirrorJobs: Sendable {
    private struct Key: Hashable {
        let container: ContainerID
        let environment: Records.Environment

        init(_ connection: ContainerConnection) {
            (container, environment) = (connection.container, connection.environment)
        }
    }

    /// A pull, or pulls that follow each other.
    final class Job: Sendable {
        struct State: Sendable {
            var progress: MirrorProgress?
            /// The result of the latest pull.
            var report: PullReport?
            var ended: Timestamp?
            /// The reason why the latest pull failed, and will be repeated.
            var failure: String?
        }

        let run: BackgroundRun
        let follows: Bool
        private let state = Mutex(State())

        init(_ run: BackgroundRun, follows: Bool) {
            self.run = run
            self.follows = follows
        }

        var now: State { state.withLock { $0 } }

        func update(_ change: (inout State) -> Void) {
            state.withLock { change(&$0) }
        }
    }

    private struct State {
        var jobs: [Key: Job] = [:]
        var turns: [Key: AsyncSemaphore] = [:]
    }

    private let accounts: Accounts
    private let state = Mutex(State())

    init(_ accounts: Accounts) {
        self.accounts = accounts
    }

    /// The latest job of a connection.
    func job(of connection: ContainerConnection) -> Job? {
        state.withLock { $0.jobs[Key(connection)] }
    }

    /// Keeps a job, unless another one of the connection is running.
    /// - Throws: `RecordError` EXISTS if one is.
    func begin(_ job: Job, of connection: ContainerConnection) throws {
        try state.withLock { state in
            if let other = state.jobs[Key(connection)], !other.run.isOver {
                throw RecordError(.exists, "The mirror of \(connection.place) is being pulled; stop that first")
            }
            state.jobs[Key(connection)] = job
        }
    }

    /// Forgets a job that could not start.
    func remove(_ job: Job, of connection: ContainerConnection) {
        state.withLock { state in
            if state.jobs[Key(connection)] === job { state.jobs[Key(connection)] = nil }
        }
    }

    /// Runs a pull or a push when it is its turn.
    /// - Throws: errors of the work; `CancellationError`; `RecordError` NOT_FOUND if the connection was forgotten or replaced meanwhile.
    func turn<Value: Sendable>(at connection: ContainerConnection, _ work: () async throws -> Value) async throws -> Value {
        let turns = state.withLock { state in
            let refusal = RecordError(.tryAgainLater, "Too many pulls and pushes of the mirror are waiting", retryAfter: 30)
            let turns = state.turns[Key(connection)] ?? AsyncSemaphore(limit: 1, waiting: 4, refusal: refusal)
            state.turns[Key(connection)] = turns
            return turns
        }
        return try await turns.run {
            guard accounts.connections(of: connection.container).contains(where: { $0.id == connection.id }) else {
                throw RecordError(.notFound, "The connection to \(connection.place) was forgotten or replaced in the meantime; start again")
            }
            return try await work()
        }
    }
}
