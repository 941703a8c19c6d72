#if PostgreSQL
    internal import CPostgreSQL

    extension SQLError {
        /// The error in a result.
        static func failure(_ result: OpaquePointer, of connection: OpaquePointer?, _ sql: String?) -> SQLError {
            func field(_ code: UInt8) -> String? { PQresultErrorField(result, Int32(code)).map { String(cString: $0) } }
            // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY. The details may contain values, and are left out.
            guard let state = field(UInt8(ascii: "C")) else { return failure(of: connection, sql) }
            let cause = PQstatus(connection) == CONNECTION_OK ? cause(of: state) : .connectionLost
            return SQLError(cause, state, field(UInt8(ascii: "M")) ?? "an error of the database", sql)
        }

        /// The error of a connection that returned no result.
        static func failure(of connection: OpaquePointer?, _ sql: String?) -> SQLError {
            let isLost = PQstatus(connection) != CONNECTION_OK
            return SQLError(
                isLost ? .connectionLost : .other, isLost ? "08006" : "", message(of: connection), sql, isForLog: isLost
            )
        }

        /// The error of a failed attempt to connect. Only libpq's verbose message contains a code.
        static func failureToConnect(_ connection: OpaquePointer?) -> SQLError {
            let message = message(of: connection)
            guard let match = message.firstMatch(of: #/:\s+([0-9][0-9A-Z]{4}): /#) else {
                return SQLError(.connectionLost, "08001", message, isForLog: true)
            }
            let state = String(match.1)
            let cause = cause(of: state)
            let end = message.firstRange(of: "; LOCATION")?.lowerBound ?? message.endIndex
            return SQLError(
                cause == .other ? .cannotOpen : cause, state, String(message[..<end]).replacing(match.0, with: ": "),
                isForLog: true)
        }

        private static func message(of connection: OpaquePointer?) -> String {
            let lines = PQerrorMessage(connection).map { String(cString: $0).split(whereSeparator: \.isNewline) } ?? []
            return lines.isEmpty
                ? "there is no connection"
                : lines.map { $0.trimmingPrefix(while: \.isWhitespace) }.joined(separator: "; ")
        }

        /// - Parameter state: a SQLSTATE.
        private static func cause(of state: String) -> Cause {
            switch state {
            case "53100": .full
            // Too many connections, a lock that another transaction holds, and a statement that exceeded the
            // administrator's limits.
            case "53300", "55P03", "57014": .busy
            case "40001", "40P01": .conflict
            case "25006": .readOnly
            case "3D000", "3F000": .cannotOpen
            case "58030", "58P01": .disk
            case "XX001", "XX002": .damaged
            case "42P01", "42703": .noTable
            case "57P01", "57P02", "57P03": .connectionLost
            default: state.hasPrefix("08") ? .connectionLost : state.hasPrefix("28") ? .cannotOpen : .other
            }
        }
    }
#endif
