/// Parses the schema language.
///
/// After an error it continues with the next field or statement, so that all errors of a file are reported.
struct SchemaParser {
    private(set) var errors: [SchemaTextError] = []
    private(set) var notes: [SchemaTextNote] = []
    /// Number of notes that were not kept.
    private(set) var moreNotes = 0

    private var lexer: SchemaLexer
    private(set) var token: SchemaLexer.Token
    /// End of the previous token.
    private(set) var previousEnd = 0

    private var schema = Schema()
    private var typePlaces: [Name: Int] = [:]
    private var rolePlaces: [Name: Int] = [:]
    /// Roles named in grants, with the offset of their first use.
    private var grantedRoles: [Name: Int] = [:]

    init(_ text: [UInt8]) {
        lexer = SchemaLexer(text)
        token = lexer.next()
    }

    /// Parses the text. The result is meaningless if there are errors.
    mutating func parse() -> Schema {
        do {
            try readStart()
        } catch {
            // A text without the start of a schema is probably not a schema at all.
            errors.append(error)
            return schema
        }
        while token.kind != .end, canGoOn {
            do {
                try readStatement()
            } catch {
                fail(error)
                while token.kind != .end, token.kind != .semicolon { advance() }
                advance()
            }
        }
        checkRoles()
        return schema
    }

    private var canGoOn: Bool { errors.count < SchemaText.errorLimit }

    private mutating func readStart() throws(SchemaTextError) {
        if lexer.text.starts(with: [0xFF, 0xFE]) || lexer.text.starts(with: [0xFE, 0xFF]) {
            throw error(at: 0, expected: "DEFINE SCHEMA", found: "UTF-16", hint: "save the file as UTF-8")
        }
        try read("DEFINE", expected: "DEFINE SCHEMA")
        try read("SCHEMA", expected: "SCHEMA")
    }

    private mutating func readStatement() throws(SchemaTextError) {
        if isWord("CREATE") {
            advance()
            try read("ROLE", expected: "ROLE")
            try readRole()
        } else if isWord("RECORD") {
            advance()
            try read("TYPE", expected: "TYPE")
            try readType()
        } else {
            throw unexpected("RECORD TYPE or CREATE ROLE")
        }
        if token.kind == .end {
            note("Apple's tools want a ; after it", at: previousEnd)
        } else {
            try read(.semicolon, expected: "';'")
        }
    }

    private mutating func readRole() throws(SchemaTextError) {
        let place = token.range.lowerBound
        let role = try readName(of: .role)
        if Grant.systemRoles.contains(role) {
            throw error(
                at: place, expected: "a name of your own", found: "'\(role)'",
                problem: "the role '\(role)' is built into CloudKit")
        }
        if let first = rolePlaces[role] { throw twice("role", role, at: place, first: first) }
        rolePlaces[role] = place
        schema.roles.insert(role)
    }

    private mutating func readType() throws(SchemaTextError) {
        let place = token.range.lowerBound
        var draft = RecordTypeDraft(name: try readName(of: .recordType))
        if let first = typePlaces[draft.name] { fail { $0.twice("record type", draft.name, at: place, first: first) } }
        typePlaces[draft.name] = place
        // Keeps the valid part of a type, to avoid follow-up errors.
        defer { schema.types[draft.name] = draft.type }
        try read(.openParenthesis, expected: "'('")
        while token.kind != .closeParenthesis, canGoOn {
            do {
                try readItem(of: &draft)
            } catch {
                fail(error)
                skipItem()
                guard canGoOn, token.kind == .comma || token.kind == .closeParenthesis else { return }
            }
            guard token.kind == .comma else { break }
            let comma = token.range.lowerBound
            advance()
            if token.kind == .closeParenthesis { note("Apple's tools may refuse a comma before the )", at: comma) }
        }
        if canGoOn { try read(.closeParenthesis, expected: "',' or ')'") }
    }

    /// Skips the rest of an invalid item up to a parenthesis or a comma at the end of a line. Other commas may be
    /// inside the item.
    private mutating func skipItem() {
        while true {
            switch token.kind {
            case .end, .closeParenthesis, .semicolon: return
            case .comma:
                var ahead = lexer
                let next = ahead.next()
                if lexer.text[token.range.lowerBound..<next.range.lowerBound].contains(where: SchemaLexer.endsLine) {
                    return
                }
                advance()
            default: advance()
            }
        }
    }

    /// Checks roles at the end, because they may be created after their grants.
    private mutating func checkRoles() {
        for (role, place) in grantedRoles.sorted(by: { $0.value < $1.value })
        where canGoOn && !schema.roles.contains(role) && !Grant.systemRoles.contains(role) {
            let known = Grant.systemRoles.map(\.string) + schema.roles.sorted().map(\.string)
            let hint =
                Spelling.guess(role.string, among: known).map { "did you mean \"\($0)\"?" }
                ?? "add CREATE ROLE \(Schema.quoted(role)); above"
            fail {
                $0.error(
                    at: place, expected: "a role", found: "'\(role)'", hint: hint, problem: "there is no role '\(role)'"
                )
            }
        }
    }

    mutating func noteGrant(to role: Name, at place: Int) {
        if grantedRoles[role] == nil { grantedRoles[role] = place }
    }

    // MARK: Tokens

    mutating func advance() {
        previousEnd = token.range.upperBound
        token = lexer.next()
    }

    /// True if the token is the first on its line.
    var startsLine: Bool { lexer.text[previousEnd..<token.range.lowerBound].contains(where: SchemaLexer.endsLine) }

