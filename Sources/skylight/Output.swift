import Foundation
import JSON

/// What the command says. Nothing is held back in a buffer, so that a program that reads along sees each line at once.
enum Output {
    /// A line of the result, on standard output.
    static func say(_ line: String) {
        // Nobody reads on: there is nobody to tell either.
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The result as JSON, on standard output.
    static func say(_ members: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        writer.object(members)
        say(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// A line about the result, on standard error.
    static func note(_ line: String) {
        write(line + "\n")
    }

    /// Text without a line's end, on standard error.
    static func write(_ text: String) {
        // There is nowhere else to say it.
        try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
    }

    /// Whether standard error is a terminal that a person may be watching.
    static var isWatched: Bool { isatty(STDERR_FILENO) == 1 }

    /// A number with its thousands set apart.
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
}
