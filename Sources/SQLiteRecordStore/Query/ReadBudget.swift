internal import GRDB
internal import GRDBSQLite

/// Limits what a query may read on the thread of its request. Most queries need little, and moving them to another
/// thread would cost more than reading a page. Other requests wait for this thread, so a query that needs more starts
/// again among the long reads.
final class ReadBudget {
    /// Thrown when a query needs more.
    struct Exceeded: Error {}

    /// Steps of SQLite's virtual machine, some 30 to a record, between two calls of the handler.
    private static let stepsPerCall: Int32 = 1000
    private static let callLimit = 30
    private static let byteLimit = 1 << 20
    /// A cold file is read more slowly than its steps tell.
    private static let timeLimit = Duration.milliseconds(20)

    private let start = ContinuousClock.now
    private var calls = 0
    private var isExceeded = false
    private var bytes = 0

    /// - Throws: ``Exceeded``, or the error of `body`.
    static func limiting<Value>(_ db: Database, _ body: (ReadBudget) throws -> Value) throws -> Value {
        let budget = ReadBudget()
        return try withExtendedLifetime(budget) {
            sqlite3_progress_handler(
                db.sqliteConnection, stepsPerCall,
                { context in
                    guard let context else { return 0 }
                    let budget = Unmanaged<ReadBudget>.fromOpaque(context).takeUnretainedValue()
                    budget.calls += 1
                    if budget.calls > ReadBudget.callLimit || ContinuousClock.now - budget.start > ReadBudget.timeLimit { budget.isExceeded = true }
                    return budget.isExceeded ? 1 : 0
                }, Unmanaged.passUnretained(budget).toOpaque())
            defer { sqlite3_progress_handler(db.sqliteConnection, 0, nil, nil) }
            do {
                return try body(budget)
            } catch where budget.isExceeded {
                throw Exceeded()
            }
        }
    }

    /// Counts the fields of a record that was read.
    /// - Throws: ``Exceeded``.
    func spend(_ size: Int) throws {
        bytes += size
        if bytes > Self.byteLimit { throw Exceeded() }
    }
}
