/// Why a text is no schema of the schema language, and where.
public struct SchemaTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// From 1.
    public let line: Int
    /// In Unicode characters, from 1.
    public let column: Int
    /// What could stand there, such as `a field type`.
    public let expected: String
    /// What stands there, such as `'STRNG'` or `the end of the file`.
    public let found: String
    /// How to mend it, where that can be guessed: `did you mean STRING?`
    public let hint: String?
    /// The line without its end; of a very long one, what stands around the place.
    public let sourceLine: String
    /// Characters of ``sourceLine`` before the place.
    public let caretOffset: Int
    /// Where the words `expected` and `found` don't tell it: one sentence.
    private let problem: String?

    /// What is wrong, without where.
    public var reason: String {
        (problem ?? "expected \(expected), found \(found)") + (hint.map { "; \($0)" } ?? "")
    }

    /// One line: place and reason.
    public var message: String { "line \(line), column \(column): \(reason)" }

    /// ``sourceLine`` and below it the caret, in two lines.
    public var excerpt: String {
        // Tabs are as wide below as they are above.
        let indent = sourceLine.prefix(caretOffset).map { $0 == "\t" ? "\t" : " " as Character }
        return sourceLine + "\n" + String(indent) + "^"
    }

    public var description: String { message + "\n" + excerpt }

    /// What services answer.
    public var error: RecordError { RecordError(.badRequest, "The schema can't be read: \(message)") }

    /// Longest ``sourceLine``, in characters.
    static let excerptLimit = 160

    /// - Parameter offset: of the place in the text, in bytes.
    init(at offset: Int, of text: [UInt8], expected: String, found: String, hint: String? = nil, problem: String? = nil) {
        let offset = min(offset, text.count)
        let markEnd = SchemaLexer.byteOrderMarkEnd(text)
        let start = (0..<offset).last { SchemaLexer.endsLine(text, at: $0) }.map { $0 + 1 } ?? min(markEnd, offset)
        let end = text[offset...].firstIndex(where: SchemaLexer.endsLine) ?? text.count
        line = SchemaLexer.line(of: start, in: text)
        column = text[start..<offset].count { !Self.continuesCharacter($0) } + 1
        // Only as much of the line becomes text as is shown: it may be megabytes long.
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

    /// A text without what would do something to the terminal that it is shown on.
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
