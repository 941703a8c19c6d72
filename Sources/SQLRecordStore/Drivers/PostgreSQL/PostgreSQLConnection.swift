#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation
    internal import Synchronization

    /// A connection to a PostgreSQL server through libpq, with its prepared statements.
    ///
    /// One thread at a time uses it. Only ``cancel()`` may be called concurrently.
    ///
    /// All rows of an answer are in memory before the next statement runs, so statements can be nested in any way.
    final class PostgreSQLConnection: @unchecked Sendable {
        private(set) var handle: OpaquePointer?
        private var texts: [String: PostgreSQLText] = [:]
        private var preparedCount = 0
        /// Incremented when all prepared statements are discarded.
        private var generation = 0
        private var mustForget = false
        /// Incremented by each statement that may close cursors, such as a commit or a rollback.
        private(set) var undoCount = 0
        private var cursorCount = 0
        private var savepointCount = 0
        private var lastChangesCount = 0
        /// Number of rows that the last statement inserted, updated or deleted.
        var changesCount: Int {
            if !posted.isEmpty { settleLater() }
            return lastChangesCount
        }

        /// True if changes may be sent without waiting for their answers.
        var pipelines = false
        /// Statements that were sent and whose answers have not been read.
        var posted: [String] = []
        /// An error to be thrown by the next statement.
        var lateFailure: (any Error)?

        /// Called before statements and while they run, at most once a millisecond. If it returns true, the statement
        /// is cancelled.
        var isExceeded: (() -> Bool)?
        private var lastAsked = ContinuousClock.now
        private let isCancelled = Atomic<Bool>(false)
        /// True after a cancellation, which may reach the server late and cancel a later statement.
        private var wasInterrupted = false

        /// Identifies the server's data and its history. It differs after a failover or after a backup was restored.
        private(set) var incarnation = ""

        /// Time limits for a server's answers.
        struct Patience {
            /// Maximum time for connecting to a host in seconds, unless the connection string has another.
            static let connecting = 10
            /// Maximum time without any data before a second connection tests whether the server still answers.
            var silence = Duration.seconds(10)
            /// Maximum time for the first answer on a new connection.
            var answer = Duration.seconds(10)

            /// Maximum time for a request, which docs/postgresql.md promises: until its connection is given up, and
            /// until a new one is.
            var ofRequest: Duration { silence + answer + .seconds(Self.connecting) + answer }
        }
        var patience: Patience
        private let isProbe: Bool
        /// True once the server has answered this connection.
        private var isProven = false
        /// True if the connection was closed because the server answered neither it nor a second connection.
        private(set) var wasSilent = false
        /// Number of bytes of statements that may not have been transmitted yet.
        private var unsent = 0
        private static let unsentLimit = 64 << 10

        /// Maximum number of prepared statements. Beyond it, all are discarded. Each takes about 20 KB of the server's
        /// memory.
        var preparedLimit = 400

        // MARK: Connecting

        /// Default parameters, which a connection string may override. The failure of a server that stops answering is
        /// detected after half a minute.
        private static let defaults = [
            "connect_timeout": "\(Patience.connecting)", "keepalives_idle": "15", "keepalives_interval": "5",
            "keepalives_count": "3",
            "tcp_user_timeout": "30000",
            "fallback_application_name": "skylight",
        ]

        private let address: String
        /// The schema to which unqualified table names refer; `nil` if the statements name the schema.
        private(set) var schema: String?

        /// - Parameters:
        ///   - address: a URI `postgres://user@host/database`, or libpq's `key=value` pairs. If it contains no
        ///     password, libpq uses `PGPASSWORD` or its password file.
        ///   - schema: need not exist yet.
        /// - Throws: ``SQLError``.
        init(_ address: String, schema: String? = nil, patience: Patience = Patience()) throws {
            self.address = address
            self.schema = schema
            self.patience = patience
            isProbe = false
            try connect()
        }

        /// Connects to one host to test whether it answers.
        private init(probing address: String, _ host: [String: String], patience: Patience) throws {
            self.address = address
            self.patience = patience
            isProbe = true
            try connect(to: host)
        }

        deinit { close() }

        /// Closes the connection. An open transaction is rolled back.
        func close() {
            PQfinish(handle)
            handle = nil
        }

        /// Connects again. An open transaction is rolled back.
        func reconnect() throws {
            close()
            reset()
            (wasInterrupted, wasSilent, isProven) = (false, false, false)
            try connect()
        }

        /// - Parameter host: parameters of the host to connect to.
        private static func start(_ address: String, _ host: [String: String]) throws -> OpaquePointer {
            // If a parameter occurs twice, libpq uses the later one.
            let parameters =
                defaults.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + [
                    ("dbname", address), ("client_encoding", "UTF8"),
                ] + host.map { ($0.key, $0.value) }
            let handle = withStrings(parameters.map(\.0)) { keys in
                withStrings(parameters.map(\.1)) { values in PQconnectStartParams(keys, values, 1) }
            }
            guard let handle else { throw SQLError(.other, "53200", "there is no memory for a connection") }
            return handle
        }

        private func connect() throws {
            try PostgreSQLHosts(address).tryEach { try connect(to: $0) }
        }

        private func connect(to host: [String: String]) throws {
            do {
                handle = try Self.start(address, host)
                try finishConnecting()
            } catch {
                close()
                throw error
            }
        }

        private func finishConnecting() throws {
            // Only the verbose message of a failed connection contains a code.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            PQsetNoticeReceiver(handle, { _, _ in }, nil)
            try waitForConnection()
            PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            // In blocking mode libpq would wait forever for a server that accepts no data.
            PQsetnonblocking(handle, 1)
            // JIT compilation takes longer than most of the statements run.
            let settings =
                "SET client_min_messages = warning; SET standard_conforming_strings = on; SET plan_cache_mode = auto; SET jit = off"
            // A server that takes over after a failover begins a new timeline, whose number is the first part of the
            // names of its WAL files.
            let incarnation = """
                SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN (SELECT CAST(timeline_id AS TEXT) FROM pg_control_checkpoint())
                ELSE CAST(CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS INTEGER) AS TEXT) END FROM pg_control_system()
                """
            self.incarnation = try row(
                "\(settings); \(Self.choice(of: schema)); \(incarnation)", isInterruptible: false
            ).joined(separator: " ")
            isProven = true
        }

        /// Makes unqualified table names refer to a schema. Prepared statements remain; the server plans them again.
        ///
        /// Must not be called within a transaction, because a rollback would undo it.
        func use(_ schema: String?) throws {
            if schema == self.schema { return }
            try execute(Self.choice(of: schema), isInterruptible: false)
            self.schema = schema
        }

        private static func choice(of schema: String?) -> String {
            schema.map { "SET search_path = \"\($0.replacing("\"", with: "\"\""))\"" } ?? "RESET search_path"
        }

        private func waitForConnection() throws {
            let deadline = ContinuousClock.now + (isProbe ? patience.answer : .seconds(timeout))
            var state = PGRES_POLLING_WRITING
            while state != PGRES_POLLING_OK {
                guard PQstatus(handle) != CONNECTION_BAD, state != PGRES_POLLING_FAILED else {
                    throw SQLError.failureToConnect(handle)
                }
                let rest = (deadline - .now) / .milliseconds(1)
                guard rest > 0 else {
                    throw SQLError(.connectionLost, "08001", "the server did not answer within \(timeout) seconds")
                }
                if Self.wait(
                    for: state == PGRES_POLLING_READING ? POLLIN : POLLOUT, on: handle,
                    milliseconds: Int32(min(rest + 1, 1e6))) != 0
                {
                    state = PQconnectPoll(handle)
                }
            }
        }

        /// Maximum time in seconds for connecting, from the connection string.
        private var timeout: Int {
            guard let options = PQconninfo(handle) else { return Patience.connecting }
            defer { PQconninfoFree(options) }
            var option = options
            while let keyword = option.pointee.keyword {
                if strcmp(keyword, "connect_timeout") == 0 {
                    let seconds = option.pointee.val.flatMap { Int(String(cString: $0)) }
                    return seconds.flatMap { $0 > 0 ? $0 : nil } ?? Patience.connecting
                }
                option += 1
            }
            return Patience.connecting
        }

        private static func withStrings<Value>(
            _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
        ) -> Value {
            let copies: [UnsafePointer<CChar>?] = strings.map { UnsafePointer(strdup($0)) } + [nil]
            defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
            return copies.withUnsafeBufferPointer { buffer in
                guard let start = buffer.baseAddress else { preconditionFailure("there is at least the end") }
                return body(start)
            }
        }

        // MARK: State

        var isInsideTransaction: Bool {
            !posted.isEmpty || [PQTRANS_INTRANS, PQTRANS_INERROR].contains(PQtransactionStatus(handle))
        }
        /// True if an error has aborted the transaction, which can then only be rolled back, as a whole or to a
        /// savepoint.
        var hasFailed: Bool { PQtransactionStatus(handle) == PQTRANS_INERROR }
        /// True if the server or the network closed the connection, possibly while it was idle.
        var isLost: Bool {
            // Without a statement, the server sends only notices and the end of the connection.
            for _ in 0..<8
            where PQstatus(handle) == CONNECTION_OK && Self.wait(for: POLLIN, on: handle, milliseconds: 0) > 0 {
                if PQconsumeInput(handle) == 1 { _ = PQisBusy(handle) }
            }
            return PQstatus(handle) != CONNECTION_OK
        }
        /// True if the connection is idle and usable, so that a read or write can begin.
        var isReady: Bool { !wasInterrupted && !isLost && PQtransactionStatus(handle) == PQTRANS_IDLE }

        /// Cancels the running statement and refuses further ones until ``allow()``. Any thread may call this.
        func cancel() { isCancelled.store(true, ordering: .relaxed) }
        /// Accepts statements again. Call it when a read or write takes the connection.
        func allow() { isCancelled.store(false, ordering: .relaxed) }

        private var mustStop: Bool {
            if isCancelled.load(ordering: .relaxed) { return true }
            guard let isExceeded, ContinuousClock.now - lastAsked >= .milliseconds(1) else { return false }
            lastAsked = .now
            return isExceeded()
        }

        // MARK: Texts

        func text(_ sql: String, isCached: Bool) -> PostgreSQLText {
            if let text = texts[sql] { return text }
            let text = PostgreSQLText(sql)
            // The texts of commands are unlimited in number.
            if texts.count > 2 * preparedLimit { texts = [:] }
            if isCached { texts[sql] = text }
            return text
        }

        /// Prepares a text for values of these types, unless it is already prepared.
        func prepare(_ text: PostgreSQLText, _ types: [PostgreSQLType], asking count: Int) throws
            -> PostgreSQLPreparedText
        {
            if !mustForget, let prepared = text.prepared.first(where: { $0.fits(types, in: generation) }) {
                return prepared
            }
            if mustForget || preparedCount >= preparedLimit, !hasFailed { try forget() }
            preparedCount += 1
            let name = "s\(generation)_\(preparedCount)"
            PQclear(
                try answer(text.original) { handle in
                    PQsendPrepare(handle, name, text.prepared(asking: count), Int32(types.count), types.map(\.rawValue))
                })
            let description = try answer(text.original) { PQsendDescribePrepared($0, name) }
            defer { PQclear(description) }
            let found = (0..<PQnparams(description)).map { PostgreSQLType(rawValue: PQparamtype(description, $0)) }
            let prepared = PostgreSQLPreparedText(
                name: name, types: found, columns: try PostgreSQLColumns(of: description, text.original),
                generation: generation)
            text.prepared.removeAll { $0.generation != generation }
            text.prepared.append(prepared)
            return prepared
        }

        private func forget() throws {
            try execute("DEALLOCATE ALL")
            reset()
        }

        private func reset() {
            generation += 1
            preparedCount = 0
            texts = [:]
            mustForget = false
            posted = []
            lateFailure = nil
        }

        /// Discards all prepared statements before the next one is prepared.
        func forgetSoon() { mustForget = true }

        /// A name for a cursor.
        func cursorName() -> String {
            cursorCount += 1
            return "c\(cursorCount)"
        }

        /// A name that no savepoint of the connection has had.
        func newSavepoint() -> String {
            savepointCount += 1
            return "p\(savepointCount)"
        }

        /// Closes a cursor.
        func close(_ cursor: String) {
            do {
                if pipelines {
                    try post("CLOSE \(cursor)")
                } else {
                    try execute("CLOSE \(cursor)", isInterruptible: false)
                }
            } catch {
                lateFailure = pipelines ? error : nil
            }
        }

        /// Records that cursors are being closed.
        func noteUndo() { undoCount += 1 }

        // MARK: Running

        /// Executes one or several texts without parameters. Their rows are ignored.
        func execute(_ sql: String, isInterruptible: Bool = true) throws {
            let (isCommit, isRollback) = (sql.hasSuffix("COMMIT"), sql.hasPrefix("ROLLBACK"))
            if isCommit || isRollback { undoCount += 1 }
            // A rollback also undoes failed statements, except for those before the savepoint.
            if isRollback { settleLater() } else { try settle() }
            let earlier = lateFailure
            lateFailure = nil
            let result: OpaquePointer
            do {
                result = try answer(sql, isInterruptible: isInterruptible && !isCommit && !isRollback) {
                    PQsendQuery($0, sql)
                }
            } catch {
                throw earlier ?? error
            }
            defer { PQclear(result) }
            // COMMIT of a failed transaction rolls it back without an error.
            if isCommit, strcmp(PQcmdStatus(result), "COMMIT") != 0 {
                throw SQLError.failedTransaction
            }
        }

        /// Executes texts without parameters and returns the rows of the last one. Values are texts; NULL is an empty
        /// text.
        func rows(_ sql: String, isInterruptible: Bool = true) throws -> [[String]] {
            try settle()
            let result = try answer(sql, isInterruptible: isInterruptible) { PQsendQuery($0, sql) }
            defer { PQclear(result) }
            return (0..<PQntuples(result)).map { row in
                (0..<PQnfields(result)).map { column in
                    PQgetvalue(result, row, column).map { String(cString: $0) } ?? ""
                }
            }
        }

        /// The only row of ``rows(_:isInterruptible:)``.
        func row(_ sql: String, isInterruptible: Bool = true) throws -> [String] {
            guard let row = try rows(sql, isInterruptible: isInterruptible).first else {
                throw SQLError(.damaged, "no row", "a row is missing", sql)
            }
            return row
        }

        /// The notifications that have arrived since the last call, on a connection that executed LISTEN.
        /// - Throws: ``SQLError`` if the connection is lost.
        func notifications() throws -> [String] {
            guard PQconsumeInput(handle) == 1 else { throw SQLError.failure(of: handle, nil) }
            var payloads: [String] = []
            while let notification = PQnotifies(handle) {
                payloads.append(String(cString: notification.pointee.extra))
                PQfreemem(notification)
            }
            return payloads
        }

        /// The process ID of the server process for this connection.
        var serverProcess: Int32 { PQbackendPID(handle) }
        /// The socket, to wait for incoming data.
        var socket: Int32 { PQsocket(handle) }

        /// Sends a statement and waits for its answer, which the caller must clear.
        /// - Parameter sql: the text of the statement, for error messages.
        /// - Throws: ``SQLError``; `CancellationError` if the statement was cancelled or exceeded a limit.
        func answer(_ sql: String?, isInterruptible: Bool = true, _ send: (OpaquePointer) -> Int32) throws
            -> OpaquePointer
        {
            if isInterruptible, mustStop { throw CancellationError() }
            if !posted.isEmpty || lateFailure != nil { return try settle(andThen: sql, send) }
            guard let handle, send(handle) == 1 else { throw SQLError.failure(of: handle, sql) }
            var last: OpaquePointer?
            var isInterrupted = false
            while true {
                do {
                    try wait(&isInterrupted, isInterruptible: isInterruptible)
                } catch {
                    PQclear(last)
                    throw error
                }
                guard let result = PQgetResult(handle) else { break }
                // The first error is reported.
                if let last, PQresultStatus(last) == PGRES_FATAL_ERROR {
                    PQclear(result)
                } else {
                    PQclear(last)
                    last = result
                }
            }
            guard let last else { throw SQLError.failure(of: handle, sql) }
            guard [PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY].contains(PQresultStatus(last)) else {
                defer { PQclear(last) }
                let error = SQLError.failure(last, of: handle, sql)
                if isInterrupted, error.code == "57014" { throw CancellationError() }
                // A plan that is invalid because a table changed, and a statement that a connection pooler has
                // discarded.
                if ["0A000", "26000"].contains(error.code) { mustForget = true }
                throw error
            }
            noteChanges(last)
            return last
        }

        func noteChanges(_ result: OpaquePointer) {
            // INSERT, UPDATE or DELETE; other statements with these letters have no count.
            guard let status = PQcmdStatus(result), [73, 85, 68].contains(status[0]),
                let count = Int(String(cString: PQcmdTuples(result)))
            else { return }
            lastChangesCount = count
        }

        /// Waits until the next result is available.
        func waitForAnswer() throws {
            var isInterrupted = false
            try wait(&isInterrupted, isInterruptible: false)
        }

        /// Counts bytes passed to libpq, and waits if the server reads them more slowly.
        func sent(_ bytes: Int) throws {
            unsent += bytes
            if unsent < Self.unsentLimit { return }
            unsent = 0
            var silence = Silence(isProven ? patience.silence : patience.answer)
            while PQflush(handle) == 1 {
                // The server may be blocked because its answers to earlier statements have not been read.
                let events = Self.wait(for: POLLIN | POLLOUT, on: handle, milliseconds: 1000)
                if events & POLLIN != 0, PQconsumeInput(handle) == 0 { return }
                try checkSilence(events, &silence)
            }
        }

        /// Waits for the next result, and tests meanwhile whether the statement should be cancelled.
        /// - Throws: ``SQLError`` if the server neither sends anything nor answers a second connection. This
        ///   connection is then closed.
        private func wait(_ isInterrupted: inout Bool, isInterruptible: Bool) throws {
            unsent = 0
            var silence = Silence(isProven ? patience.silence : patience.answer)
            while true {
                let flushed = PQflush(handle)
                // The next result is an error.
                guard flushed >= 0, PQisBusy(handle) == 1 else { return }
                let pause: Int32 = isInterrupted || !isInterruptible ? 1000 : isExceeded == nil ? 20 : 1
                let events = Self.wait(for: flushed == 1 ? POLLIN | POLLOUT : POLLIN, on: handle, milliseconds: pause)
                if events == 0, isInterruptible, !isInterrupted, mustStop {
                    isInterrupted = true
                    cancelOnServer()
                }
                if events & ~POLLOUT != 0, PQconsumeInput(handle) == 0 { return }
                try checkSilence(events, &silence)
            }
        }

        /// Measures the time since the server last sent or received something.
        private struct Silence {
            let patience: Duration
            private var began = ContinuousClock.now

            init(_ patience: Duration) { self.patience = patience }

            var isOver: Bool { ContinuousClock.now - began >= patience }
            mutating func end() { began = .now }
        }

        /// The error if the server accepts connections but does not answer.
        static let noAnswer = SQLError(.connectionLost, "08001", "the server takes connections, but does not answer")

        /// Evaluates the events of a wait. A statement may take any time, but if the server is silent for too long, it
        /// must answer a second connection.
        private func checkSilence(_ events: Int32, _ silence: inout Silence) throws {
            if events == 0 {
                guard silence.isOver else { return }
                guard isProven, isServerThere else {
                    wasSilent = true
                    close()
                    throw isProven ? SQLError(.connectionLost, "08006", Self.noAnswer.message) : Self.noAnswer
                }
            }
            silence.end()
        }

        /// True if the server answers a second connection, even with a refusal.
        private var isServerThere: Bool {
            let place = [("host", PQhost(handle)), ("hostaddr", PQhostaddr(handle)), ("port", PQport(handle))]
                .compactMap { name, value in
                    value.map { (name, String(cString: $0)) }
                }
            do {
                let probe = try PostgreSQLConnection(
                    probing: address, Dictionary(uniqueKeysWithValues: place.filter { !$0.1.isEmpty }),
                    patience: patience)
                probe.close()
                return true
            } catch {
                return (error as? SQLError).map { $0.code != "08001" && $0.code != "08006" } ?? false
            }
        }

        /// - Returns: the events of poll(2); 0 if none came in time, or a signal interrupted the wait.
        private static func wait(for events: some BinaryInteger, on handle: OpaquePointer?, milliseconds: Int32)
            -> Int32
        {
            var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
            let ready = poll(&descriptor, 1, milliseconds)
            if ready < 0 { return errno == EINTR ? 0 : Int32(POLLERR) }
            return Int32(descriptor.revents)
        }

        /// Asks the server to cancel the statement, which then ends with an error. This needs a second connection. If
        /// that fails, the statement runs to its end.
        private func cancelOnServer() {
            wasInterrupted = true
            guard let handle, let cancel = PQgetCancel(handle) else { return }
            // If the server does not answer, the call would block this thread.
            nonisolated(unsafe) let request = cancel
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
                    _ = PQcancel(request, message.baseAddress, 256)
                }
                PQfreeCancel(request)
                done.signal()
            }
            _ = done.wait(timeout: .now() + 1)
        }
    }
#endif
