import JSON

extension Output {
    /// Prints a result as JSON.
    static func say(json value: JSONValue) {
        say(String(decoding: JSONWriter.bytes(of: value), as: UTF8.self))
    }

    /// Prints a table with a header row and aligned columns.
    static func say(table rows: [[String]]) {
        var widths = Array(repeating: 0, count: rows.map(\.count).max() ?? 0)
        for row in rows {
            for (index, cell) in row.enumerated() { widths[index] = max(widths[index], cell.count) }
        }
        for row in rows {
            let cells = row.enumerated().map { index, cell in
                index == row.count - 1 ? cell : cell + String(repeating: " ", count: widths[index] - cell.count)
            }
            say(cells.joined(separator: "  "))
        }
    }
}
