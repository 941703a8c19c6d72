#if PostgreSQL
    internal import Foundation
    internal import Synchronization

    /// Connections to one database of PostgreSQL that its stores share for reading, and the threads that wait for them.
    final class PostgreSQLPool: Sendable {
        /// Maximum number of connections for short reads, and for long ones. PostgreSQL allows 100 by default, to all
        /// of its clients.
        static let limit = 16
        static let limitForLongReads = 4

        let address: String
        let threads = ReadingThreads(limit)
        /// Long reads must not keep short ones waiting.
        let threadsForLongReads = ReadingThreads(limitForLongReads)

        private struct State {
            /// Connections that nobody uses. The last one was used last.
            var idle: [PostgreSQLConnection] = []
            var isClosed = false
            var incarnation = ""
            /// The latest connection that failed slowly.
            var failure: (error: SQLError, moment: ContinuousClock.Instant)?
        }

        /// A connection that fails later than this fails slowly.
        private let slowness: Duration
        /// After a connection failed slowly, others fail at once for this time, with its error. Later ones try again.
        private let failureLifetime: Duration

        private let state = Mutex(State())

        init(_ address: String, slowness: Duration = .seconds(1), failureLifetime: Duration = .seconds(1)) {
            self.address = address
            self.slowness = slowness
            self.failureLifetime = failureLifetime
        }

        /// The database's data and history, as the latest connection found it.
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

        /// Lends a connection. Blocks on the network, so call it on the pool's threads or on threads that may wait.
        /// - Parameter schema: the schema whose tables are meant; `nil` for texts that name theirs.
        func lend<Value>(_ schema: String?, _ body: (PostgreSQLConnection) throws -> Value) throws -> Value {
            let connection = try take(schema)
            defer { give(connection) }
            return try body(connection)
        }

        private func take(_ schema: String?) throws -> PostgreSQLConnection {
            while let held = try idle(schema) {
                // The server may have ended it meanwhile.
                guard held.isReady else { continue }
                try held.use(schema)
                held.allow()
                return held
            }
            return try connect(schema)
        }

        /// One that knows the store's statements, or else the one that was used least recently.
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
                // The others are no better.
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

        /// Closes the connections that nobody uses. That takes the network, so others do not wait for it.
        private func closeIdle() {
            let idle = state.withLock { state in
                defer { state.idle = [] }
                return state.idle
            }
            for connection in idle { connection.close() }
        }
    }

    /// Threads for calls that wait for an answer over the network, so that those of the Swift concurrency pool don't.
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
