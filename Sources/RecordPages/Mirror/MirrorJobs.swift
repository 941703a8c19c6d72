internal import Accounts
internal import AssetStore
internal import CloudKitClient
internal import Console
internal import DataTransfer
internal import RecordStore
internal import Records
internal import RemoteRecordStore
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
    /// - Throws: errors of the work; `CancellationError`; `RecordError` NOT_FOUND if the connection was forgotten or
    ///   replaced meanwhile.
    func turn<Value: Sendable>(at connection: ContainerConnection, _ work: () async throws -> Value) async throws
        -> Value
    {
        let turns = state.withLock { state in
            let refusal = RecordError(
                .tryAgainLater, "Too many pulls and pushes of the mirror are waiting", retryAfter: 30)
            let turns = state.turns[Key(connection)] ?? AsyncSemaphore(limit: 1, waiting: 4, refusal: refusal)
            state.turns[Key(connection)] = turns
            return turns
        }
        return try await turns.run {
            guard accounts.connections(of: connection.container).contains(where: { $0.id == connection.id }) else {
                throw RecordError(
                    .notFound,
                    "The connection to \(connection.place) was forgotten or replaced in the meantime; start again")
            }
            return try await work()
        }
    }
}

// MARK: - Mirror of a visit

extension Visit {
    /// The mirror of a connected container, under its usual name.
    /// - Throws: `RecordError` BAD_REQUEST if it can't have one; the errors of its asset store.
    func mirror(of connection: ContainerConnection, _ change: (inout MirrorOptions) -> Void = { _ in }) async throws
        -> ContainerMirror
    {
        guard let copy = connection.container.mirror else {
            throw RecordError(
                .badRequest,
                "The name of \(connection.container) is too long for a mirror with a name made from it; use skylight mirror --into"
            )
        }
        guard accounts.connections(of: copy).isEmpty else {
            throw RecordError(.badRequest, "\(copy) is connected, so it can't be a mirror")
        }
        guard let origin = try connections?.engine(of: connection) else {
            throw RecordError(.badRequest, "\(connection.place) is not connected")
        }
        var options = MirrorOptions(scopes: connection.reach)
        change(&options)
        return ContainerMirror(
            of: origin.client, in: copy, of: engine, as: mirrorUser(of: connection),
            assets: try await assets.store(copy, connection.environment),
            options: options)
    }

    /// The owner of a mirror's databases. A key has no user; its mirror belongs to the developer.
    func mirrorUser(of connection: ContainerConnection) -> Name {
        connection.userRecordName ?? accounts.user(handle: User.developerHandle)?.userRecordName
            ?? people.actor.userRecordName
    }

    /// The connection that the place's container is the mirror of.
    /// - Throws: `RecordError` NOT_FOUND if it mirrors none.
    func mirroredConnection() throws -> ContainerConnection {
        guard let origin else {
            throw RecordError(
                .notFound,
                "\(place.address.container) is no mirror of a connected container, so nothing in it waits to be sent")
        }
        return origin
    }
}

extension RecordDatabase {
    /// Passes the edits that the origin lacks to a body, in order, until it returns `false`.
    func eachUnsentEdit(_ body: (UnsentEdit) -> Bool) async throws {
        let pageSize = RequestObject.pageLimit
        var since: Int64?
        while true {
            let edits = try await require(.mirrorRecords).unsentEdits(since: since, limit: pageSize)
            for edit in edits where !body(edit) { return }
            guard edits.count == pageSize, let last = edits.last else { return }
            since = last.since
        }
    }
}
