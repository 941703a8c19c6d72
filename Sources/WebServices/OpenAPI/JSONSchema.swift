internal import JSON

/// A JSON Schema (draft 2020-12), the schema language of OpenAPI 3.1.
///
/// Objects may have additional members. Clients and this server ignore members that they do not know.
struct JSONSchema: Sendable {
    private(set) var json: JSONObject

    private init(_ members: (Name, JSONValue)...) {
        json = JSONObject(members.map { JSONObject.Member(name: $0.0, value: $0.1) })
    }

    // MARK: Simple values

    static let string = JSONSchema(("type", "string"))
    static let boolean = JSONSchema(("type", "boolean"))
    static let number = JSONSchema(("type", "number"))
    static let integer = JSONSchema(("type", "integer"), ("format", "int64"))
    static let null = JSONSchema(("type", "null"))
    /// A non-negative whole number.
    static let count = JSONSchema(("type", "integer"), ("format", "int64"), ("minimum", 0))
    /// Milliseconds since 1970.
    static let timestamp = JSONSchema(("type", "integer"), ("format", "int64")).described("Milliseconds since 1970")
    /// Any JSON value.
    static let any = JSONSchema()

    /// One of the given strings.
    static func words(_ words: some Sequence<String>) -> JSONSchema {
        JSONSchema(("type", "string"), ("enum", .array(words.map { .string($0) })))
    }

    /// One of the raw values of an enumeration.
    static func words<Word: RawRepresentable & CaseIterable>(of type: Word.Type) -> JSONSchema where Word.RawValue == String {
        words(type.allCases.map(\.rawValue))
    }

    /// A whole number of at least `lowest`.
    static func wholeNumber(from lowest: Int64) -> JSONSchema {
        JSONSchema(("type", "integer"), ("format", "int64"), ("minimum", .integer(lowest)))
    }

    /// A string that matches a regular expression.
    static func text(matching pattern: String, limit: Int? = nil) -> JSONSchema {
        var schema = JSONSchema(("type", "string"), ("pattern", .string(pattern)))
        if let limit { schema.json["maxLength"] = .integer(Int64(limit)) }
        return schema
    }

    // MARK: Composed values

    static func array(of element: JSONSchema, limit: Int? = nil) -> JSONSchema {
        var schema = JSONSchema(("type", "array"), ("items", element.value))
        if let limit { schema.json["maxItems"] = .integer(Int64(limit)) }
        return schema
    }

    /// An object with arbitrary member names and values of one schema.
    static func map(of element: JSONSchema) -> JSONSchema {
        JSONSchema(("type", "object"), ("additionalProperties", element.value))
    }

    /// An object with the given members.
    static func object(
        _ required: KeyValuePairs<Name, JSONSchema> = [:], optional: KeyValuePairs<Name, JSONSchema> = [:]
    ) -> JSONSchema {
        var schema = JSONSchema(("type", "object"))
        let members = required.map { ($0.key, $0.value) } + optional.map { ($0.key, $0.value) }
        schema.json["properties"] = .object(JSONObject(members.map { JSONObject.Member(name: $0.0, value: $0.1.value) }))
        if !required.isEmpty { schema.json["required"] = .array(required.map { .string($0.key.string) }) }
        return schema
    }

    static func any(of choices: JSONSchema...) -> JSONSchema { any(of: choices) }

    static func any(of choices: [JSONSchema]) -> JSONSchema {
        if choices.count == 1, let only = choices.first { return only }
        return JSONSchema(("anyOf", .array(choices.map(\.value))))
    }

    /// A reference to a named schema among the document's components.
    static func named(_ component: Components) -> JSONSchema {
        JSONSchema(("$ref", .string("#/components/schemas/\(component.rawValue)")))
    }

    // MARK: Refinements

    func described(_ description: String) -> JSONSchema {
        var schema = self
        schema.json["description"] = .string(description)
        return schema
    }

    func example(_ example: JSONValue) -> JSONSchema {
        var schema = self
        schema.json["examples"] = .array([example])
        return schema
    }

    /// A copy with additional members.
    func adding(_ required: KeyValuePairs<Name, JSONSchema> = [:], optional: KeyValuePairs<Name, JSONSchema> = [:]) -> JSONSchema {
        let more = JSONSchema.object(required, optional: optional)
        var schema = self
        schema.json["properties"] = .object(JSONObject(members.map(\.member) + more.members.map(\.member)))
        let names = (members + more.members).filter(\.isRequired).map { JSONValue.string($0.name.string) }
        if !names.isEmpty { schema.json["required"] = .array(names) }
        return schema
    }

    /// A member of an object.
    struct Member {
        let name: Name
        let schema: JSONValue
        let isRequired: Bool

        fileprivate var member: JSONObject.Member { JSONObject.Member(name: name, value: schema) }
    }

    /// The named members of an object.
    var members: [Member] {
        guard case .object(let properties)? = json["properties"] else { return [] }
        let required: [JSONValue] = if case .array(let names)? = json["required"] { names } else { [] }
        return properties.map { Member(name: $0.name, schema: $0.value, isRequired: required.contains(.string($0.name.string))) }
    }

    var value: JSONValue { .object(json) }
}
