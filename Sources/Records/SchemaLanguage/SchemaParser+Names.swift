internal import JSON

extension SchemaParser {
    enum Named: String {
        case role
        case recordType = "record type"
        case field

        var limit: Int {
            switch self {
            case .role, .recordType: RecordType.nameLimit
            case .field: Field.nameLimit
            }
        }
    }

    /// Parses a quoted or unquoted name.
    mutating func readName(of named: Named) throws(SchemaTextError) -> Name {
        let (kind, place) = (token.kind, token.range.lowerBound)
        guard kind == .word || kind == .quoted else { throw unexpected("the name of a \(named.rawValue)") }
        let text = tokenText
        let name = Name(kind == .quoted ? text.dropFirst().dropLast() : text[...])
        if kind == .word, Schema.reservedWords.contains(text.lowercased()) {
            throw unexpected("the name of a \(named.rawValue)", hint: "as a name the word needs double quotes")
        }
        if let rule = broken(name, of: named) {
            let shown = SchemaTextError.printable(name.string.prefix(80))
            throw error(
                at: place, expected: "the name of a \(named.rawValue)", found: name.isEmpty ? "\"\"" : "'\(shown)'",
                problem: "'\(shown)' can't be the name of a \(named.rawValue): \(rule)")
        }
        if kind == .word, Schema.quoted(name) != text { note("Apple's tools want the name \(name) in double quotes", at: place) }
        advance()
        return name
    }

    /// The rule that a name violates; `nil` if it is valid.
    private func broken(_ name: Name, of named: Named) -> String? {
        if named == .role, name.hasPrefix("_") {
            return Grant.systemRoles.contains(name) ? nil : "of the roles that begin with _ there are \(Grant.systemRoles.sorted().map(\.string).joined(separator: ", "))"
        }
        if named == .field, name.hasPrefix("___") {
            if SystemField(rawValue: name.string) != nil { return nil }
            let hint = Spelling.guess(name.string, among: SystemField.allCases.map(\.rawValue)).map { ", did you mean \($0)?" } ?? ""
            return "names that begin with ___ are CloudKit's own" + hint
        }
        if name.utf8.count > named.limit { return "it is longer than \(named.limit) bytes" }
        guard let first = name.utf8.first, Self.isLetter(first), name.utf8.allSatisfy(Self.isNamePart) else {
            return "it must start with a letter and contain only letters, digits, _ and dots"
        }
        return nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    /// Includes dots, which names of system types and fields contain.
    private static func isNamePart(_ byte: UInt8) -> Bool {
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
    }
}
