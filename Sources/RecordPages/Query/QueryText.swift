internal import Console
internal import JSON
internal import Records
internal import Text

/// The filters and the sort order of a query as one line of text, equivalent to the rows of the form:
/// `room = Room/general and sentAt > 2026-01-01 sort by sentAt descending`.
///
/// docs/queries.md defines the language. ``QueryTextParser`` parses the output of ``text(of:type:)``.
enum QueryText {
    /// The notation of the comparators. A longer phrase precedes its own prefixes.
    static let phrases: [(words: [String], comparator: Comparator)] = [
        (["="], .equals), (["!="], .notEquals), (["<="], .lessThanOrEquals), (["<"], .lessThan), ([">="], .greaterThanOrEquals), ([">"], .greaterThan),
        (["begins", "with"], .beginsWith), (["not", "begins", "with"], .notBeginsWith), (["in"], .in), (["not", "in"], .notIn),
        (["has", "any", "word", "of"], .containsAnyTokens), (["has", "words"], .containsAllTokens),
        (["contains", "any", "of"], .listContainsAny), (["not", "contains", "any", "of"], .notListContainsAny),
        (["contains", "all", "of"], .listContainsAll), (["not", "contains", "all", "of"], .notListContainsAll),
        (["contains", "prefix"], .listMemberBeginsWith), (["not", "contains", "prefix"], .notListMemberBeginsWith),
        (["contains"], .listContains), (["not", "contains"], .notListContains), (["near"], .near),
    ]

    /// Keywords. A value or a name that equals a keyword needs quotes.
    static let reserved: Set<String> = Set(
        phrases.flatMap(\.words)
            + ["where", "and", "or", "null", "nil", "sort", "order", "by", "from", "within", "ascending", "descending", "asc", "desc", "of"])

    static func words(of comparator: Comparator) -> String {
        phrases.first { $0.comparator == comparator }?.words.joined(separator: " ") ?? comparator.rawValue
    }

    // MARK: Writing

    /// The rows of a form as text, without unfinished rows.
    static func text(of form: QueryForm, type: RecordType) -> String {
        let filters = form.filters.filter { !$0.isUnfinished }.map { clause($0, type: type) }
        let sorts = form.sorts.map { sort($0, type: type) }
        let order = sorts.isEmpty ? [] : ["sort by " + sorts.joined(separator: ", ")]
        return (filters.isEmpty ? order : [filters.joined(separator: " and ")] + order).joined(separator: " ")
    }

    static func clause(_ row: QueryForm.Filter, type: RecordType) -> String {
        let field = type.queryField(named: row.field)
        let comparator = row.comparator ?? field?.usualComparator ?? .equals
        let name = name(row.field)
        let isPlace = field?.definition.type.valueType == .location
        if comparator == .near {
            let place = place(row.value)
            return row.distance.isEmpty ? "\(name) near \(place)" : "\(name) within \(value(row.distance)) m of \(place)"
        }
        if comparator.takesList {
            let parts = isPlace ? row.value.split(separator: ";").map(\.trimmingSpaces) : FilterValueReader.parts(row.value)
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
        guard let first = text.unicodeScalars.first, QueryTextLexer.closingMarks[first] == nil, first != "!" else { return false }
        return text.unicodeScalars.allSatisfy(isWordScalar) && !text.utf8.contains { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: "|") || $0 == UInt8(ascii: ";") }
            && !reserved.contains(text.lowercased()) && ForeignWords.placeholder(text) == nil
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
struct QueryTextError: Error, Equatable {
    /// The number of characters before the error.
    let offset: Int
    let reason: String
}
