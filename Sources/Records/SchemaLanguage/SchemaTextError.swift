/// An error in a schema text, with its place.
public struct SchemaTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Line number, starting at 1.
    public let line: Int
    /// Column in Unicode characters, starting at 1.
    public let column: Int
    /// Description of what is expected, such as `a field type`.
    public let expected: String
    /// Description of what was found, such as `'STRNG'` or `the end of the file`.
    public let found: String
    /// A suggestion, if there is one: `did you mean STRING?`
    public let hint: String?
    /// The line without its end; for a very long line, the part around the error.
    public let sourceLine: String
    /// Number of characters of ``sourceLine`` before the error.
    public let caretOffset: Int
    /// A sentence that replaces the text made of `expected` and `found`.
    private let problem: String?

    /// The error without its place.
    public var reason: String {
        (problem ?? "expected \(expected), found \(found)") + (hint.map { "; \($0)" } ?? "")
    }

    /// Place and error in one line.
    public var message: String { "line \(line), column \(column): \(reason)" }

    /// ``sourceLine`` and a line with a caret below it.
    public var excerpt: String {
        // Tabs are repeated, so that the caret is aligned.
        let indent = sourceLine.prefix(caretOffset).map { $0 == "\t" ? "\t" : " " as Character }
        return sourceLine + "\n" + String(indent) + "^"
    }

    public var description: String { message + "\n" + excerpt }

    /// The error reported by services.
    public var error: RecordError { RecordError(.badRequest, "The schema can't be read: \(message)") }

    /// Maximum length of ``sourceLine`` in characters.
    static let excerptLimit = 160

    /// - Parameter offset: offset of the error in the text, in bytes.
    init(at offset: Int, of text: [UInt8], expected: String, found: String, hint: String? = nil, problem: String? = nil) {
        let offset = min(offset, text.count)
        let markEnd = SchemaLexer.byteOrderMarkEnd(text)
        let start = (0..<offset).last { SchemaLexer.endsLine(text, at: $0) }.map { $0 + 1 } ?? min(markEnd, offset)
        let end = text[offset...].firstIndex(where: SchemaLexer.endsLine) ?? text.count
        line = SchemaLexer.line(of: start, in: text)
        column = text[start..<offset].count { !Self.continuesCharacter($0) } + 1
        // Only the shown part is decoded, because the line may be megabytes long.
        let shown = Self.excerptLimit / 2
        var first = max(start, offset - 4 * shown)
        while first < offset, first > start, Self.continuesCharacter(text[first]) { first += 1 }
        let before = Self.printable(String(decoding: text[first..<offset], as: UTF8.self))
        let after = Self.printable(String(decoding: text[offset..<min(end, offset + 4 * shown)], as: UTF8.self))
        let (shownBefore, shownAfter) = (before.suffix(shown), after.prefix(shown))
        let isCutBefore = first > start || shownBefore.count < before.count
        sourceLine = (isCutBefore ? "…" : "") + shownBefore + shownAfter + (shownAfter.count < after.count ? "…" : "")
        caretOffset = shownBefore.count + (isCutBefore ? 1 : 0)
        self.expected = expected
        self.found = found
        self.hint = hint
        self.problem = problem
    }

    /// The text without characters that could control a terminal.
    static func printable(_ text: some StringProtocol) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            let isHarmless = scalar == "\t" || ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            scalars.append(isHarmless ? scalar : "\u{FFFD}")
        }
        return String(scalars)
    }

    private static func continuesCharacter(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}
