
/// Limits what a query may read on the thread of its request. Most queries need little, and moving them to another
/// thread would cost more than reading a page. Other requests wait for this thread, so a query that needs more starts
/// again among the long reads.
final class ReadBudget {
    /// Thrown when a query needs more.
    struct Exceeded: Error {}

    /// Questions of the driver, which come with the work that a statement does.
    private static let callLimit = 30
    private static let byteLimit = 1 << 20
    /// A cold file is read more slowly than its steps tell.
    private static let timeLimit = Duration.milliseconds(20)

    private let start = ContinuousClock.now
    private var calls = 0
    private var isExceeded = false
    private var bytes = 0

    /// - Throws: ``Exceeded``, or the error of `body`.
    static func limiting<Value>(_ db: SQLConnection, _ body: (ReadBudget) throws -> Value) throws -> Value {
        let budget = ReadBudget()
        do {
            return try db.driver.limiting({ budget.isSpent }) { try body(budget) }
        } catch where budget.isExceeded {
            throw Exceeded()
        }
    }

    /// Notes that the database has worked some more.
    private var isSpent: Bool {
        calls += 1
        if calls > Self.callLimit || ContinuousClock.now - start > Self.timeLimit { isExceeded = true }
        return isExceeded
    }

    /// Counts the fields of a record that was read.
    /// - Throws: ``Exceeded``.
    func spend(_ size: Int) throws {
        bytes += size
        if bytes > Self.byteLimit { throw Exceeded() }
    }
}
