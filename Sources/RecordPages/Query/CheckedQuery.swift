internal import Console
internal import Foundation
internal import RecordStore
internal import Records

/// The query of a form, and the problems that prevent it.
struct CheckedQuery: Sendable {
    let query: Query
    /// The problem with the value of a row, by row index.
    let filterProblems: [Int: String]
    let sortProblems: [Int: String]

    init(_ form: QueryForm, of type: RecordType) {
        var query = Query(recordType: type.name)
        var filterProblems: [Int: String] = [:]
        var sortProblems: [Int: String] = [:]
        for (index, row) in form.filters.enumerated() where !row.isUnfinished {
            do {
                query.filters.append(try Self.filter(row, of: type))
            } catch {
                filterProblems[index] = error.reason
            }
        }
        for (index, row) in form.sorts.enumerated() {
            do {
                query.sorts.append(try Self.sort(row, of: type))
            } catch {
                sortProblems[index] = error.reason
            }
        }
        self.query = query
        self.filterProblems = filterProblems
        self.sortProblems = sortProblems
    }

    var canRun: Bool { filterProblems.isEmpty && sortProblems.isEmpty }

    /// The problem of the first invalid row.
    var firstProblem: String? {
        filterProblems.min { $0.key < $1.key }?.value ?? sortProblems.min { $0.key < $1.key }?.value
    }

    private static func filter(_ row: QueryForm.Filter, of type: RecordType) throws(FilterValueProblem) -> Query.Filter
    {
        // The database itself refuses an unknown field, with the message that all clients get.
        guard let field = type.queryField(named: row.field) else {
            return Query.Filter(
                row.field, row.comparator ?? .equals, FieldInput(.string(FilterValueReader.alone(row.value, of: nil))))
        }
        guard let comparator = row.comparator ?? field.usualComparator else {
            throw FilterValueProblem(reason: "Fields of type \(field.definition.type.schemaName) can't be compared.")
        }
        do {
            let input = try FilterValueReader(field: field, comparator: comparator).input(row.value)
            return Query.Filter(row.field, comparator, input, distance: try distance(row, comparator))
        } catch let problem as FilterValueProblem {
            throw problem
        } catch {
            throw FilterValueProblem(reason: "\(error)")
        }
    }

    private static func distance(_ row: QueryForm.Filter, _ comparator: Records.Comparator) throws(FilterValueProblem)
        -> Double?
    {
        guard comparator == .near, !row.distance.isEmpty else { return nil }
        guard let metres = Double(row.distance), metres.isFinite, metres >= 0 else {
            throw FilterValueProblem(reason: "‘\(row.distance)’ is not a distance. Write it in metres, as 5000.")
        }
        return metres
    }

    private static func sort(_ row: QueryForm.Sort, of type: RecordType) throws(FilterValueProblem) -> Query.Sort {
        guard let field = type.queryField(named: row.field), field.definition.type == .location else {
            return Query.Sort(row.field, ascending: !row.isDescending)
        }
        if row.origin.isEmpty {
            throw FilterValueProblem(reason: "Enter the origin of the distances, as 47.45, -122.31.")
        }
        do {
            return Query.Sort(
                row.field, ascending: !row.isDescending, relativeLocation: try FilterValueReader.location(row.origin))
        } catch let problem as FilterValueProblem {
            throw problem
        } catch {
            throw FilterValueProblem(reason: "\(error)")
        }
    }
}

// MARK: - Values of filters

/// An input that is not a value of its field's type, with a valid example.
struct FilterValueProblem: Error {
    let reason: String
}

/// Reads the input of a filter as a value of its field's type.
struct FilterValueReader {
    let field: QueryField
    let comparator: Records.Comparator

    /// - Throws: ``FilterValueProblem`` if the text is not a value of the field's type.
    func input(_ text: String) throws -> FieldInput {
        if comparator == .containsAllTokens || comparator == .containsAnyTokens {
            return FieldInput(.string(Self.alone(text, of: field)))
        }
        let type = field.definition.type.valueType
        guard comparator.takesList else { return FieldInput(try scalar(Self.alone(text, of: field))) }
        // Locations contain commas.
        let parts = type == .location ? text.split(separator: ";").map(\.trimmingSpaces) : Self.parts(text)
        let values = try parts.map { try scalar($0) }
        // Names are compared as strings, although the schema types them as references.
        return FieldInput(.list(values, of: field.isName ? .reference : type))
    }

