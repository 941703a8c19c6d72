internal import JSON

/// One value of a row before its type is determined.
enum Cell: Sendable, Hashable {
    /// A value from CSV, where any type is written as text.
    case text(String)
    /// A value from JSON, where strings are distinct from other types.
    case json(JSONValue)

    /// True for an empty text and a JSON null, which mean no value.
    var isEmpty: Bool {
        switch self {
        case .text(let text): text.isEmpty
        case .json(let json): json == .null
        }
    }

    /// The beginning of the value, for messages.
    var shown: String {
        let text =
            switch self {
            case .text(let text): "'\(text)'"
            case .json(let json): String(decoding: JSONWriter.bytes(of: json), as: UTF8.self)
            }
        return text.count > 60 ? text.prefix(60) + "…" : text
    }
}

/// One row of a file: its cells by column name.
struct Row: Sendable {
    /// The line at which the row begins, counted from 1.
    let line: Int
    let cells: [(column: Name, cell: Cell)]
}

/// A row, or the reason why a line has no valid row.
enum RowOutcome: Sendable {
    case row(Row)
    case bad(line: Int, reason: String)
}
