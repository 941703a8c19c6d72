#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation
    internal import Logging
    internal import Synchronization

    /// Notifies other processes of commits, and receives their notifications.
    ///
    /// A thread has a connection that listens (LISTEN). It sends NOTIFY after the commit instead of within it, because
    /// PostgreSQL serializes commits that notify, whatever store they belong to. A process that dies between commit
    /// and NOTIFY has notified nobody. Therefore the state of the open stores is also checked every second.
    final class PostgreSQLNews: Sendable {
        /// A store that is open in this process.
        final class Watch: Sendable {
            fileprivate let number: Int64
            fileprivate let key: StoreKey
            fileprivate let state: Mutex<State>

            fileprivate struct State {
                var mark: Int64?
                var factsVersion: Int64
                var isStale = false
                var hear: @Sendable () -> Void = {}
            }

            fileprivate init(_ number: Int64, _ key: StoreKey, factsVersion: Int64) {
                self.number = number
                self.key = key
                state = Mutex(State(factsVersion: factsVersion))
            }

            /// True if the store has changed so that it must be opened again.
            var isStale: Bool { state.withLock { $0.isStale } }

            /// Records a commit of this process.
            func note(mark: Int64?) { state.withLock { $0.mark = mark } }

            /// Marks the store as stale, because it no longer exists.
            func giveUp() { state.withLock { $0.isStale = true } }

            func listen(_ hear: @escaping @Sendable () -> Void) { state.withLock { $0.hear = hear } }

            func hear() {
                let hear = state.withLock { $0.hear }
                hear()
            }

            /// Records the version of the facts that a transaction of this process stored.
            /// - Parameter found: the version before it.
            func note(factsVersion left: Int64, after found: Int64?) {
                state.withLock { state in
                    if found == state.factsVersion { state.factsVersion = left } else { state.isStale = true }
                }
            }

            /// Compares the store's state in the database with the known one.
            /// - Parameter key: the store's present name; `nil` if it was deleted.
            /// - Returns: the listener to call; `nil` if nothing has changed.
            fileprivate func see(_ key: StoreKey?, mark: Int64?, factsVersion: Int64?) -> (@Sendable () -> Void)? {
                state.withLock { state in
                    let isStale = key != self.key || factsVersion.map { $0 != state.factsVersion } ?? false
                    let isNew = isStale && !state.isStale || mark != state.mark
                    (state.mark, state.isStale) = (mark, state.isStale || isStale)
                    return isNew ? state.hear : nil
                }
            }
        }

        private struct State {
            var watches: [ObjectIdentifier: Watch] = [:]
            /// Stores with commits of which other processes have not been notified.
            var changed: Set<Int64> = []
            var isClosed = false
            var hearAll: @Sendable (StoreKey) -> Void = { _ in }
        }

        private static let channel = "skylight"
        private static let interval: Int32 = 1000
        private static let pause = 0.5
        private static let patience = 1.0

        private let pool: PostgreSQLPool
        private let process: Int64
        private let isAlone: Bool
        private let logger: Logger
        private let messages = RecentMessages()
        private let state = Mutex(State())
        /// Both ends of a pipe that wakes the thread.
        private let wake = Pipe()
        private let ended = DispatchSemaphore(value: 0)

        /// - Parameters:
        ///   - connection: holds the lock of a process that serves the database.
        ///   - process: a number that no other process has.
        ///   - isAlone: `true` if the lock excludes other processes.
        init(
            _ pool: PostgreSQLPool, _ connection: PostgreSQLConnection, process: Int64, isAlone: Bool, _ logger: Logger
        ) {
            self.pool = pool
            self.process = process
            self.isAlone = isAlone
            self.logger = logger
            let first = Mutex<PostgreSQLConnection?>(connection)
            let thread = Thread { [weak self, ended] in
                var listener = ListenState(connection: first.withLock { $0.take() })
                while let news = self, !news.isClosed { news.turn(&listener) }
                listener.connection?.close()
                ended.signal()
            }
            thread.name = "Skylight news"
            thread.start()
        }

        // MARK: Stores

        /// Watches a store for changes from its present state on.
        func watch(_ number: Int64, _ key: StoreKey) throws -> Watch {
            let version = try pool.lend(nil) {
                try $0.row("SELECT factsVersion FROM \(PostgreSQLServer.schema(number)).lastCommit")
            }
            let watch = Watch(number, key, factsVersion: version.first.flatMap { Int64($0) } ?? 0)
            state.withLock { $0.watches[ObjectIdentifier(watch)] = watch }
            return watch
        }

        func forget(_ watch: Watch) { _ = state.withLock { $0.watches.removeValue(forKey: ObjectIdentifier(watch)) } }

        /// Calls `hear` after commits of other processes, also in stores that are not open here.
        func listen(_ hear: @escaping @Sendable (StoreKey) -> Void) { state.withLock { $0.hearAll = hear } }

        /// Schedules a notification of other processes that a store has changed.
        func tell(_ number: Int64) {
            let isFirst = state.withLock { state in
                defer { state.changed.insert(number) }
                return state.changed.isEmpty
            }
            if isFirst { wakeUp() }
        }

        func close() {
            state.withLock { $0.isClosed = true }
            wakeUp()
            // The thread may be connecting to a server that does not answer.
            _ = ended.wait(timeout: .now() + Self.patience)
            // So that a second call returns, too.
            ended.signal()
        }

        private func wakeUp() {
            var byte: UInt8 = 0
            _ = write(wake.fileHandleForWriting.fileDescriptor, &byte, 1)
        }

        private var isClosed: Bool { state.withLock { $0.isClosed } }

        // MARK: On the thread

        private struct ListenState {
            var connection: PostgreSQLConnection?
            var isListening = false
            var nextLook = ContinuousClock.now
            /// The stores in which other processes have committed; `nil` if the thread was not listening, so that any
            /// store may have changed.
            var heard: Set<Int64>?
        }

        private func turn(_ listener: inout ListenState) {
            do {
                let connection = try listener.connection ?? pool.connect(nil)
                listener.connection = connection
                if !listener.isListening {
                    try connection.execute("LISTEN \(Self.channel)")
                    // An exclusive lock is lost with its connection. Other processes may have saved since.
                    if !isAlone { try PostgreSQLServer.serve(connection) }
                    listener.isListening = true
                    listener.heard = nil
                }
                // Usually the thread wakes only to send notifications.
                if listener.heard.map({ !$0.isEmpty }) ?? true || ContinuousClock.now >= listener.nextLook {
                    try look(connection, listener.heard)
                    listener.nextLook = .now + .milliseconds(Int(Self.interval))
                }
                listener.heard = try wait(connection)
                try tell(connection)
            } catch {
                let details = StoreProblem.details(of: error)
                if messages.isNew(details) {
                    logger.warning("Commits of other processes are not heard of at present: \(details)")
                }
                listener.connection?.close()
                listener = ListenState()
                Thread.sleep(forTimeInterval: Self.pause)
            }
        }

        private func tell(_ connection: PostgreSQLConnection) throws {
            let numbers = state.withLock { state in
                defer { state.changed = [] }
                return state.changed
            }
            do {
                // A payload has at most 8,000 bytes.
                for part in stride(from: 0, to: numbers.count, by: 300) {
                    let list = numbers.sorted()[part..<min(part + 300, numbers.count)].map(String.init).joined(
                        separator: ",")
                    _ = try connection.row("SELECT pg_notify('\(Self.channel)', '\(process):\(list)')")
                }
            } catch {
                state.withLock { $0.changed.formUnion(numbers) }
                throw error
            }
        }

        /// Waits for a notification to send or receive, at most for the interval.
        /// - Returns: the stores in which other processes have committed.
        private func wait(_ connection: PostgreSQLConnection) throws -> Set<Int64> {
            // Notifications may have arrived with the answer to a query.
            var payloads = try connection.notifications()
            let waking = wake.fileHandleForReading.fileDescriptor
            var descriptors = [
                pollfd(fd: connection.socket, events: Int16(POLLIN), revents: 0),
                pollfd(fd: waking, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&descriptors, 2, payloads.isEmpty ? Self.interval : 0)
            if descriptors[1].revents != 0 {
                var bytes = [UInt8](repeating: 0, count: 64)
                _ = Foundation.read(waking, &bytes, bytes.count)
            }
            payloads += try connection.notifications()
            return Set(
                payloads.flatMap { payload -> [Int64] in
                    let parts = payload.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2, Int64(parts[0]) != process else { return [] }
                    return parts[1].split(separator: ",").compactMap { Int64($0) }
                })
        }

        /// Checks the open stores for changes, and calls the listeners.
        private func look(_ connection: PostgreSQLConnection, _ heard: Set<Int64>?) throws {
            let (watches, hearAll) = state.withLock { (Array($0.watches.values), $0.hearAll) }
            if watches.isEmpty, heard?.isEmpty ?? false { return }
            let keys = try PostgreSQLServer.keys(connection)
            for (number, key) in keys where heard?.contains(number) ?? true { hearAll(key) }
            let there = watches.filter { keys[$0.number] != nil }
            var rows: [Int64: [Int64]] = [:]
            if !there.isEmpty {
                let sql = Set(there.map(\.number)).sorted().map {
                    "SELECT \($0), mark, factsVersion FROM \(PostgreSQLServer.schema($0)).lastCommit"
                }
                for row in try connection.rows(sql.joined(separator: " UNION ALL ")) {
                    let numbers = row.compactMap { Int64($0) }
                    if numbers.count == 3 { rows[numbers[0]] = Array(numbers[1...]) }
                }
            }
            for watch in watches {
                let row = rows[watch.number]
                watch.see(keys[watch.number], mark: row?[0], factsVersion: row?[1])?()
            }
        }
    }
#endif
