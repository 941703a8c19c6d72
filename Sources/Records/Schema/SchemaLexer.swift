/// Splits schema text into tokens. Comments and white space are skipped.
struct SchemaLexer {
    struct Token {
        enum Kind: Equatable {
            /// Letters, digits, `_` and `.`: a keyword or an unquoted name.
            case word
            /// A name in double quotes.
            case quoted
            case openParenthesis, closeParenthesis, less, greater, comma, semicolon
            case end
            case unclosedQuote
            case unclosedComment
            /// A character that is not part of the language.
            case stray
        }

        var kind: Kind
        /// Byte range in the text, including quotes.
        var range: Range<Int>
    }

    let text: [UInt8]
    private var position = 0

    init(_ text: [UInt8]) {
        self.text = text
        position = Self.byteOrderMarkEnd(text)
    }

    static func byteOrderMarkEnd(_ text: [UInt8]) -> Int {
        text.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    mutating func next() -> Token {
        if let broken = skipSpace() { return broken }
        let start = position
        guard start < text.count else { return Token(kind: .end, range: start..<start) }
        switch text[start] {
        case UInt8(ascii: "\""):
            position += 1
            while position < text.count, !Self.endsQuote(text[position]) { position += 1 }
            guard position < text.count, text[position] == UInt8(ascii: "\"") else {
                return Token(kind: .unclosedQuote, range: start..<position)
            }
            position += 1
            return Token(kind: .quoted, range: start..<position)
        case let byte where Self.isWord(byte):
            while position < text.count, Self.isWord(text[position]) { position += 1 }
            return Token(kind: .word, range: start..<position)
        case UInt8(ascii: "("): return sign(.openParenthesis)
        case UInt8(ascii: ")"): return sign(.closeParenthesis)
        case UInt8(ascii: "<"): return sign(.less)
        case UInt8(ascii: ">"): return sign(.greater)
        case UInt8(ascii: ","): return sign(.comma)
        case UInt8(ascii: ";"): return sign(.semicolon)
        default:
            position += 1
            while position < text.count, text[position] & 0xC0 == 0x80 { position += 1 }
            return Token(kind: .stray, range: start..<position)
        }
    }

    private mutating func sign(_ kind: Token.Kind) -> Token {
        position += 1
        return Token(kind: kind, range: position - 1..<position)
    }

    /// - Returns: an unterminated comment, if any.
    private mutating func skipSpace() -> Token? {
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: " "), 0x09...0x0D: position += 1
            case UInt8(ascii: "-") where isNext("-"), UInt8(ascii: "/") where isNext("/"):
                while position < text.count, !Self.endsLine(text[position]) { position += 1 }
            case UInt8(ascii: "/") where isNext("*"):
                let start = position
                position += 2
                while position < text.count, !(text[position] == UInt8(ascii: "*") && isNext("/")) { position += 1 }
                guard position < text.count else { return Token(kind: .unclosedComment, range: start..<text.count) }
                position += 2
            default: return nil
            }
        }
        return nil
    }

    private func isNext(_ character: Unicode.Scalar) -> Bool {
        position + 1 < text.count && text[position + 1] == UInt8(ascii: character)
    }

    private static func endsQuote(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\"") || endsLine(byte)
    }

    static func endsLine(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    /// True if the byte ends a line: a line feed, or a carriage return not followed by one.
    static func endsLine(_ text: [UInt8], at index: Int) -> Bool {
        if text[index] == UInt8(ascii: "\n") { return true }
        return text[index] == UInt8(ascii: "\r") && (index + 1 == text.count || text[index + 1] != UInt8(ascii: "\n"))
    }

    /// Line number of an offset in a text, starting at 1.
    static func line(of offset: Int, in text: [UInt8]) -> Int {
        (0..<offset).count { endsLine(text, at: $0) } + 1
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }
}

// MARK: - Spelling

/// Suggests corrections for unknown words of the schema language.
enum Spelling {
    /// Names of the types in other systems.
    private static let types: [String: String] = [
        "BOOL": "INT64", "BOOLEAN": "INT64", "INT": "INT64", "INTEGER": "INT64", "INT32": "INT64", "LONG": "INT64",
        "FLOAT": "DOUBLE", "REAL": "DOUBLE",
        "DECIMAL": "DOUBLE", "TEXT": "STRING", "VARCHAR": "STRING", "CHAR": "STRING", "UUID": "STRING", "URL": "STRING",
        "DATE": "TIMESTAMP",
        "DATETIME": "TIMESTAMP", "TIME": "TIMESTAMP", "DATA": "BYTES", "BLOB": "BYTES", "BYTE": "BYTES",
        "FILE": "ASSET", "ASSETID": "ASSET",
        "RECORD": "REFERENCE", "REF": "REFERENCE", "GEOPOINT": "LOCATION", "ARRAY": "LIST<STRING>",
    ]

    static func hint(forType word: String) -> String? {
        let word = word.uppercased()
        if word.hasSuffix("_LIST"), let type = FieldType(wireName: word) { return "did you mean \(type.schemaName)?" }
        if let type = types[word] { return "CloudKit's type for that is \(type)" }
        return guess(word, among: ValueType.allCases.map(\.rawValue) + ["NUMBER", "ENCRYPTED", "LIST"]).map {
            "did you mean \($0)?"
        }
    }

    /// The known word with an edit distance of at most two; `nil` if there is none.
    static func guess(_ word: String, among known: [String]) -> String? {
        let letters = Array(word.utf8.prefix(80))
        let near = known.map { (word: $0, distance: distance(letters, Array($0.utf8))) }.min {
            $0.distance < $1.distance
        }
        guard let near, near.distance <= min(2, letters.count / 2) else { return nil }
        return near.word
    }

    /// Edit distance: number of letters to insert, delete or replace.
    private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in right.indices {
                let above = row[column + 1]
                row[column + 1] = min(above + 1, row[column] + 1, diagonal + (letter == right[column] ? 0 : 1))
                diagonal = above
            }
        }
        return row[right.count]
    }
}
