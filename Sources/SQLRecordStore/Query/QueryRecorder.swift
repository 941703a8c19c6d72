internal import Foundation
internal import RecordStore
internal import Synchronization

/// Counts the index entries and records that a query reads, and keeps its statements.
///
/// Used only for explained queries. Other queries run their statements unchanged.
final class QueryRecorder {
    /// Counts all rows that the database visits, including those that a later condition drops.
    private final class Counter: Sendable {
        let count = Atomic<Int>(0)
    }

    static let function = "skylight_seen"
    /// Maximum number of kept statements. Further ones of a search are similar.
    private static let statementLimit = 12

    private let counter = Counter()
    var recordsRead = 0
    /// Entries read to choose a plan. They are included in the entries read.
    var entriesCounted = 0
    private var statements: [(text: String, values: [(any Bindable)?])] = []

    var entriesRead: Int { counter.count.load(ordering: .relaxed) }

    /// Runs a query with counting enabled.
    func watch<Value>(_ db: SQLConnection, _ body: () throws -> Value) throws -> Value {
        try db.driver.counting({ [counter] in counter.count.add(1, ordering: .relaxed) }, body)
    }

    /// An SQL condition that counts the index rows visited.
    static func condition(on name: String) -> String { " AND \(function)(\(name))" }

    func note(_ sql: String, _ values: [(any Bindable)?]) {
        let text = sql.replacing(/\ AND skylight_seen\([a-z.]+\)/, with: "")
        if statements.count < Self.statementLimit, !statements.contains(where: { $0.text == text }) { statements.append((text, values)) }
    }

    /// The statements with the database's plans.
    func explained(_ db: SQLConnection) throws -> [QueryExplanation.Statement] {
        try statements.map { text, values in
            QueryExplanation.Statement(text: Self.onOneLine(text), plan: try db.driver.plan(of: text, values, on: db))
        }
    }

    private static func onOneLine(_ sql: String) -> String {
        sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
