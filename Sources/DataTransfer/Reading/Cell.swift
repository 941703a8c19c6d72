internal import JSON

/// One value of a row before its type is settled.
enum Cell: Sendable, Hashable {
    /// From a CSV file, where everything is text and may mean anything.
    case text(String)
    /// From JSON, where a string is a string.
    case json(JSONValue)

    /// An empty cell and a JSON null are no value.
    var isEmpty: Bool {
        switch self {
        case .text(let text): text.isEmpty
        case .json(let json): json == .null
        }
    }
}

/// One row of a file: its cells by the names of their columns.
struct Row: Sendable {
    /// The line on which the row begins, counted from 1.
    let line: Int
    let cells: [(column: Name, cell: Cell)]
}

/// A row, or why a line holds none.
enum RowOutcome: Sendable {
    case row(Row)
    case bad(line: Int, reason: String)
}
