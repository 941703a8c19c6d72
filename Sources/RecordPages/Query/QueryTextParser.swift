internal import Console
internal import JSON
internal import Records

/// Parses a query's text into the rows of a form.
struct QueryTextParser {
    private let tokens: [QueryTextToken]
    private let type: RecordType
    /// The offset of the end of the text.
    private let end: Int
    private var position = 0

    /// - Throws: ``QueryTextError`` with the position of the error.
    static func rows(of text: String, type: RecordType) throws(QueryTextError) -> (filters: [QueryForm.Filter], sorts: [QueryForm.Sort]) {
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
        _ = skip(["where"])
        if position < tokens.count, !isAtSort {
            repeat {
                if filters.count == QueryForm.rowLimit { throw problem("A query has at most \(QueryForm.rowLimit) filters.") }
                filters.append(try filter())
            } while skip(["and"])
        }
        if isAtSort {
            position += 2
            repeat {
                if sorts.count == QueryForm.rowLimit { throw problem("A query has at most \(QueryForm.rowLimit) sorts.") }
                sorts.append(try sort())
            } while skip(kind: .comma)
        }
        if position < tokens.count {
            throw problem(
                sorts.isEmpty
                    ? "‘\(tokens[position].text)’ is unexpected here. Join filters with ‘and’, then write ‘sort by’. Put a value of several words in \"…\"."
                    : "‘\(tokens[position].text)’ is unexpected here. Separate the sort fields with commas. Each may have ‘descending’ after it.")
        }
        return (filters, sorts)
    }

    // MARK: Clauses

    private mutating func filter() throws(QueryTextError) -> QueryForm.Filter {
        let name = try name("a field to compare")
        let field = type.queryField(named: name)
        let start = position
        if let row = try nearby(name, field) { return row }
        guard let comparator = comparator() else {
            throw problem("Write a comparison after \(name): \(Self.comparisons(of: field)).")
        }
        try check(comparator, fits: field, name: name, at: start)
        let place = position
        let value = try comparator.takesList ? list(field) : scalar(field)
        if let field {
            do {
                _ = try FilterValueReader(field: field, comparator: comparator).input(value)
            } catch {
                throw problem((error as? FilterValueProblem)?.reason ?? "\(error)", at: place)
            }
        }
        return QueryForm.Filter(field: name, comparator: comparator, value: value, distance: "")
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
                throw problem("‘\(distance)’ is not a distance. Write it in metres, as within 5000 m of 47.45, -122.31.", at: place)
            }
            guard skip(["of"]) else { throw problem("Write ‘of’ and a location after the distance, as within 5000 m of 47.45, -122.31.") }
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

    private func check(_ comparator: Comparator, fits field: QueryField?, name: Name, at start: Int) throws(QueryTextError) {
        guard let field, !field.comparators.contains(where: { $0.comparator == comparator }) else { return }
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
        guard position < tokens.count, tokens[position].kind == .word || tokens[position].kind == .name, !tokens[position].text.isEmpty else {
            throw problem("Write the name of \(what) here.")
        }
        let isReserved = tokens[position].kind == .word && QueryText.reserved.contains(tokens[position].text.lowercased())
        if isReserved { throw problem("Write the name of \(what) here. Put the name ‘\(tokens[position].text)’ in backquotes.") }
        position += 1
        return Name(tokens[position - 1].text)
    }

    /// The longest comparator at the current position. Accepts CloudKit's own names too.
    private mutating func comparator() -> Comparator? {
        guard position < tokens.count else { return nil }
        if tokens[position].kind == .comparison {
            position += 1
            return QueryText.phrases.first { $0.words == [tokens[position - 1].text] }?.comparator
        }
        for (words, comparator) in QueryText.phrases.sorted(by: { $0.words.count > $1.words.count }) where skip(words) { return comparator }
        guard tokens[position].kind == .word, let comparator = Comparator(rawValue: tokens[position].text) else { return nil }
        position += 1
        return comparator
    }

    private mutating func value(_ what: String) throws(QueryTextError) -> QueryTextToken {
        guard position < tokens.count, tokens[position].kind == .word || tokens[position].kind == .quoted else {
            throw problem("Write \(what) here.")
        }
        position += 1
        return tokens[position - 1]
    }

    private mutating func scalar(_ field: QueryField?) throws(QueryTextError) -> String {
        if field?.definition.type.valueType == .location { return try place() }
        let token = try value("a value (in \"…\" if it has spaces or commas)")
        return token.text.isEmpty ? "\"\"" : token.text
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
        guard skip(kind: .open) else { throw problem("Write values in parentheses here, as (one, two, \"three, four\").") }
        var values: [String] = []
        while !skip(kind: .close) {
            values.append(try value("a value (separate values with commas; put a value that has a comma in \"…\")").text)
            guard skip(kind: .comma) else {
                guard skip(kind: .close) else { throw problem("Write a comma and another value, or ‘)’, here.") }
                break
            }
        }
        if values.isEmpty { throw problem("The list is empty: write at least one value.", at: position - 1) }
        return field?.definition.type.valueType == .location ? values.joined(separator: "; ") : QueryForm.listText(values)
    }

    private static func text(ofMetres metres: Double) -> String {
        metres.rounded() == metres && abs(metres) < 1e15 ? String(Int64(metres)) : metres.description
    }

    // MARK: Cursor

    private func has(_ words: [String]) -> Bool {
        guard position + words.count <= tokens.count else { return false }
        return zip(tokens[position...], words).allSatisfy { $0.kind == .word && $0.text.lowercased() == $1.lowercased() }
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
