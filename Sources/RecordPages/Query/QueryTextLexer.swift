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
        case comma, open, close
    }

    let kind: Kind
    /// The text without quotation marks.
    let text: String
    /// The offset in the text, in Unicode scalars.
    let offset: Int
}

/// Splits a query's text into tokens.
enum QueryTextLexer {
    /// - Throws: ``QueryTextError`` for an unterminated quotation, and for a lone `!`.
    static func tokens(of text: String) throws(QueryTextError) -> [QueryTextToken] {
        let scalars = Array(text.unicodeScalars)
        var tokens: [QueryTextToken] = []
        var position = 0
        while position < scalars.count {
            let start = position
            let scalar = scalars[position]
            position += 1
            switch scalar {
            case "(": tokens.append(QueryTextToken(kind: .open, text: "(", offset: start))
            case ")": tokens.append(QueryTextToken(kind: .close, text: ")", offset: start))
            case ",": tokens.append(QueryTextToken(kind: .comma, text: ",", offset: start))
            case "\"", "`":
                let quoted = try quotation(scalar, in: scalars, from: &position)
                tokens.append(QueryTextToken(kind: scalar == "`" ? .name : .quoted, text: quoted, offset: start))
            case "=", "!", "<", ">":
                var operation = String(Character(scalar))
                let next = position < scalars.count ? scalars[position] : " "
                // Accepts == and <> too.
                if next == "=" || scalar == "<" && next == ">" {
                    position += 1
                    operation.unicodeScalars.append(next)
                }
                if operation == "!" { throw QueryTextError(offset: start, reason: "‘!’ is not a comparison. Write != for ‘is not’.") }
                operation = operation == "==" ? "=" : operation == "<>" ? "!=" : operation
                tokens.append(QueryTextToken(kind: .comparison, text: operation, offset: start))
            case _ where scalar.properties.isWhitespace: continue
            default:
                var word = String(Character(scalar))
                while position < scalars.count, QueryText.isWordScalar(scalars[position]) {
                    word.unicodeScalars.append(scalars[position])
                    position += 1
                }
                tokens.append(QueryTextToken(kind: .word, text: word, offset: start))
            }
        }
        return tokens
    }

    private static func quotation(_ mark: Unicode.Scalar, in scalars: [Unicode.Scalar], from position: inout Int) throws(QueryTextError) -> String {
        let start = position - 1
        var text = ""
        while position < scalars.count {
            let scalar = scalars[position]
            position += 1
            guard scalar == mark else {
                text.unicodeScalars.append(scalar)
                continue
            }
            // A doubled mark stands for one mark.
            guard position < scalars.count, scalars[position] == mark else { return text }
            text.unicodeScalars.append(mark)
            position += 1
        }
        throw QueryTextError(offset: start, reason: "This quotation mark is not closed.")
    }
}
