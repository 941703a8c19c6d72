/// A token of a query's text.
struct QueryTextToken: Equatable {
    enum Kind: Equatable {
        /// A word, or a value that needs no quotation marks.
        case word
        /// Text in quotation marks.
        case quoted
        /// Text in backquotes: a name.
        case name
        /// `=`, `!=`, `<`, `<=`, `>`, `>=`.
        case comparison
        /// `(` and `)`, also `{` and `[` as in other languages.
        case open, close
        case comma
    }

    let kind: Kind
    /// The text without quotation marks.
    let text: String
    /// The offset in the text, in Unicode scalars.
    let offset: Int

    /// True if the token is a word, in any case. A quotation never is.
    func isWord(_ word: String) -> Bool { kind == .word && text.lowercased() == word.lowercased() }
}

/// Splits a query's text into tokens.
enum QueryTextLexer {
    /// The marks that end a quotation, by the mark that begins it: those of SQL and of Swift, and those that keyboards of many languages write.
    static let closingMarks: [Unicode.Scalar: String] = [
        "\"": "\"", "'": "'", "“": "”", "”": "”", "„": "“”", "‟": "”", "‘": "’", "’": "’", "‚": "‘’", "«": "»", "»": "«»", "‹": "›", "›": "‹›", "「": "」",
        "『": "』", "＂": "＂",
    ]

    /// The spellings of operators, the longest first, and what they mean.
    private static let operators: [(spelling: String, kind: QueryTextToken.Kind, text: String)] = [
        ("===", .comparison, "="), ("!==", .comparison, "!="), ("==", .comparison, "="), ("!=", .comparison, "!="), ("<>", .comparison, "!="),
        ("<=", .comparison, "<="), ("=<", .comparison, "<="), (">=", .comparison, ">="), ("=>", .comparison, ">="), ("&&", .word, "and"), ("||", .word, "or"),
        ("=", .comparison, "="), ("<", .comparison, "<"), (">", .comparison, ">"), ("≤", .comparison, "<="), ("≥", .comparison, ">="), ("≠", .comparison, "!="),
        ("!", .word, "not"), ("(", .open, "("), ("{", .open, "{"), ("[", .open, "["), (")", .close, ")"), ("}", .close, "}"), ("]", .close, "]"), (",", .comma, ","),
    ]

    /// - Throws: ``QueryTextError`` for an unterminated quotation.
    static func tokens(of text: String) throws(QueryTextError) -> [QueryTextToken] {
        let scalars = Array(text.unicodeScalars)
        var tokens: [QueryTextToken] = []
        var position = 0
        while position < scalars.count {
            let start = position
            let scalar = scalars[position]
            if scalar.properties.isWhitespace {
                position += 1
            } else if scalar == "`" || closingMarks[scalar] != nil {
                position += 1
                let quoted = try quotation(scalar, in: scalars, from: &position)
                tokens.append(QueryTextToken(kind: scalar == "`" ? .name : .quoted, text: quoted, offset: start))
            } else if let found = operators.first(where: { scalars[start...].starts(with: $0.spelling.unicodeScalars) }) {
                position += found.spelling.unicodeScalars.count
                tokens.append(QueryTextToken(kind: found.kind, text: found.text, offset: start))
            } else {
                var word = ""
                repeat {
                    word.unicodeScalars.append(scalars[position])
                    position += 1
                } while position < scalars.count && QueryText.isWordScalar(scalars[position]) && !isJoint(at: position, in: scalars)
                tokens.append(QueryTextToken(kind: .word, text: word, offset: start))
            }
        }
        return tokens
    }

    /// True at `&&` and `||`, and at the `;` of a whole statement, which end a word.
    private static func isJoint(at position: Int, in scalars: [Unicode.Scalar]) -> Bool {
        if scalars[position] == ";" { return scalars[(position + 1)...].allSatisfy(\.properties.isWhitespace) }
        return (scalars[position] == "&" || scalars[position] == "|") && position + 1 < scalars.count && scalars[position + 1] == scalars[position]
    }

    private static func quotation(_ mark: Unicode.Scalar, in scalars: [Unicode.Scalar], from position: inout Int) throws(QueryTextError) -> String {
        let start = position - 1
        let closing = closingMarks[mark] ?? String(Character(mark))
        var text = ""
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            guard closing.unicodeScalars.contains(scalar) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            // A doubled mark stands for one mark.
            guard position < scalars.count, scalars[position] == scalar else { return text }
            text.unicodeScalars.append(scalar)
            position += 1
        }
        let needed = closing.unicodeScalars.map { "\($0)" }.joined(separator: " or ")
        throw QueryTextError(
            offset: start, reason: "This quotation mark is not closed: write \(needed) after the text. A text with the mark itself goes in \"…\".")
    }
}
