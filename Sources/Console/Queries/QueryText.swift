package import Records

/// The filters and the sort order of a query as one line of text, equivalent to the rows of the form:
/// `room = Room/general and sentAt > 2026-01-01 sort by sentAt descending`.
///
/// docs/queries.md defines the language. ``QueryTextParser`` parses the output of ``text(of:type:)``.
package enum QueryText {
    /// The notation of the comparators. A longer phrase precedes its own prefixes.
    static let phrases: [(words: [String], comparator: Comparator)] = [
        (["="], .equals), (["!="], .notEquals), (["<="], .lessThanOrEquals), (["<"], .lessThan),
        ([">="], .greaterThanOrEquals), ([">"], .greaterThan),
        (["begins", "with"], .beginsWith), (["not", "begins", "with"], .notBeginsWith), (["in"], .in),
        (["not", "in"], .notIn),
        (["has", "any", "word", "of"], .containsAnyTokens), (["has", "words"], .containsAllTokens),
        (["contains", "any", "of"], .listContainsAny), (["not", "contains", "any", "of"], .notListContainsAny),
        (["contains", "all", "of"], .listContainsAll), (["not", "contains", "all", "of"], .notListContainsAll),
        (["contains", "prefix"], .listMemberBeginsWith), (["not", "contains", "prefix"], .notListMemberBeginsWith),
        (["contains"], .listContains), (["not", "contains"], .notListContains), (["near"], .near),
    ]

    /// Keywords. A value or a name that equals a keyword needs quotes.
    static let reserved: Set<String> = Set(
        phrases.flatMap(\.words)
            + [
                "where", "and", "or", "null", "nil", "sort", "order", "by", "from", "within", "ascending", "descending",
                "asc", "desc", "of",
            ])

    static func words(of comparator: Comparator) -> String {
        phrases.first { $0.comparator == comparator }?.words.joined(separator: " ") ?? comparator.rawValue
    }

    // MARK: Writing

    /// The rows of a form as text, without unfinished rows.
    package static func text(of form: QueryForm, type: RecordType) -> String {
        let filters = form.filters.filter { !$0.isUnfinished }.map { clause($0, type: type) }
        let sorts = form.sorts.map { sort($0, type: type) }
        let order = sorts.isEmpty ? [] : ["sort by " + sorts.joined(separator: ", ")]
        return (filters.isEmpty ? order : [filters.joined(separator: " and ")] + order).joined(separator: " ")
    }

    package static func clause(_ row: QueryForm.Filter, type: RecordType) -> String {
        let field = type.queryField(named: row.field)
        let comparator = row.comparator ?? field?.usualComparator ?? .equals
        let name = name(row.field)
        let isPlace = field?.definition.type.valueType == .location
        if comparator == .near {
            let place = place(row.value)
            return row.distance.isEmpty
                ? "\(name) near \(place)" : "\(name) within \(value(row.distance)) m of \(place)"
        }
        if comparator.takesList {
            let parts =
                isPlace ? row.value.split(separator: ";").map(\.trimmingSpaces) : FilterValueReader.parts(row.value)
            return "\(name) \(words(of: comparator)) (\(parts.map(value).joined(separator: ", ")))"
        }
        let alone = FilterValueReader.alone(row.value, of: field)
        return "\(name) \(words(of: comparator)) " + (isPlace ? place(alone) : value(alone))
    }

    private static func sort(_ row: QueryForm.Sort, type: RecordType) -> String {
        let isPlace = type.queryField(named: row.field)?.definition.type == .location
        let origin = isPlace && !row.origin.isEmpty ? " from \(place(row.origin))" : ""
        return name(row.field) + origin + (row.isDescending ? " descending" : "")
    }

    /// A location as two numbers, if the text is one.
    private static func place(_ text: String) -> String {
        guard (try? FilterValueReader.location(text)) != nil else { return value(text) }
        return text.split { $0 == "," || $0 == " " || $0 == ";" }.joined(separator: ", ")
    }

    /// The text itself if it is one word, else in quotation marks, with inner quotation marks doubled.
    private static func value(_ text: String) -> String {
        isWord(text) ? text : "\"" + doubled("\"", in: text) + "\""
    }

    private static func name(_ name: Name) -> String {
        isWord(name.string) ? name.string : "`" + doubled("`", in: name.string) + "`"
    }

    private static func isWord(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, QueryTextLexer.closingMarks[first] == nil, first != "!" else {
            return false
        }
        return text.unicodeScalars.allSatisfy(isWordScalar)
            && !text.utf8.contains { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "|") || $0 == UInt8(ascii: ";") }
            && !reserved.contains(text.lowercased()) && UnsupportedKeywords.placeholder(text) == nil
    }

    static func isWordScalar(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.properties.isWhitespace && !"(){}[],=!<>≤≥≠\"`".unicodeScalars.contains(scalar)
    }

    private static func doubled(_ mark: Unicode.Scalar, in text: String) -> String {
        var doubled = ""
        for scalar in text.unicodeScalars {
            if scalar == mark { doubled.unicodeScalars.append(mark) }
            doubled.unicodeScalars.append(scalar)
        }
        return doubled
    }
}

/// The reason why a text is not a query, and the position of the error.
package struct QueryTextError: Error, Equatable {
    /// The number of characters before the error.
    package let offset: Int
    package let reason: String
}

