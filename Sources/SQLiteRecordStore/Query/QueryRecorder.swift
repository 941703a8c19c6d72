internal import Foundation
internal import GRDB
internal import RecordStore
internal import Synchronization

/// Counts the index entries and records that a query reads, and keeps its statements.
///
/// Used only for explained queries. Other queries run their statements unchanged.
final class QueryRecorder {
    /// Counts all rows SQLite visits, including those that a later condition drops.
    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    private static let function = "skylight_seen"
    /// Maximum number of kept statements. Further ones of a search are similar.
    private static let statementLimit = 12

    private let counter = Counter()
    private let counting: DatabaseFunction
    var recordsRead = 0
    /// Entries read to choose a plan. They are included in the entries read.
    var entriesCounted = 0
    private var statements: [(text: String, values: [(any Bindable)?])] = []

    init() {
        counting = DatabaseFunction(Self.function, argumentCount: 1, pure: false) { [counter] _ in
            counter.count.add(1, ordering: .relaxed)
            return true
        }
    }

    var entriesRead: Int { counter.count.load(ordering: .relaxed) }

    /// Runs a query with counting enabled.
    func watch<Value>(_ db: Database, _ body: () throws -> Value) throws -> Value {
        db.add(function: counting)
        defer { db.remove(function: counting) }
        return try body()
    }

    /// An SQL condition that counts the index rows visited.
    static func condition(on name: String) -> String { " AND \(function)(\(name))" }

    func note(_ sql: String, _ values: [(any Bindable)?]) {
        let text = sql.replacing(/\ AND skylight_seen\([a-z.]+\)/, with: "")
        if statements.count < Self.statementLimit, !statements.contains(where: { $0.text == text }) { statements.append((text, values)) }
    }

    /// The statements with SQLite's query plans.
    func explained(_ db: Database) throws -> [QueryExplanation.Statement] {
        try statements.map { text, values in
            let plan = try db.rows("EXPLAIN QUERY PLAN \(text)", values, isCached: false) { row in
                var depths: [Int: Int] = [:]
                var plan: [String] = []
                // The columns are id, parent, a third that is unused, and detail.
                while try row.next() {
                    let depth = (depths[try row.value(1, in: "EXPLAIN")] ?? -1) + 1
                    depths[try row.value(0, in: "EXPLAIN")] = depth
                    plan.append(String(repeating: "  ", count: depth) + (try row.value(3, in: "EXPLAIN") as String))
                }
                return plan
            }
            return QueryExplanation.Statement(text: Self.onOneLine(text), plan: plan)
        }
    }

    private static func onOneLine(_ sql: String) -> String {
        sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