    private func scalar(_ text: String) throws -> FieldValue {
        let trimmed = text.trimmingCharacters(in: .whitespaces)
        switch field.definition.type.valueType {
        case .string: return .string(text)
        case .reference: return .reference(Reference(recordName: Name(text)))
        case .int64:
            guard let integer = Int64(trimmed) else { throw problem(text, "not a 64-bit whole number", "42") }
            return .int64(integer)
        case .double:
            guard let double = Double(trimmed), double.isFinite else { throw problem(text, "not a number", "3.14") }
            return .double(double)
        case .timestamp:
            guard let timestamp = Timestamp(utcText: trimmed) else {
                throw problem(text, "not a time", "2026-11-01 00:00, in UTC")
            }
            return .timestamp(timestamp)
        case .location:
            return .location(try Self.location(trimmed))
        case .bytes:
            guard let data = Data(base64Encoded: trimmed) else { throw problem(text, "not base64", "SGVsbG8=") }
            return .bytes([UInt8](data))
        case .asset: throw FilterValueProblem(reason: "Assets can't be compared.")
        }
    }

    private func problem(_ text: String, _ what: String, _ example: String) -> FilterValueProblem {
        FilterValueProblem(reason: "‘\(text)’ is \(what). Write it as \(example).")
    }

    /// Reads latitude and longitude, such as `47.45, -122.31`.
    static func location(_ text: String) throws -> Location {
        let numbers = text.split { $0 == "," || $0 == " " || $0 == ";" }.map { Double($0) }
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1], (-90...90).contains(latitude),
            (-180...180).contains(longitude)
        else {
            throw FilterValueProblem(
                reason: "‘\(text)’ is not a location. Write latitude and longitude in degrees, as 47.45, -122.31.")
        }
        return Location(latitude: latitude, longitude: longitude)
    }

    /// The text of a single value. In double quotes it is what they enclose, with two quotes for one, as in a list.
    /// Without quotes, the blanks around it belong to a text alone: they come with a copied record name.
    static func alone(_ text: String, of field: QueryField?) -> String {
        unquoted(text)
            ?? (field.map { $0.definition.type.valueType == .string } ?? true
                ? text : text.trimmingCharacters(in: .whitespaces))
    }

    /// What the double quotes around a text enclose; `nil` for a text that is not one quotation as a whole.
    private static func unquoted(_ text: String) -> String? {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count > 1, scalars.first == "\"", scalars.last == "\"" else { return nil }
        var enclosed = String.UnicodeScalarView()
        var isDoubled = false
        for scalar in scalars.dropFirst().dropLast() {
            if isDoubled, scalar != "\"" { return nil }
            isDoubled = scalar == "\"" && !isDoubled
            if !isDoubled { enclosed.append(scalar) }
        }
        return isDoubled ? nil : String(enclosed)
    }

    /// The values of a comma-separated list. Values that contain commas or begin with a quote need double
    /// quotes. Inside quotes, two quotes mean one. In a value without quotes, a quote stands for itself.
    static func parts(_ text: String) -> [String] {
        var parts: [String] = []
        var part = ""
        var isQuoted = false
        var wasQuoted = false
        var isBehindQuote = false
        for scalar in text.unicodeScalars {
            defer { isBehindQuote = scalar == "\"" && wasQuoted && !isQuoted }
            if scalar == "\"", wasQuoted || part.isEmpty {
                if isBehindQuote { part.append("\"") }
                isQuoted.toggle()
                wasQuoted = true
            } else if scalar == ",", !isQuoted {
                parts.append(wasQuoted ? part : part.trimmingCharacters(in: .whitespaces))
                part = ""
                wasQuoted = false
            } else if !(wasQuoted && !isQuoted && scalar == " "), !(part.isEmpty && !isQuoted && scalar == " ") {
                part.unicodeScalars.append(scalar)
            }
        }
        parts.append(wasQuoted ? part : part.trimmingCharacters(in: .whitespaces))
        return parts
    }
}

// MARK: - A query in words

/// A query in words, as in the form of the tab Query: `Message where room is general, sorted by sentAt newest first`.
enum QuerySentence {
    /// The maximum length of a value, in characters.
    private static let valueLimit = 60

    /// - Parameters:
    ///   - zone: the zone in words, such as `Chats` or `all zones`; `nil` to leave it out.
    ///   - title: the title of the record of a reference, if it is known.
    static func text(
        of query: Query, type: RecordType?, in zone: String? = nil, title: (Reference) -> String? = { _ in nil }
    ) -> String {
        var parts = [query.recordType.string + (zone.map { " in \($0)" } ?? "")]
        if !query.filters.isEmpty {
            parts.append(
                "where " + query.filters.map { text(of: $0, type: type, title: title) }.joined(separator: " and "))
        }
        let sorts = query.sorts.map { text(of: $0, type: type) }
        return parts.joined(separator: " ")
            + (sorts.isEmpty ? "" : ", sorted by " + sorts.joined(separator: ", then by "))
    }