// MARK: - Tokens

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
    /// The marks that end a quotation, by the mark that begins it: those of SQL and of Swift, and those that keyboards
    /// of many languages write.
    static let closingMarks: [Unicode.Scalar: String] = [
        "\"": "\"", "'": "'", "“": "”", "”": "”", "„": "“”", "‟": "”", "‘": "’", "’": "’", "‚": "‘’", "«": "»",
        "»": "«»", "‹": "›", "›": "‹›", "「": "」",
        "『": "』", "＂": "＂",
    ]

    /// The spellings of operators, the longest first, and what they mean.
    private static let operators: [(spelling: String, kind: QueryTextToken.Kind, text: String)] = [
        ("===", .comparison, "="), ("!==", .comparison, "!="), ("==", .comparison, "="), ("!=", .comparison, "!="),
        ("<>", .comparison, "!="),
        ("<=", .comparison, "<="), ("=<", .comparison, "<="), (">=", .comparison, ">="), ("=>", .comparison, ">="),
        ("&&", .word, "and"), ("||", .word, "or"),
        ("=", .comparison, "="), ("<", .comparison, "<"), (">", .comparison, ">"), ("≤", .comparison, "<="),
        ("≥", .comparison, ">="), ("≠", .comparison, "!="),
        ("!", .word, "not"), ("(", .open, "("), ("{", .open, "{"), ("[", .open, "["), (")", .close, ")"),
        ("}", .close, "}"), ("]", .close, "]"), (",", .comma, ","),
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
            } else if let found = operators.first(where: { scalars[start...].starts(with: $0.spelling.unicodeScalars) })
            {
                position += found.spelling.unicodeScalars.count
                tokens.append(QueryTextToken(kind: found.kind, text: found.text, offset: start))
            } else {
                var word = ""
                repeat {
                    word.unicodeScalars.append(scalars[position])
                    position += 1
                } while position < scalars.count && QueryText.isWordScalar(scalars[position])
                    && !isJoint(at: position, in: scalars)
                tokens.append(QueryTextToken(kind: .word, text: word, offset: start))
            }
        }
        return tokens
    }

    /// True at `&&` and `||`, and at the `;` of a whole statement, which end a word.
    private static func isJoint(at position: Int, in scalars: [Unicode.Scalar]) -> Bool {
        if scalars[position] == ";" { return scalars[(position + 1)...].allSatisfy(\.properties.isWhitespace) }
        return (scalars[position] == "&" || scalars[position] == "|") && position + 1 < scalars.count
            && scalars[position + 1] == scalars[position]
    }

    private static func quotation(_ mark: Unicode.Scalar, in scalars: [Unicode.Scalar], from position: inout Int)
        throws(QueryTextError) -> String
    {
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
            offset: start,
            reason:
                "This quotation mark is not closed: write \(needed) after the text. A text with the mark itself goes in \"…\"."
        )
    }
}

// MARK: - Words of other languages

/// Words of SQL and of NSPredicate's format that CloudKit has no counterpart for, and what it has instead.
enum UnsupportedKeywords {
    /// `null` and `nil`, also after `is`.
    static let noValue =
        "CloudKit has no comparison with ‘no value’. Each ‘not’ finds the records without a value too. The text itself goes in \"…\"."

    /// `BEGINSWITH[c]`.
    static let anyCase =
        "CloudKit compares with the case of letters: leave out the brackets. ‘has words’ finds whole words in any case."

    /// What ends a query in other languages, or joins its parts.
    private static let clauses: [String: String] = [
        "or":
            "CloudKit has no OR. One field may have one of several values: title in (a, b). For anything else, ask two queries.",
        "limit": "The form has the number of records of a page.", "offset": "The form has the pages.",
        "top": "The form has the number of records of a page.",
        "group": "CloudKit has no GROUP BY. Count in the menu of a column counts the values of a field.",
        "having": "CloudKit has no HAVING.",
        "join": "CloudKit has no JOIN: a query has one type. Compare the reference with a record name.",
        "union": "CloudKit has no UNION: ask two queries.",
    ]

    private static let comparisons: [String: String] = [
        "endswith": "CloudKit has no ENDSWITH", "ends": "CloudKit has no ENDSWITH",
        "matches": "CloudKit has no MATCHES", "regexp": "CloudKit has no REGEXP",
        "rlike": "CloudKit has no REGEXP", "similar": "CloudKit has no SIMILAR TO", "glob": "CloudKit has no GLOB",
        "~": "CloudKit has no REGEXP",
        "ilike": "CloudKit has no ILIKE", "exists": "CloudKit has no EXISTS",
    ]

    /// - Parameter text: a bare word.
    /// - Returns: `nil` for a word that is only unexpected.
    static func clause(_ text: String) -> String? { clauses[text.lowercased()] }

    /// - Returns: `nil` for a word that is no comparison elsewhere either.
    static func comparison(_ text: String) -> String? { comparisons[text.lowercased()] }

    /// How CloudKit finds texts.
    static func alternatives(to name: Name, isList: Bool) -> String {
        isList
            ? "It finds elements, \(name) contains a, and their beginnings, \(name) contains prefix a."
            : "It finds beginnings, \(name) begins with a, and whole words, \(name) has words a."
    }

    /// Formats such as `%@` and `?`, which stand for a value in a program.
    /// - Returns: `nil` for other words.
    static func placeholder(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        let isFormat =
            bytes.count > 1 && bytes[0] == UInt8(ascii: "%")
            && bytes.dropFirst(1).dropLast().allSatisfy { $0 == UInt8(ascii: "l") }
            && bytes.last.map { Array("@Kdiufs".utf8).contains($0) } == true
        guard isFormat || text == "?" else { return nil }
        return text == "%K"
            ? "%K stands for the name of a field: write the name."
            : "\(text) stands for a value of a program: write the value. The text itself goes in \"\(text)\"."
    }
}
