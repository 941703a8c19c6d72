internal import GRDB

extension SQLError {
    /// Statements are interrupted only for a cancelled task, or to keep a limit.
    static func failure(_ error: DatabaseError) -> any Error {
        error.resultCode == .SQLITE_INTERRUPT ? CancellationError() : SQLError(error)
    }

    init(_ error: DatabaseError) {
        self.init(Self.cause(of: error), "\(error.extendedResultCode)", error.message ?? "an error of the database", error.sql)
    }

    private static func isOfLogIndex(_ code: ResultCode) -> Bool { code == .SQLITE_IOERR_SHMOPEN || code == .SQLITE_IOERR_SHMSIZE }

    private static func cause(of error: DatabaseError) -> Cause {
        // The log's index (`-shm`) holds no data. If it can't grow, the commit does not count even if it is in the log. The next commit overwrites
        // it there. SQLite reports this as an I/O error.
        if isOfLogIndex(error.extendedResultCode) { return .full }
        if error.extendedResultCode == .SQLITE_IOERR_GETTEMPPATH { return .noTemporaryFolder }
        return switch error.resultCode {
        case .SQLITE_FULL: .full
        case .SQLITE_BUSY: .busy
        case .SQLITE_READONLY: .readOnly
        case .SQLITE_CANTOPEN: .cannotOpen
        case .SQLITE_IOERR: .disk
        case .SQLITE_CORRUPT, .SQLITE_NOTADB: .damaged
        // Other statement errors are not caused by the file.
        case .SQLITE_ERROR:
            ["no such table", "no such column", "malformed database schema"].contains { error.message?.hasPrefix($0) == true } ? .noTable : .other
        default: .other
        }
    }
}

extension SQLError {
    /// Runs `body` and converts GRDB's errors.
    static func catching<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch let error as DatabaseError { throw failure(error) }
    }

    /// Runs `body` and converts GRDB's errors.
    static func catching<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as DatabaseError { throw failure(error) }
    }
}
