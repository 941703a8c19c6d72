#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation
    internal import Synchronization

    /// A connection to a PostgreSQL server through libpq, with its prepared statements.
    ///
    /// One thread at a time uses it. Only ``cancel()`` may be called meanwhile.
    ///
    /// All rows of an answer are in memory before the next statement runs, so statements can be nested in any way.
    final class PostgreSQLConnection: @unchecked Sendable {
        private(set) var handle: OpaquePointer?
        private var texts: [String: PostgreSQLText] = [:]
        private var preparedCount = 0
        /// Grows when all prepared statements are forgotten.
        private var generation = 0
        private var mustForget = false
        /// Grows with all that can close cursors.
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
        /// Statements that were sent, and whose answers were not read.
        var posted: [String] = []
        /// Thrown by the next statement.
        var lateFailure: (any Error)?

        /// Asked before statements and while they run, at most once a millisecond. A statement that exceeds the limit
        /// is cancelled.
        var isExceeded: (() -> Bool)?
        private var lastAsked = ContinuousClock.now
        private let isCancelled = Atomic<Bool>(false)
        /// A cancellation may reach the server late, and end another statement.
        private var wasInterrupted = false

        /// The server's data and its history: after a failover or a restored backup, another one.
        private(set) var incarnation = ""

        /// How long a server may take.
        struct Patience {
            /// How long it may be silent before it is asked, with a connection of its own, whether it is still there.
            var silence = Duration.seconds(10)
            /// How long it may take to answer a new connection for the first time.
            var answer = Duration.seconds(10)
        }
        var patience: Patience
        private let isProbe: Bool
        /// True once the server has answered this connection.
        private var isProven = false
        /// True if the connection was ended because the server did not answer it, nor another one.
        private(set) var wasSilent = false
        /// Bytes of statements that may not have left yet.
        private var unsent = 0
        private static let unsentLimit = 64 << 10

        /// Prepared statements after which all are forgotten. Each takes some 20 KB of the server's memory.
        var preparedLimit = 400

        // MARK: Connecting

        /// Parameters that a connection string may override. A server that is gone without a word is noticed after half
        /// a minute.
        private static let defaults = [
            "connect_timeout": "10", "keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3",
            "tcp_user_timeout": "30000",
            "fallback_application_name": "skylight",
        ]

        private let address: String
        /// The schema whose tables the texts mean; `nil` if they name it.
        private(set) var schema: String?

        /// - Parameters:
        ///   - address: a URI `postgres://user@host/database`, or libpq's `key=value` pairs. Without a password, libpq
        ///     looks into `PGPASSWORD` and its password file.
        ///   - schema: need not exist yet.
        /// - Throws: ``SQLError``.
        init(_ address: String, schema: String? = nil, patience: Patience = Patience()) throws {
            self.address = address
            self.schema = schema
            self.patience = patience
            isProbe = false
            try connect()
        }

        /// Connects to one host, to find out whether it answers.
        private init(probing address: String, _ host: [String: String], patience: Patience) throws {
            self.address = address
            self.patience = patience
            isProbe = true
            try connect(to: host)
        }

        deinit { close() }

        /// Ends the connection. What was begun is rolled back.
        func close() {
            PQfinish(handle)
            handle = nil
        }

        /// Connects anew. What was begun is rolled back.
        func reconnect() throws {
            close()
            reset()
            (wasInterrupted, wasSilent, isProven) = (false, false, false)
            try connect()
        }

        /// - Parameter host: parameters of the host that is tried.
        private static func start(_ address: String, _ host: [String: String]) throws -> OpaquePointer {
            // Later parameters count.
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
            // Only verbose messages of a failed connection have a code.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            PQsetNoticeReceiver(handle, { _, _ in }, nil)
            try waitForConnection()
            PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
            // libpq would wait for a server that takes nothing, for ever.
            PQsetnonblocking(handle, 1)
            // Compiling statements to machine code takes longer than most of them run.
            let settings =
                "SET client_min_messages = warning; SET standard_conforming_strings = on; SET plan_cache_mode = auto; SET jit = off"
            // A server that takes over begins a new timeline, which is the first part of the names of its logs.
            let incarnation = """
                SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN (SELECT CAST(timeline_id AS TEXT) FROM pg_control_checkpoint())
                ELSE CAST(CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS BIT(32)) AS INTEGER) AS TEXT) END FROM pg_control_system()
                """
            self.incarnation = try row(
                "\(settings); \(Self.choice(of: schema)); \(incarnation)", isInterruptible: false
            ).joined(separator: " ")
            isProven = true
        }

        /// Makes texts mean the tables of a schema. Prepared statements stay; the server plans them anew.
        ///
        /// Not within a transaction, which would undo it.
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

        /// Seconds to wait for the server to answer, from the connection string.
        private var timeout: Int {
            guard let options = PQconninfo(handle) else { return 10 }
            defer { PQconninfoFree(options) }
            var option = options
            while let keyword = option.pointee.keyword {
                if strcmp(keyword, "connect_timeout") == 0 {
                    return option.pointee.val.flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil } ?? 10
                }
                option += 1
            }
            return 10
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
        /// An error has ended the transaction, except that it can be rolled back to a savepoint.
        var hasFailed: Bool { PQtransactionStatus(handle) == PQTRANS_INERROR }
        /// True if the server or the network ended the connection. It may have happened while nobody used it.
        var isLost: Bool {
            // Only the end, and what precedes it, comes without a question.
            for _ in 0..<8
            where PQstatus(handle) == CONNECTION_OK && Self.wait(for: POLLIN, on: handle, milliseconds: 0) > 0 {
                if PQconsumeInput(handle) == 1 { _ = PQisBusy(handle) }
            }
            return PQstatus(handle) != CONNECTION_OK
        }
        /// True if a read or write can begin.
        var isReady: Bool { !wasInterrupted && !isLost && PQtransactionStatus(handle) == PQTRANS_IDLE }

        /// Ends statements soon, until ``allow()``. Any thread may call this.
        func cancel() { isCancelled.store(true, ordering: .relaxed) }
        /// Allows statements again. To be called when a read or write takes the connection.
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
            // Commands may vary without limit.
            if texts.count > 2 * preparedLimit { texts = [:] }
            if isCached { texts[sql] = text }
            return text
        }

        /// Prepares a text for values of these types, unless it is.
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

        /// Forgets prepared statements before the next one is prepared.
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

        /// Cursors are closed by what comes now.
        func noteUndo() { undoCount += 1 }

        // MARK: Running

        /// Runs texts without parameters, one or more. Their rows are ignored.
        func execute(_ sql: String, isInterruptible: Bool = true) throws {
            let (isCommit, isRollback) = (sql.hasSuffix("COMMIT"), sql.hasPrefix("ROLLBACK"))
            if isCommit || isRollback { undoCount += 1 }
            // A rollback undoes what failed, unless that was before the savepoint.
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
            // A transaction that failed is rolled back, and no error says so.
            if isCommit, strcmp(PQcmdStatus(result), "COMMIT") != 0 {
                throw SQLError.failedTransaction
            }
        }

        /// Runs texts without parameters, and returns the rows of the last one. Values come as text; NULL is empty.
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

        /// What other connections have told since the last call, to one that listens.
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

        /// The process that serves the connection.
        var serverProcess: Int32 { PQbackendPID(handle) }
        /// For waiting until something comes.
        var socket: Int32 { PQsocket(handle) }

        /// Sends a statement and waits for its answer, which the caller must clear.
        /// - Parameter sql: for errors.
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
                // The first error counts.
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
                // A plan that changed tables made impossible, and a statement that a connection pool of the server's
                // side has forgotten.
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

        /// Waits until the next result is there.
        func waitForAnswer() throws {
            var isInterrupted = false
            try wait(&isInterrupted, isInterruptible: false)
        }

        /// Notes bytes that were handed to libpq, and waits if the server takes them more slowly.
        func sent(_ bytes: Int) throws {
            unsent += bytes
            if unsent < Self.unsentLimit { return }
            unsent = 0
            var silence = Silence(isProven ? patience.silence : patience.answer)
            while PQflush(handle) == 1 {
                // Its answers to earlier statements may be in the way.
                let events = Self.wait(for: POLLIN | POLLOUT, on: handle, milliseconds: 1000)
                if events & POLLIN != 0, PQconsumeInput(handle) == 0 { return }
                try checkSilence(events, &silence)
            }
        }

        /// Waits for the next result. Asks meanwhile whether to cancel the statement.
        /// - Throws: ``SQLError`` if the server is silent, and answers no other connection either. This one is closed
        ///   then.
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

        /// The time since the server last sent or took something.
        private struct Silence {
            let patience: Duration
            private var began = ContinuousClock.now

            init(_ patience: Duration) { self.patience = patience }

            var isOver: Bool { ContinuousClock.now - began >= patience }
            mutating func end() { began = .now }
        }

        /// The error of connections that a silent server takes.
        static let noAnswer = SQLError(.connectionLost, "08001", "the server takes connections, but does not answer")

        /// Takes the events of a wait. A statement may take any time, but a server that is silent for long must answer
        /// another connection.
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

        /// True if the server answers another connection, even with a refusal.
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

        /// The statement then ends with an error. It takes a connection of its own; if there is none, the statement
        /// goes on to its end.
        private func cancelOnServer() {
            wasInterrupted = true
            guard let handle, let cancel = PQgetCancel(handle) else { return }
            // A server that does not answer would keep this thread.
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
