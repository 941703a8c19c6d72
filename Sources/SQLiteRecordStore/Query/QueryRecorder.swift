internal import Foundation
internal import GRDB
internal import RecordStore
internal import Synchronization

/// Watches a query being answered: counts the index entries and records that are looked at, and keeps the statements.
///
/// A query that nobody watches has none, and runs its statements as they are.
final class QueryRecorder {
    /// Counts the rows that SQLite comes by, those that a later condition of the statement drops included.
    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    private static let function = "skylight_seen"
    /// Statements that are kept; the later ones of a search are like those before.
    private static let statementLimit = 12

    private let counter = Counter()
    private let counting: DatabaseFunction
    var recordsRead = 0
    /// Entries that were counted to choose a way, and are among the entries read.
    var entriesCounted = 0
    private var statements: [(text: String, arguments: StatementArguments)] = []

    init() {
        counting = DatabaseFunction(Self.function, argumentCount: 1, pure: false) { [counter] _ in
            counter.count.add(1, ordering: .relaxed)
            return true
        }
    }

    var entriesRead: Int { counter.count.load(ordering: .relaxed) }

    /// Runs a query that is watched.
    func watch<Value>(_ db: Database, _ body: () throws -> Value) throws -> Value {
        db.add(function: counting)
        defer { db.remove(function: counting) }
        return try body()
    }

    /// A condition that counts the rows of an index.
    static func condition(on name: String) -> String { " AND \(function)(\(name))" }

    func note(_ sql: String, _ arguments: StatementArguments) {
        let text = sql.replacing(/\ AND skylight_seen\([a-z.]+\)/, with: "")
        if statements.count < Self.statementLimit, !statements.contains(where: { $0.text == text }) { statements.append((text, arguments)) }
    }

    /// The statements with SQLite's own plans.
    func explained(_ db: Database) throws -> [QueryExplanation.Statement] {
        try statements.map { text, arguments in
            var depths: [Int: Int] = [:]
            let rows = try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(text)", arguments: arguments)
            let plan = try rows.map { row in
                let values = row.values(of: "EXPLAIN")
                let depth = (depths[try values("parent")] ?? -1) + 1
                depths[try values("id")] = depth
                return String(repeating: "  ", count: depth) + (try values("detail") as String)
            }
            return QueryExplanation.Statement(text: Self.onOneLine(text), plan: plan)
        }
    }

    private static func onOneLine(_ sql: String) -> String {
        sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
