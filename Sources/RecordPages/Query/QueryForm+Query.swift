internal import Console
internal import Foundation
internal import JSON
package import Records
internal import Text

// Conversion from a query to its form.

extension QueryForm {
    /// The form of a query from a request.
    /// - Returns: `nil` if the form can't express the query: it has a limited number of rows, and no comparison with an absent value.
    package init?(_ query: Query, of type: RecordType?) {
        guard query.filters.count <= Self.rowLimit, query.sorts.count <= Self.rowLimit, !query.filters.contains(where: { $0.value == .cleared })
        else { return nil }
        self.init(FormFields())
        self.type = query.recordType
        filters = query.filters.map { filter in
            Filter(
                field: filter.fieldName, comparator: filter.comparator,
                value: Self.text(of: filter.value, as: type?.queryField(named: filter.fieldName)),
                distance: filter.distance.map { $0.rounded() == $0 && abs($0) < 1e15 ? String(Int64($0)) : $0.description } ?? "")
        }
        sorts = query.sorts.map { sort in
            Sort(field: sort.fieldName, isDescending: !sort.ascending, origin: sort.relativeLocation.map(Self.text) ?? "")
        }
    }

    /// The input text of a value, in the format of ``FilterValueReader``.
    static func text(of input: FieldInput, as field: QueryField?) -> String {
        let given: FieldValue
        switch input {
        case .cleared: return ""
        case .tagged(let value, _, _): given = value
        case .untagged(let value, _): given = field.flatMap { input.value(declared: FieldType($0.definition.type.valueType)) } ?? value
        }
        guard case .list(let elements, _) = given else { return aloneText(text(of: given)) }
        if case .location? = elements.first { return elements.map(text).joined(separator: "; ") }
        return listText(elements.map(text))
    }

    /// The input text of a single value, in quotation marks where it would read as another one without: the empty text, one that begins
    /// with a quotation mark, and one with blanks around it, which nobody sees in a form.
    static func aloneText(_ value: String) -> String {
        let isPlain = !value.isEmpty && value.utf8.first != UInt8(ascii: "\"") && value.trimmingWhiteSpace.utf8.count == value.utf8.count
        return isPlain ? value : value.csvQuoted
    }

    /// The input text of a list: comma-separated, with quotation marks where required.
    static func listText(_ values: [String]) -> String {
        values.map { text in
            let isPlain = !text.isEmpty && !text.utf8.contains { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }
            if isPlain, text.trimmingCharacters(in: .whitespaces).utf8.count == text.utf8.count { return text }
            return text.csvQuoted
        }.joined(separator: ", ")
    }

    private static func text(of value: FieldValue) -> String {
        switch value {
        case .string(let string): string
        case .int64(let integer): String(integer)
        case .double(let double): double.description
        case .bytes(let bytes): Data(bytes).base64EncodedString()
        case .timestamp(let timestamp): timestamp.utcText
        case .location(let location): text(of: location)
        case .reference(let reference): reference.recordName.string
        case .asset(let asset): asset.fileChecksum
        case .list(let elements, _): elements.map(text).joined(separator: ", ")
        }
    }

    private static func text(of location: Location) -> String {
        "\(location.latitude), \(location.longitude)"
    }
}