    private static func text(of filter: Query.Filter, type: RecordType?, title: (Reference) -> String?) -> String {
        let (comparison, value) = parts(of: filter, type: type, title: title)
        return "\(comparison) \(value)"
    }

    /// The two parts of a filter, such as `room is` and `General`.
    static func parts(of filter: Query.Filter, type: RecordType?, title: (Reference) -> String?) -> (String, String) {
        let field = type?.queryField(named: filter.fieldName)
        let words = field?.comparators.first { $0.comparator == filter.comparator }?.words ?? filter.comparator.rawValue
        let value =
            filter.value == .cleared
            ? "no value" : filter.reference.flatMap(title) ?? QueryForm.text(of: filter.value, as: field)
        let shown = value.count > valueLimit ? value.prefix(valueLimit) + "…" : value[...]
        if filter.comparator == .near {
            let distance = filter.distance.map { "\(Digits.fixed($0, 0)) metres" } ?? "any distance"
            return ("\(filter.fieldName) is within \(distance) of", String(shown))
        }
        return ("\(filter.fieldName) \(words)", String(shown))
    }

    static func text(of sort: Query.Sort, type: RecordType?) -> String {
        let words = type?.queryField(named: sort.fieldName)?.orderWords ?? ("ascending", "descending")
        if let location = sort.relativeLocation {
            return
                "distance of \(sort.fieldName) from \(location.latitude), \(location.longitude), \(sort.ascending ? words.0 : words.1)"
        }
        return "\(sort.fieldName) \(sort.ascending ? words.0 : words.1)"
    }
}

extension CheckedQuery {
    /// The titles of the records that the filters refer to. Those of several zones have none: a reference does not say
    /// its zone.
    func titles(_ visit: Visit) async throws -> (Reference) -> String? {
        guard let zoneID = visit.queriedZone else { return { _ in nil } }
        let titles = try await ReferencedTitles(
            query.filters.compactMap { $0.reference?.target(from: zoneID) }, known: [], visit)
        return { titles[$0, from: zoneID] }
    }
}

extension Visit {
    /// The zone whose records a query returns; `nil` for several.
    var queriedZone: ZoneID? { place.zoneID ?? (queriesSeveralZones ? nil : .default) }
}

extension Query.Filter {
    /// The reference that values are compared with; `nil` for other values.
    var reference: Reference? {
        switch value {
        case .tagged(.reference(let reference), _, _), .untagged(.reference(let reference), _): reference
        default: nil
        }
    }
}

// MARK: - Number of matches

/// The number of records that match a query, counted page by page. Only the count is kept.
struct MatchCount {
    /// The maximum number of records to count beyond the first page.
    static let limit = 100_000
    private static let pageSize = 1000

    /// Records found.
    let count: Int
    /// True if there are more records than were counted.
    let isCutOff: Bool

    /// `1,940`, or `100,050 or more`.
    var text: String { isCutOff ? "\(Digits.grouped(count)) or more" : Digits.grouped(count) }

    /// - Parameter first: the answer to the request.
    init(_ request: QueryRequest, after first: QueryPage, in database: any RecordDatabase) async throws {
        guard first.continuationMarker != nil else {
            (count, isCutOff) = (first.records.count, false)
            return
        }
        let limit = Self.limit + first.records.count
        let isAnew = request.isQuickerInNoOrder
        var request = isAnew ? request.inNoOrder : request
        request.desiredKeys = []
        var count = isAnew ? 0 : first.records.count
        var marker = isAnew ? nil : first.continuationMarker
        repeat {
            request.continuationMarker = marker
            request.limit = PageLimit(records: min(Self.pageSize, limit - count))
            let page = try await database.query(request)
            count += page.records.count
            marker = page.continuationMarker
            try Task.checkCancellation()
        } while marker != nil && count < limit
        self.count = count
        isCutOff = marker != nil
    }
}

extension QueryRequest {
    /// True if a full scan is faster without the sort order. A sorted page may have to find and
    /// sort all matches again, but in name order each page continues from the previous one.
    var isQuickerInNoOrder: Bool { !query.sorts.isEmpty && !query.filters.isEmpty }

    /// The same request from the beginning, in name order.
    var inNoOrder: QueryRequest {
        var request = self
        request.query.sorts = []
        request.continuationMarker = nil
        return request
    }
}
