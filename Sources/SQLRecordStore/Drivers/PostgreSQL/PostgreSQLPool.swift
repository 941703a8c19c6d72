#if PostgreSQL
    internal import Foundation
    internal import Synchronization

    /// Connections to one PostgreSQL database that its stores share for reading, and the threads on which reads run.
    final class PostgreSQLPool: Sendable {
        /// Maximum number of connections for short reads, and for long ones. By default PostgreSQL allows 100
        /// connections for all of its clients.
        static let limit = 16
        static let limitForLongReads = 4

        let address: String
        let threads = ReadingThreads(limit)
        /// Separate threads, because long reads must not delay short ones.
        let threadsForLongReads = ReadingThreads(limitForLongReads)

        private struct State {
            /// Unused connections. The most recently used one is last.
            var idle: [PostgreSQLConnection] = []
            var isClosed = false
            var incarnation = ""
            /// The latest attempt to connect that failed slowly.
            var failure: (error: SQLError, moment: ContinuousClock.Instant)?
        }

        /// An attempt to connect that takes longer than this before it fails counts as slow.
        private let slowness: Duration
        /// After an attempt to connect has failed slowly, further attempts fail at once with the same error for this
        /// time.
        private let failureLifetime: Duration

        private let state = Mutex(State())

        init(_ address: String, slowness: Duration = .seconds(1), failureLifetime: Duration = .seconds(1)) {
            self.address = address
            self.slowness = slowness
            self.failureLifetime = failureLifetime
        }

        /// Identifies the database's data and history, as found by the latest connection.
        var incarnation: String { state.withLock { $0.incarnation } }

        /// Connects. Blocks on the network.
        func connect(_ schema: String?) throws -> PostgreSQLConnection {
            let began = ContinuousClock.now
            let connection: PostgreSQLConnection
            do {
                connection = try PostgreSQLConnection(address, schema: schema)
            } catch let error as SQLError where error.isOfConnecting && ContinuousClock.now - began > slowness {
                state.withLock { $0.failure = (error, .now) }
                throw error
            }
            let former = state.withLock { state in
                state.failure = nil
                if state.incarnation == connection.incarnation { return [] as [PostgreSQLConnection] }
                // Another server has taken over.
                state.incarnation = connection.incarnation
                defer { state.idle = [] }
                return state.idle
            }
            for connection in former { connection.close() }
            return connection
        }

        /// Lends a connection to `body`. Blocks on the network, so call it on the pool's threads or on threads that
        /// may block.
        /// - Parameter schema: the schema to which unqualified table names refer; `nil` if the statements name the
        ///   schema.
        func lend<Value>(_ schema: String?, _ body: (PostgreSQLConnection) throws -> Value) throws -> Value {
            let connection = try take(schema)
            defer { give(connection) }
            return try body(connection)
        }

        private func take(_ schema: String?) throws -> PostgreSQLConnection {
            while let held = try idle(schema) {
                // The server may have closed the connection meanwhile.
                guard held.isReady else { continue }
                try held.use(schema)
                held.allow()
                return held
            }
            return try connect(schema)
        }

        /// An unused connection: preferably one that has prepared the store's statements, otherwise the least recently
        /// used one.
        private func idle(_ schema: String?) throws -> PostgreSQLConnection? {
            try state.withLock { state in
                if state.isClosed { throw SQLError(.connectionLost, "closed", "the connections are closed") }
                if let failure = state.failure, ContinuousClock.now - failure.moment < failureLifetime {
                    throw failure.error
                }
                let index =
                    state.idle.lastIndex { $0.schema == schema }
                    ?? (state.idle.count >= Self.limit / 2 ? state.idle.indices.first : nil)
                return index.map { state.idle.remove(at: $0) }
            }
        }

        private func give(_ connection: PostgreSQLConnection) {
            if connection.wasSilent {
                // The other connections to this server would fail, too.
                state.withLock { $0.failure = (PostgreSQLConnection.noAnswer, .now) }
                return closeIdle()
            }
            guard connection.isReady else { return }
            state.withLock { state in
                if state.isClosed || state.idle.count >= Self.limit || connection.incarnation != state.incarnation {
                    return
                }
                state.idle.append(connection)
            }
        }

        func close() {
            state.withLock { $0.isClosed = true }
            closeIdle()
        }

        /// Closes the unused connections outside the lock, because closing uses the network.
        private func closeIdle() {
            let idle = state.withLock { state in
                defer { state.idle = [] }
                return state.idle
            }
            for connection in idle { connection.close() }
        }
    }

    /// Threads for calls that wait for the network, so that the threads of the Swift concurrency pool don't block.
    final class ReadingThreads: TaskExecutor {
        private let queue = OperationQueue()

        init(_ limit: Int) {
            queue.name = "Skylight reader"
            queue.maxConcurrentOperationCount = limit
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.addOperation { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
#endif
