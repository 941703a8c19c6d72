#if PostgreSQL
    internal import CPostgreSQL
    internal import Foundation

    // Pipelining: a statement without rows is sent, and its answer is read later, with the next statement that has
    // rows or with the commit. So a batch does not need a round trip for each statement. If the statement fails, the
    // later one throws its error.

    extension PostgreSQLConnection {
        /// Maximum number of statements whose answers have not been read. The server buffers these answers.
        private static let postLimit = 256
        private static let commit = "COMMIT"

        /// Sends a statement that returns no rows, without waiting for its answer.
        /// - Parameters:
        ///   - sql: the text of the statement, for error messages.
        ///   - bytes: the size of its values.
        /// - Throws: ``SQLError``, possibly of an earlier statement.
        func post(_ sql: String, bytes: Int = 0, _ send: (OpaquePointer) -> Int32) throws {
            try throwLateFailure()
            if posted.count >= Self.postLimit { try settle() }
            guard let handle, PQpipelineStatus(handle) != PQ_PIPELINE_OFF || PQenterPipelineMode(handle) == 1,
                send(handle) == 1
            else {
                throw SQLError.failure(of: handle, sql)
            }
            posted.append(sql)
            try sent(sql.utf8.count + bytes)
        }

        /// Sends a text without parameters that returns no rows, without waiting for its answer.
        func post(_ sql: String) throws {
            try post(sql) { PQsendQueryParams($0, sql, 0, nil, nil, nil, nil, 1) }
        }

        /// Sends these statements and a commit, and waits for the answers of all statements sent so far.
        func commit(_ statements: [String]) throws {
            noteUndo()
            for statement in statements + [Self.commit] { try post(statement) }
            try settle()
        }

        /// Waits for the answers of all statements that were sent.
        /// - Throws: ``SQLError`` of the first one that failed. The server has not executed the statements after it.
        func settle() throws {
            try throwLateFailure()
            if !posted.isEmpty { _ = try readAnswers(andOf: nil) }
        }

        /// Like ``settle()`` where no error can be thrown. The next statement throws the error instead.
        func settleLater() {
            do { try settle() } catch { lateFailure = error }
        }

        private func throwLateFailure() throws {
            guard let failure = lateFailure else { return }
            lateFailure = nil
            throw failure
        }

        /// Sends one more statement, and waits for all answers.
        /// - Returns: the answer of the last statement, which the caller must clear.
        func settle(andThen sql: String?, _ send: (OpaquePointer) -> Int32) throws -> OpaquePointer {
            try throwLateFailure()
            guard let handle, send(handle) == 1 else { throw SQLError.failure(of: handle, sql) }
            guard let answer = try readAnswers(andOf: .some(sql)) else { throw SQLError.failure(of: handle, sql) }
            return answer
        }

        /// - Parameter last: the text of the last statement, for error messages.
        private func readAnswers(andOf last: String??) throws -> OpaquePointer? {
            defer {
                posted = []
                PQexitPipelineMode(handle)
            }
            guard PQpipelineSync(handle) == 1 else { throw SQLError.failure(of: handle, nil) }
            var failure: SQLError?
            for sql in posted {
                let result = try nextAnswer(sql)
                defer { PQclear(result) }
                failure = failure ?? self.failure(in: result, sql)
                noteChanges(result)
            }
            var answer: OpaquePointer?
            if let last {
                let result = try nextAnswer(last)
                failure = failure ?? self.failure(in: result, last)
                noteChanges(result)
                answer = result
            }
            do {
                // The end of the pipeline.
                PQclear(try nextAnswer(nil))
            } catch {
                PQclear(answer)
                throw error
            }
            guard let failure else { return answer }
            PQclear(answer)
            if ["0A000", "26000"].contains(failure.code) { forgetSoon() }
            throw failure
        }

        /// The answer of one statement.
        private func nextAnswer(_ sql: String?) throws -> OpaquePointer {
            try waitForAnswer()
            guard let result = PQgetResult(handle) else { throw SQLError.failure(of: handle, sql) }
            if PQresultStatus(result) == PGRES_PIPELINE_SYNC { return result }
            // libpq returns NULL after the results of each statement, but not after the end of the pipeline.
            do {
                repeat { try waitForAnswer() } while Self.dropAnswer(of: handle)
            } catch {
                PQclear(result)
                throw error
            }
            return result
        }

        private static func dropAnswer(of handle: OpaquePointer?) -> Bool {
            guard let more = PQgetResult(handle) else { return false }
            PQclear(more)
            return true
        }

        private func failure(in result: OpaquePointer, _ sql: String?) -> SQLError? {
            if ![PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_ABORTED].contains(
                PQresultStatus(result))
            {
                return SQLError.failure(result, of: handle, sql)
            }
            // COMMIT of a failed transaction rolls it back without an error.
            if sql == Self.commit, PQresultStatus(result) == PGRES_COMMAND_OK,
                strcmp(PQcmdStatus(result), Self.commit) != 0
            {
                return .failedTransaction
            }
            return nil
        }
    }

    extension SQLError {
        static let failedTransaction = SQLError(
            .other, "25P02", "the transaction can't be committed, because a statement of it failed", "COMMIT")
    }
#endif
