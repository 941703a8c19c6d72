/// A parsed text in the schema language.
public struct SchemaText: Sendable {
    /// Errors in text order. Parsing stops after ``errorLimit`` errors.
    public let errors: [SchemaTextError]
    /// Notes on parts that were accepted but deserve attention. Only the first ones are kept.
    public let notes: [SchemaTextNote]
    /// Number of notes beyond ``notes``.
    public let moreNotes: Int
    private let parsed: Schema

    /// Maximum number of ``errors``.
    public static let errorLimit = 20
    /// Maximum number of ``notes``.
    public static let noteLimit = 20

    /// Parses the text of a schema file.
    public init(_ text: String) {
        self.init(utf8: Array(text.utf8))
    }

    /// - Parameter utf8: the bytes of a file. Invalid UTF-8 is an error, except in comments.
    public init(utf8: [UInt8]) {
        var parser = SchemaParser(utf8)
        parsed = parser.parse()
        errors = parser.errors.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
        notes = parser.notes
        moreNotes = parser.moreNotes
    }

    /// The parsed schema.
    /// - Throws: the first ``SchemaTextError``.
    public func schema() throws -> Schema {
        if let error = errors.first { throw error }
        return parsed
    }
}

extension Schema {
    /// Parses a schema in CloudKit's schema language (.ckdb), exported by Apple's tools or written by hand.
    ///
    /// Order and comments are not preserved. A type without GRANT lines has CloudKit's default grants. Anything
    /// missing in the text is missing in the schema, including the `Users` type.
    /// - Throws: the first ``SchemaTextError`` of the text.
    public init(text: String) throws {
        self = try SchemaText(text).schema()
    }
}

// MARK: - Errors

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
    init(at offset: Int, of text: [UInt8], expected: String, found: String, hint: String? = nil, problem: String? = nil)
    {
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
            let isHarmless =
                scalar == "\t"
                || ![.control, .format, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
            scalars.append(isHarmless ? scalar : "\u{FFFD}")
        }
        return String(scalars)
    }

    private static func continuesCharacter(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}

/// A note on schema text that was accepted, but that Apple's tools may refuse or that has no effect here.
public struct SchemaTextNote: Sendable, Hashable, CustomStringConvertible {
    /// Line number, starting at 1.
    public let line: Int
    /// Column in characters, starting at 1.
    public let column: Int
    /// One sentence.
    public let text: String

    public var description: String { "line \(line), column \(column): \(text)" }

    init(_ text: String, at place: SchemaTextError) {
        line = place.line
        column = place.column
        self.text = text
    }
}

// MARK: - Export

extension Schema {
    /// The schema in CloudKit's schema language (.ckdb), formatted like the export of Apple's tools: types by name,
    /// fields by name in aligned columns, then grants by role (Apple: "Integrating a text-based schema into your
    /// workflow").
    ///
    /// Equal schemas have equal texts, and parsing and printing such a text reproduces it exactly. The `Users` type,
    /// which each container has, is always included. Composite indexes, which CloudKit does not have, are not.
    public var text: String {
        var statements = roles.sorted().map { "    CREATE ROLE \(Self.quoted($0));\n" }
        if !statements.isEmpty { statements = [statements.joined()] }
        let types =
            self.types[Self.usersType] == nil
            ? self.types.merging([Self.usersType: Self.users]) { own, _ in own } : self.types
        for type in types.values.sorted(by: { $0.name < $1.name }) {
            let items = type.itemLines.map { "        \($0)" }.joined(separator: ",\n")
            statements.append("    RECORD TYPE \(Self.quoted(type.name)) (\n\(items)\n    );\n")
        }
        return "DEFINE SCHEMA\n\n" + statements.joined(separator: "\n")
    }

    /// Words that must be quoted when used as names.
    static let reservedWords: Set<String> = ["grant", "preferred", "queryable", "sortable", "searchable"]

    /// A name in the schema language: in double quotes unless it is a plain identifier.
    public static func quoted(_ name: Name) -> String {
        let isPlain = name.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): index > 0
            default: false
            }
        }
        return isPlain && !name.isEmpty && !reservedWords.contains(name.string.lowercased())
            ? name.string : "\"\(name)\""
    }
}

extension FieldDefinition {
    /// The declaration of a field without its name in the schema language: `STRING QUERYABLE SORTABLE`.
    public var schemaText: String {
        ([type.schemaName] + indexes.union(idleIndexes).names).joined(separator: " ")
    }
}

extension Grant {
    /// The grant in the schema language: `GRANT READ, WRITE TO "_creator"`.
    public var schemaText: String {
        let names = Permission.allCases.filter(permissions.contains).map(\.rawValue)
        return "GRANT \(names.joined(separator: ", ")) TO \(Schema.quoted(role))"
    }
}

extension RecordType {
    fileprivate var itemLines: [String] {
        let shown = Set(SystemField.implicit).union(systemIndexes.filter { !$0.value.isEmpty }.keys)
        let rows =
            fields.map { (name: $0.key, definition: $0.value) }
            + shown.compactMap { field in
                definition(of: .system(field)).map { (name: field.schemaName, definition: $0) }
            }
        // Quotes don't affect the order, as in Apple's export: quoted `___` names are sorted like the others.
        let cells = rows.sorted { $0.name < $1.name }.map {
            (name: Schema.quoted($0.name), declaration: $0.definition.schemaText)
        }
        let width = cells.map(\.name.utf8.count).max() ?? 0
        let fieldLines = cells.map {
            $0.name + String(repeating: " ", count: width - $0.name.utf8.count + 1) + $0.declaration
        }
        return fieldLines + Grant.canonical(grants).map(\.schemaText)
    }
}
