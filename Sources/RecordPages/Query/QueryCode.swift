internal import JSON
internal import Records

/// A query as JSON for code samples. System fields use CloudKit's own member for them.
enum QueryCode {
    static func json(_ query: Query, type: RecordType?) -> JSONValue {
        var writer = JSONWriter()
        writer.value(query)
        guard case .object(var object)? = try? JSONReader.value(of: writer.bytes) else { return nil }
        for list: Name in ["filterBy", "sortBy"] {
            guard case .array(let items)? = object[list] else { continue }
            object[list] = items.isEmpty ? nil : .array(items.map { named($0, type: type) })
        }
        return .object(object)
    }

    private static func named(_ item: JSONValue, type: RecordType?) -> JSONValue {
        guard case .object(let object) = item, case .string(let name)? = object["fieldName"] else { return item }
        guard case .system(let field) = (type ?? RecordType(name: "")).key(named: Name(name)) else { return item }
        return .object(
            JSONObject(
                object.map { member in
                    member.name == "fieldName" ? JSONObject.Member(name: "systemFieldName", value: .string(field.alias.string)) : member
                }))
    }
}
