import Foundation
import JSON
import Records
import Text

/// The unbuffered output of commands, so that programs that read it get each line immediately.
enum Output {
    /// Prints a line of the result on standard output.
    static func say(_ line: String) {
        // If the pipe is closed, there is no reader to report the error to.
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Prints the result as JSON on standard output.
    static func say(_ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        say(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// Prints a note on standard error.
    static func note(_ line: String) {
        write(line + "\n")
    }

    /// Prints text without a line end on standard error.
    static func write(_ text: String) {
        // There is no other place to report the error.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// True if standard error is a terminal.
    static var isWatched: Bool { isatty(STDERR_FILENO) == 1 }

    /// A number with grouped thousands.
    static func grouped(_ number: Int) -> String {
        var digits = String(number.magnitude)
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (number < 0 ? "-" : "") + ([digits] + groups).joined(separator: ",")
    }

    /// `1 file`, `12 files`.
    static func files(_ count: Int) -> String {
        "\(grouped(count)) file\(count == 1 ? "" : "s")"
    }

    /// A time in UTC, to the minute.
    static func moment(_ moment: Timestamp) -> String {
        let time = UTCTime(milliseconds: moment.milliseconds)
        return "\(time.dateText) \(time.timeText.prefix(5))"
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
