internal import JSON
internal import Records

extension Cell {
    /// The value for a field of the given type; `nil` if the cell is not a valid value of the type.
    func value(as type: FieldType, field: Name) -> FieldValue? {
        switch self {
        case .text(let text) where type.isList:
            guard case .array(let elements)? = try? JSONReader.value(of: text) else { return nil }
            return Cell.json(.array(elements)).value(as: type, field: field)
        case .text(let text): return Self.value(of: text, as: type.valueType)
        case .json(.array(let elements)) where type.isList:
            let values = elements.compactMap { Cell.json($0).value(as: FieldType(type.valueType), field: field) }
            return values.count == elements.count ? .list(values, of: type.valueType) : nil
        case .json(let json): return type.isList ? nil : Self.value(of: json, as: type, field: field)
        }
    }

    private static func value(of text: String, as type: ValueType) -> FieldValue? {
        switch type {
        case .string: .string(text)
        case .int64: if case .integer(let integer)? = NumberText(text) { .int64(integer) } else { nil }
        case .double: Cell.text(text).number.map { .double($0) }
        case .timestamp: DateText.timestamp(of: text).map { .timestamp($0) }
        case .reference: .reference(Reference(recordName: Name(text)))
        case .bytes: tagged(.string(text), as: .bytes, field: "")
        // The degrees alone, or all members of a location.
        case .location:
            CoordinatesText.location(of: text).map { .location($0) }
                ?? (try? JSONReader.value(of: text)).flatMap { tagged($0, as: FieldType(.location), field: "") }
        case .asset: (try? JSONReader.value(of: text)).flatMap { tagged($0, as: FieldType(.asset), field: "") }
        }
    }

    private static func value(of json: JSONValue, as type: FieldType, field: Name) -> FieldValue? {
        switch (type.valueType, json) {
        case (.string, .integer(let integer)): .string(String(integer))
        case (.string, .double(let double)): .string(double.description)
        case (.string, .bool(let bool)): .string(bool ? "true" : "false")
        case (.timestamp, .string(let text)): DateText.timestamp(of: text).map { .timestamp($0) }
        case (.int64, .string), (.double, .string): nil
        default: tagged(json, as: type, field: field)
        }
    }

    /// The value as parsed from a request with a type tag.
    private static func tagged(_ json: JSONValue, as type: FieldType, field: Name) -> FieldValue? {
        let tagged: JSONValue = ["value": json, "type": .string(FieldType(type.valueType).wireName)]
        // The caller reports the error with its row and column.
        guard case .tagged(let value, _, _)? = try? FieldInput(tagged, field: field) else { return nil }
        return value
    }
}
