internal import Foundation
package import Records

/// The query of a form, and the problems that prevent it.
package struct CheckedQuery: Sendable {
    package let query: Query
    /// The problem with the value of a row, by row index.
    package let filterProblems: [Int: String]
    package let sortProblems: [Int: String]

    package init(_ form: QueryForm, of type: RecordType) {
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

    package var canRun: Bool { filterProblems.isEmpty && sortProblems.isEmpty }

    /// The problem of the first invalid row.
    package var firstProblem: String? {
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
package struct FilterValueProblem: Error {
    package let reason: String
}

/// Reads the input of a filter as a value of its field's type.
package struct FilterValueReader {
    package let field: QueryField
    package let comparator: Records.Comparator

    package init(field: QueryField, comparator: Records.Comparator) {
        (self.field, self.comparator) = (field, comparator)
    }

    /// - Throws: ``FilterValueProblem`` if the text is not a value of the field's type.
    package func input(_ text: String) throws -> FieldInput {
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
    package static func location(_ text: String) throws -> Location {
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
    package static func alone(_ text: String, of field: QueryField?) -> String {
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
    package static func parts(_ text: String) -> [String] {
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