    /// The text of the token.
    var tokenText: String { String(decoding: lexer.text[token.range], as: UTF8.self) }

    /// True if the token is this keyword, ignoring case.
    func isWord(_ keyword: String) -> Bool {
        token.kind == .word
            && lexer.text[token.range].elementsEqual(keyword.utf8) {
                $0 == $1 || $0 ^ 0x20 == $1 && $1 >= UInt8(ascii: "A")
            }
    }

    mutating func read(_ keyword: String, expected: String) throws(SchemaTextError) {
        guard isWord(keyword) else { throw unexpected(expected) }
        advance()
    }

    mutating func read(_ sign: SchemaLexer.Token.Kind, expected: String) throws(SchemaTextError) {
        guard token.kind == sign else { throw unexpected(expected) }
        advance()
    }

    // MARK: Errors

    mutating func fail(_ error: SchemaTextError) {
        if canGoOn { errors.append(error) }
    }

    /// Takes a closure, because finding line and column is slow in large texts and unreported errors need not be
    /// created.
    mutating func fail(_ error: (Self) -> SchemaTextError) {
        if canGoOn { fail(error(self)) }
    }

    mutating func note(_ text: String, at place: Int) {
        if notes.count < SchemaText.noteLimit {
            notes.append(SchemaTextNote(text, at: error(at: place, expected: "", found: "")))
        } else {
            moreNotes += 1
        }
    }

    func error(
        at place: Int, expected: String, found: String, hint: String? = nil, problem: String? = nil
    ) -> SchemaTextError {
        SchemaTextError(at: place, of: lexer.text, expected: expected, found: found, hint: hint, problem: problem)
    }

    func twice(_ what: String, _ name: Name, at place: Int, first: Int) -> SchemaTextError {
        let line = SchemaLexer.line(of: first, in: lexer.text)
        return error(
            at: place, expected: "another name", found: "'\(name)'",
            problem: "the \(what) '\(name)' is declared twice, first in line \(line)")
    }

    /// The error for a token that does not match any expectation.
    func unexpected(_ expected: String, hint: String? = nil) -> SchemaTextError {
        let place = token.range.lowerBound
        switch token.kind {
        case .end: return error(at: previousEnd, expected: expected, found: "the end of the text", hint: hint)
        case .unclosedQuote:
            return error(at: place, expected: "a quote at the end of the name", found: "the end of the line")
        case .unclosedComment:
            return error(at: place, expected: "*/ at the end of the comment", found: "the end of the text")
        case .stray:
            // Uses the first scalar, since a character can have any number of them.
            let character = tokenText
            let scalar = character.unicodeScalars.first ?? "?"
            let isShown =
                scalar.properties.generalCategory != .control && scalar.properties.generalCategory != .format
                && !scalar.properties.isWhitespace
            let found =
                (isShown ? "'\(character)' (" : "(") + "U+"
                + String(scalar.value, digits: 4, radix: 16, uppercase: true) + ")"
            let hint = scalar.value < 0x80 ? hint : "only comments may contain non-ASCII characters"
            return error(at: place, expected: expected, found: found, hint: hint)
        case .word, .quoted, .openParenthesis, .closeParenthesis, .less, .greater, .comma, .semicolon:
            let text = SchemaTextError.printable(tokenText)
            return error(
                at: place, expected: expected,
                found: token.kind == .quoted ? text : "'\(text.prefix(80))\(text.count > 80 ? "…" : "")'", hint: hint)
        }
    }
}

/// A record type while its text is being parsed.
struct RecordTypeDraft {
    let name: Name
    var fields: [Name: FieldDefinition] = [:]
    var systemIndexes: [SystemField: Indexes] = [:]
    var grants: [Grant] = []
    /// Offsets of the field declarations.
    var places: [Name: Int] = [:]

    init(name: Name) {
        self.name = name
    }

    var type: RecordType {
        var type = RecordType(name: name, fields: fields, systemIndexes: systemIndexes, grants: Grant.canonical(grants))
        // Each container has this type with these fields, even if a file omits them.
        if name == Schema.usersType { type.fields.merge(Schema.users.fields) { declared, _ in declared } }
        if grants.isEmpty { type.grants = name == Schema.usersType ? Schema.users.grants : Grant.defaults }
        return type
    }
}

// MARK: - Names

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
            throw unexpected("the name of a \(named.rawValue)", hint: "a name that is a keyword needs double quotes")
        }
        if let rule = broken(name, of: named) {
            let shown = SchemaTextError.printable(name.string.prefix(80))
            throw error(
                at: place, expected: "the name of a \(named.rawValue)", found: name.isEmpty ? "\"\"" : "'\(shown)'",
                problem: "'\(shown)' can't be the name of a \(named.rawValue): \(rule)")
        }
        if kind == .word, Schema.quoted(name) != text {
            note("Apple's tools want the name \(name) in double quotes", at: place)
        }
        advance()
        return name
    }

    /// The rule that a name violates; `nil` if it is valid.
    private func broken(_ name: Name, of named: Named) -> String? {
        if named == .role, name.hasPrefix("_") {
            return Grant.systemRoles.contains(name)
                ? nil
                : "the roles that begin with _ are \(Grant.systemRoles.sorted().map(\.string).joined(separator: ", "))"
        }
        if named == .field, name.hasPrefix("___") {
            if SystemField(rawValue: name.string) != nil { return nil }
            let hint =
                Spelling.guess(name.string, among: SystemField.allCases.map(\.rawValue)).map { ", did you mean \($0)?" }
                ?? ""
            return "names that begin with ___ are reserved by CloudKit" + hint
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
        isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: ".")
    }
}
