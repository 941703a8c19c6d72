package import Records

/// Parses a query's text into the rows of a form.
package struct QueryTextParser {
    private let tokens: [QueryTextToken]
    private let type: RecordType
    /// The offset of the end of the text.
    private let end: Int
    private var position = 0

    /// - Throws: ``QueryTextError`` with the position of the error.
    package static func rows(of text: String, type: RecordType) throws(QueryTextError) -> (
        filters: [QueryForm.Filter], sorts: [QueryForm.Sort]
    ) {
        var parser = QueryTextParser(
            tokens: try QueryTextLexer.tokens(of: text), type: type, end: text.unicodeScalars.count)
        return try parser.rows()
    }

    private init(tokens: [QueryTextToken], type: RecordType, end: Int) {
        self.tokens = tokens
        self.type = type
        self.end = end
    }

    private mutating func rows() throws(QueryTextError) -> (filters: [QueryForm.Filter], sorts: [QueryForm.Sort]) {
        var filters: [QueryForm.Filter] = []
        var sorts: [QueryForm.Sort] = []
        try skipSelection()
        _ = skip(["where"])
        if position < tokens.count, !isAtSort { filters = try conjunction(depth: 0) }
        if isAtSort {
            position += 2
            repeat {
                if sorts.count == QueryForm.rowLimit {
                    throw problem("A query has at most \(QueryForm.rowLimit) sorts.")
                }
                sorts.append(try sort())
            } while skip(kind: .comma)
        }
        if position == tokens.count - 1, tokens[position].isWord(";") { position += 1 }
        if position < tokens.count {
            if tokens[position].kind == .word, let reason = UnsupportedKeywords.clause(tokens[position].text) {
                throw problem(reason)
            }
            throw problem(
                sorts.isEmpty
                    ? "‘\(tokens[position].text)’ is unexpected here. Join filters with ‘and’, then write ‘sort by’. Put a value of several words in \"…\"."
                    : "‘\(tokens[position].text)’ is unexpected here. Separate the sort fields with commas. Each may have ‘descending’ after it."
            )
        }
        return (filters, sorts)
    }

    // MARK: Clauses

    /// SQL's `select * from TYPE`.
    private mutating func skipSelection() throws(QueryTextError) {
        guard has(["select"]), position + 1 < tokens.count, tokens[position + 1].kind != .comparison else { return }
        position += 1
        guard skip(["*"]) else {
            throw problem("The form has the fields to return. Write select *, or begin with ‘where’.")
        }
        guard skip(["from"]) else { throw problem("Write ‘from \(type.name)’ here, or begin with ‘where’.") }
        let place = position
        guard position < tokens.count,
            tokens[position].kind == .quoted || tokens[position].kind == .name || tokens[position].kind == .word
        else {
            throw problem("Write the record type here.")
        }
        position += 1
        guard Name(tokens[place].text) == type.name else {
            throw problem("This query is one for the type \(type.name). Choose another type in the form.", at: place)
        }
    }

    /// Filters joined by `and`.
    private mutating func conjunction(depth: Int) throws(QueryTextError) -> [QueryForm.Filter] {
        var filters: [QueryForm.Filter] = []
        repeat {
            let place = position
            filters += try term(depth: depth)
            if filters.count > QueryForm.rowLimit {
                throw problem("A query has at most \(QueryForm.rowLimit) filters.", at: place)
            }
        } while skip(["and"])
        if has(["or"]) { throw problem(alternative(to: filters.last) ?? UnsupportedKeywords.clause("or") ?? "") }
        return filters
    }

    /// A filter, filters in parentheses, or the negation of a filter.
    private mutating func term(depth: Int) throws(QueryTextError) -> [QueryForm.Filter] {
        if depth > Self.depthLimit { throw problem("Too many parentheses.") }
        if skip(["TRUEPREDICATE"]) { return [] }
        if position < tokens.count, tokens[position].kind == .open, tokens[position].text == "(" {
            position += 1
            let filters = try conjunction(depth: depth + 1)
            guard position < tokens.count, tokens[position].kind == .close, tokens[position].text == ")" else {
                throw problem("Write ‘and’ and a filter, or ‘)’, here.")
            }
            position += 1
            return filters
        }
        let place = position
        guard skip(["not"]) else { return try filter() }
        var filters = try term(depth: depth + 1)
        guard filters.count == 1, let comparator = filters[0].comparator else {
            throw problem("CloudKit has no NOT of several filters.", at: place)
        }
        guard let negated = comparator.negated ?? Comparator.allCases.first(where: { $0.negated == comparator }) else {
            throw problem(
                "CloudKit has no NOT of ‘\(QueryText.words(of: comparator))’. It has one of =, in, begins with and contains.",
                at: place)
        }
        filters[0].comparator = negated
        return filters
    }

    private static let depthLimit = 20

    /// The list to write for `title = a or title = b`; `nil` if the filters compare different fields, or otherwise.
    private func alternative(to first: QueryForm.Filter?) -> String? {
        guard let first, let comparator = first.comparator else { return nil }
        let list: Comparator? =
            switch comparator {
            case .equals, .in: .in
            case .listContains, .listContainsAny: .listContainsAny
            default: nil
            }
        guard let list else { return nil }
        func values(_ filter: QueryForm.Filter) -> [String] {
            filter.comparator == list
                ? FilterValueReader.parts(filter.value) : [FilterValueReader.alone(filter.value, of: nil)]
        }
        var (parser, all) = (self, values(first))
        while parser.skip(["or"]) {
            guard let other = try? parser.filter(), other.count == 1, other[0].field == first.field,
                other[0].comparator == comparator
            else { return nil }
            all += values(other[0])
        }
        if type.queryField(named: first.field)?.definition.type.valueType == .location { return nil }
        let clause = QueryText.clause(
            QueryForm.Filter(field: first.field, comparator: list, value: QueryForm.listText(all)), type: type)
        return "CloudKit has no OR. Write \(clause)."
    }

    private mutating func filter() throws(QueryTextError) -> [QueryForm.Filter] {
        if let row = try element() { return [row] }
        let quantifier = quantifier()
        let name = try name("a field to compare")
        let field = type.queryField(named: name)
        let start = position
        if let row = try nearby(name, field) { return [row] }
        if quantifier == nil, let rows = try phrase(name, field) { return rows }
        guard var comparator = comparator() else {
            let isNegated = has(["not"])
            let word = tokens.dropFirst(position + (isNegated ? 1 : 0)).first
            if let word, word.kind == .word, let reason = UnsupportedKeywords.comparison(word.text) {
                throw problem(
                    "\(reason). \(UnsupportedKeywords.alternatives(to: name, isList: field?.definition.type.isList ?? false))"
                )
            }
            throw problem("Write a comparison after \(name): \(Self.comparisons(of: field)).")
        }
        if let quantifier { comparator = try quantified(comparator, by: quantifier, field, name: name) }
        if has(open: "["), !comparator.takesList, position + 2 < tokens.count, tokens[position + 2].kind == .close {
            throw problem(UnsupportedKeywords.anyCase)
        }
        try check(comparator, fits: field, name: name, at: start)
        return [try row(name, field, comparator)]
    }

    /// The rest of a filter: its value.
    private mutating func row(_ name: Name, _ field: QueryField?, _ comparator: Comparator) throws(QueryTextError)
        -> QueryForm.Filter
    {
        let place = position
        let value = try comparator.takesList ? list(field) : scalar(field)
        if let field {
            do {
                _ = try FilterValueReader(field: field, comparator: comparator).input(value)
            } catch {
                throw problem((error as? FilterValueProblem)?.reason ?? "\(error)", at: place)
            }
        }
        return QueryForm.Filter(field: name, comparator: comparator, value: value)
    }

    /// Comparisons that SQL has words for: `is`, `between`, `like`.
    private mutating func phrase(_ name: Name, _ field: QueryField?) throws(QueryTextError) -> [QueryForm.Filter]? {
        let start = position
        if skip(["is"]) {
            let comparator: Comparator = skip(["not"]) ? .notEquals : .equals
            if has(["null"]) || has(["nil"]) { throw problem(UnsupportedKeywords.noValue, at: start) }
            try check(comparator, fits: field, name: name, at: start)
            return [try row(name, field, comparator)]
        }
        if has(["not", "between"]) {
            throw problem("CloudKit has no NOT BETWEEN: ask two queries, \(name) < … and \(name) > ….")
        }
        if skip(["between"]) {
            try check(.greaterThanOrEquals, fits: field, name: name, at: start)
            let opening = position < tokens.count && tokens[position].kind == .open ? tokens[position].text : nil
            if opening != nil { position += 1 }
            let low = try row(name, field, .greaterThanOrEquals)
            guard opening == nil ? skip(["and"]) : skip(kind: .comma) else {
                throw problem("Write ‘and’ and the greatest value here, as between 1 and 5.")
            }
            let high = try row(name, field, .lessThanOrEquals)
            if let opening { try close(opening) }
            return [low, high]
        }
        let isNegated = has(["not", "like"])
        guard isNegated || has(["like"]) else { return nil }
        position += isNegated ? 2 : 1
        let alternatives = UnsupportedKeywords.alternatives(to: name, isList: field?.definition.type.isList ?? false)
        if has(open: "[") { throw problem(UnsupportedKeywords.anyCase) }
        let place = position
        let pattern = try value("a pattern")
        let marks: Set<Unicode.Scalar> = ["%", "_", "*", "?"]
        let beginning = pattern.text.unicodeScalars.prefix { !marks.contains($0) }
        let rest = pattern.text.unicodeScalars.dropFirst(beginning.count)
        guard rest.count < 2, rest.allSatisfy({ $0 == "%" || $0 == "*" }), !beginning.isEmpty else {
            throw problem("CloudKit has no LIKE. \(alternatives)", at: place)
        }
        let comparator: Comparator =
            rest.isEmpty ? isNegated ? .notEquals : .equals : isNegated ? .notBeginsWith : .beginsWith
        try check(comparator, fits: field, name: name, at: start)
        return [QueryForm.Filter(name, comparator, exactly: String(beginning))]
    }

    // MARK: NSPredicate's format

    /// `'red' IN tags`: an element of a list.
    private mutating func element() throws(QueryTextError) -> QueryForm.Filter? {
        guard position + 2 < tokens.count, tokens[position].kind == .quoted, tokens[position + 1].isWord("in"),
            tokens[position + 2].kind == .word
        else { return nil }
        let (text, place) = (tokens[position].text, position + 2)
        position += 2
        let name = try name("a list")
        try check(.listContains, fits: type.queryField(named: name), name: name, at: place)
        return QueryForm.Filter(name, .listContains, exactly: text)
    }

    /// `ANY`, `SOME`, `ALL` or `NONE` before the name of a field, in capitals. A field may have such a name.
    private mutating func quantifier() -> String? {
        guard position + 1 < tokens.count, tokens[position].kind == .word,
            tokens[position + 1].kind == .word || tokens[position + 1].kind == .name
        else { return nil }
        let word = tokens[position].text.lowercased()
        guard ["any", "some", "all", "none"].contains(word), type.queryField(named: Name(tokens[position].text)) == nil
        else { return nil }
        position += 1
        return word
    }

    private func quantified(_ comparator: Comparator, by quantifier: String, _ field: QueryField?, name: Name)
        throws(QueryTextError) -> Comparator
    {
        let element: Comparator? =
            switch comparator {
            case .equals, .listContains: .listContains
            case .in: .listContainsAny
            case .beginsWith: .listMemberBeginsWith
            default: nil
            }
        guard field?.definition.type.isList != false else {
            throw problem(
                "\(quantifier.uppercased()) is for lists, and \(name) is of type \(field?.definition.type.schemaName ?? "")."
            )
        }
        guard quantifier != "all", let element else {
            throw problem(
                "CloudKit has no \(quantifier.uppercased()) with this comparison. It has \(Self.comparisons(of: field))."
            )
        }
        return quantifier == "none" ? Comparator.allCases.first { $0.negated == element } ?? element : element
    }

    /// `place within 500 m of 47.45, -122.31`, and `place near 47.45, -122.31` for any distance.
    private mutating func nearby(_ name: Name, _ field: QueryField?) throws(QueryTextError) -> QueryForm.Filter? {
        let start = position
        var distance = ""
        if skip(["within"]) {
            let place = position
            distance = try value("a distance in metres").text
            if distance.lowercased().hasSuffix("km"), let kilometres = Double(distance.dropLast(2)) {
                distance = Self.text(ofMetres: kilometres * 1000)
            } else if distance.lowercased().hasSuffix("m"), Double(distance.dropLast()) != nil {
                distance.removeLast()
            } else if skip(["km"]), let kilometres = Double(distance) {
                distance = Self.text(ofMetres: kilometres * 1000)
            } else if !skip(["m"]), !skip(["metres"]) {
                _ = skip(["meters"])
            }
            guard let metres = Double(distance), metres.isFinite, metres >= 0 else {
                throw problem(
                    "‘\(distance)’ is not a distance. Write it in metres, as within 5000 m of 47.45, -122.31.",
                    at: place)
            }
            guard skip(["of"]) else {
                throw problem("Write ‘of’ and a location after the distance, as within 5000 m of 47.45, -122.31.")
            }
        } else if !skip(["near"]) {
            return nil
        }
        try check(.near, fits: field, name: name, at: start)
        return QueryForm.Filter(field: name, comparator: .near, value: try place(), distance: distance)
    }

    private mutating func sort() throws(QueryTextError) -> QueryForm.Sort {
        let name = try name("a field to sort by")
        let origin = skip(["from"]) ? try place() : ""
        let isDescending = skip(["descending"]) || skip(["desc"])
        if !isDescending, !skip(["ascending"]) { _ = skip(["asc"]) }
        return QueryForm.Sort(field: name, isDescending: isDescending, origin: origin)
    }

    private func check(_ comparator: Comparator, fits field: QueryField?, name: Name, at start: Int)
        throws(QueryTextError)
    {
        guard let field, !field.comparators.contains(where: { $0.comparator == comparator }) else { return }
        if comparator == .listContains, field.readsAsText {
            throw problem(
                "CloudKit does not search within texts. \(UnsupportedKeywords.alternatives(to: name, isList: false))",
                at: start)
        }
        throw problem(
            "\(name) is of type \(field.definition.type.schemaName), and ‘\(QueryText.words(of: comparator))’ does not work with it. Use \(Self.comparisons(of: field)).",
            at: start)
    }

    private static func comparisons(of field: QueryField?) -> String {
        let known = field?.comparators.map(\.comparator) ?? QueryText.phrases.map(\.comparator)
        return known.map { $0 == .near ? "within … m of" : QueryText.words(of: $0) }.joined(separator: ", ")
    }

    // MARK: Tokens

    private var isAtSort: Bool { has(["sort", "by"]) || has(["order", "by"]) }

    private mutating func name(_ what: String) throws(QueryTextError) -> Name {
        guard position < tokens.count, !tokens[position].text.isEmpty, isName(tokens[position]) else {
            throw problem("Write the name of \(what) here.")
        }
        if tokens[position].kind == .word, let reason = UnsupportedKeywords.placeholder(tokens[position].text) {
            throw problem(reason)
        }
        if tokens[position].isWord("distanceToLocation:fromLocation:") {
            throw problem("Write a distance as within 500 m of: \(type.locationName) within 500 m of 47.45, -122.31.")
        }
        let isReserved =
            tokens[position].kind == .word && QueryText.reserved.contains(tokens[position].text.lowercased())
        if isReserved {
            throw problem("Write the name of \(what) here. Put the name ‘\(tokens[position].text)’ in backquotes.")
        }
        position += 1
        return Name(tokens[position - 1].text)
    }

    /// True for a word and a name in backquotes, and for the name of a field in SQL's quotation marks.
    private func isName(_ token: QueryTextToken) -> Bool {
        switch token.kind {
        case .word, .name: true
        case .quoted: type.queryField(named: Name(token.text)) != nil
        case .comparison, .open, .close, .comma: false
        }
    }

    /// The longest comparator at the current position. Accepts CloudKit's own names too.
    private mutating func comparator() -> Comparator? {
        guard position < tokens.count else { return nil }
        if tokens[position].kind == .comparison {
            position += 1
            return QueryText.phrases.first { $0.words == [tokens[position - 1].text] }?.comparator
        }
        for (words, comparator) in (QueryText.phrases + Self.otherPhrases).sorted(by: {
            $0.words.count > $1.words.count
        }) where skip(words) { return comparator }
        guard tokens[position].kind == .word, let comparator = Comparator(rawValue: tokens[position].text) else {
            return nil
        }
        position += 1
        return comparator
    }

    /// NSPredicate's name, and what others say.
    private static let otherPhrases: [(words: [String], comparator: Comparator)] = [
        (["beginswith"], .beginsWith), (["not", "beginswith"], .notBeginsWith), (["starts", "with"], .beginsWith),
        (["startswith"], .beginsWith),
    ]

    private mutating func value(_ what: String) throws(QueryTextError) -> QueryTextToken {
        guard position < tokens.count, tokens[position].kind == .word || tokens[position].kind == .quoted else {
            throw problem("Write \(what) here.")
        }
        let token = tokens[position]
        if token.isWord("null") || token.isWord("nil") { throw problem(UnsupportedKeywords.noValue) }
        if ["and", "or", "not"].contains(where: token.isWord) {
            throw problem("Write \(what) here. The text ‘\(token.text)’ goes in \"…\".")
        }
        if token.kind == .word, let reason = UnsupportedKeywords.placeholder(token.text) { throw problem(reason) }
        position += 1
        return tokens[position - 1]
    }

    private mutating func scalar(_ field: QueryField?) throws(QueryTextError) -> String {
        if field?.definition.type.valueType == .location { return try place() }
        return QueryForm.aloneText(Self.text(of: try value("a value (in \"…\" if it has spaces or commas)"), field))
    }

    /// The text of a value. CloudKit stores what is true as 1.
    private static func text(of token: QueryTextToken, _ field: QueryField?) -> String {
        guard token.kind == .word, let type = field?.definition.type.valueType, type == .int64 || type == .double else {
            return token.text
        }
        return switch token.text.lowercased() {
        case "true", "yes": "1"
        case "false", "no": "0"
        default: token.text
        }
    }

    /// Two numbers with an optional comma between them, or a quoted text with both.
    private mutating func place() throws(QueryTextError) -> String {
        let start = position
        let first = try value("a location (latitude and longitude in degrees, as 47.45, -122.31)")
        var text = first.text
        if first.kind == .word, Double(first.text) != nil {
            _ = skip(kind: .comma)
            text += ", " + (try value("the longitude of the location, in degrees").text)
        }
        do {
            _ = try FilterValueReader.location(text)
        } catch {
            throw problem((error as? FilterValueProblem)?.reason ?? "\(error)", at: start)
        }
        return text
    }

    private mutating func list(_ field: QueryField?) throws(QueryTextError) -> String {
        let opening = position < tokens.count ? tokens[position].text : ""
        guard skip(kind: .open) else {
            throw problem("Write values in parentheses here, as (one, two, \"three, four\").")
        }
        var values: [String] = []
        while position == tokens.count || tokens[position].kind != .close {
            values.append(
                Self.text(
                    of: try value("a value (separate values with commas; put a value that has a comma in \"…\")"), field
                ))
            guard skip(kind: .comma) else {
                if position < tokens.count, tokens[position].kind == .close { break }
                throw problem("Write a comma and another value, or ‘\(Self.closing[opening] ?? ")")’, here.")
            }
        }
        if values.isEmpty { throw problem("The list is empty: write at least one value.") }
        try close(opening)
        return field?.definition.type.valueType == .location
            ? values.joined(separator: "; ") : QueryForm.listText(values)
    }

    private static func text(ofMetres metres: Double) -> String {
        metres.rounded() == metres && abs(metres) < 1e15 ? String(Int64(metres)) : metres.description
    }

    // MARK: Cursor

    private static let closing = ["(": ")", "{": "}", "[": "]"]

    private mutating func close(_ opening: String) throws(QueryTextError) {
        let mark = Self.closing[opening] ?? ")"
        guard position < tokens.count, tokens[position].kind == .close, tokens[position].text == mark else {
            throw problem("Write ‘\(mark)’ here.")
        }
        position += 1
    }

    private func has(open mark: String) -> Bool {
        position < tokens.count && tokens[position].kind == .open && tokens[position].text == mark
    }

    private func has(_ words: [String]) -> Bool {
        guard position + words.count <= tokens.count else { return false }
        return zip(tokens[position...], words).allSatisfy { $0.isWord($1) }
    }

    private mutating func skip(_ words: [String]) -> Bool {
        guard has(words) else { return false }
        position += words.count
        return true
    }

    private mutating func skip(kind: QueryTextToken.Kind) -> Bool {
        guard position < tokens.count, tokens[position].kind == kind else { return false }
        position += 1
        return true
    }

    /// - Parameter index: the token with the error; `nil` for the next one.
    private func problem(_ reason: String, at index: Int? = nil) -> QueryTextError {
        let index = index ?? position
        return QueryTextError(offset: index < tokens.count ? tokens[index].offset : end, reason: reason)
    }
}

extension RecordType {
    /// The name of a field with places, as an example.
    fileprivate var locationName: String {
        QueryField.all(of: self).first { $0.definition.type == .location }?.name.string ?? "place"
    }
}
