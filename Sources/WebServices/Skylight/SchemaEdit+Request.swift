internal import JSON
internal import RecordStore
internal import Records

extension RequestObject {
    private static let editNames: [Name] = [
        "addType", "removeType", "removeField", "setIndexes", "addIndexes", "dropIndexes", "setGrants", "addGrants", "addRole", "removeRole",
        "addCompositeIndex", "removeCompositeIndex",
    ]

    /// A schema edit: an object with exactly one member, which names the kind of edit (docs/services.md).
    func schemaEdit() throws -> SchemaEdit {
        let found = Self.editNames.filter { value($0) != nil }
        guard let name = found.first, found.count == 1 else {
            let what = found.isEmpty ? "none" : found.map(\.string).joined(separator: ", ")
            throw RecordError.unexpectedInput(
                "Expected '\(place)' to have one of \(Self.editNames.map(\.string).joined(separator: ", ")), found \(what)")
        }
        switch name {
        case "addType": return .addType(try RecordType(try value(name, "an object")))
        case "removeType": return .removeType(try self.name(name, "a string"))
        case "removeField": return .removeField(try self.name(name, "a string"), in: try recordType())
        case "setIndexes": return .setIndexes(try indexes(name), of: try field(), in: try recordType())
        case "addIndexes": return .addIndexes(try indexes(name), of: try field(), in: try recordType())
        case "dropIndexes": return .dropIndexes(try indexes(name), of: try field(), in: try recordType())
        case "setGrants": return .setGrants(try grants(name), of: try recordType())
        case "addGrants": return .addGrants(try grants(name), of: try recordType())
        case "addRole": return .addRole(try self.name(name, "a string"))
        case "removeRole": return .removeRole(try self.name(name, "a string"))
        case "addCompositeIndex": return .addCompositeIndex(try CompositeIndex(try value(name, "an object")), in: try recordType())
        default: return .removeCompositeIndex(try CompositeIndex(try value(name, "an object")), in: try recordType())
        }
    }

    private func indexes(_ name: Name) throws -> Indexes {
        try Indexes(names: try required(name, "an array", names(name)))
    }

    private func grants(_ name: Name) throws -> [Grant] {
        try required(name, "an array", objects(name)).map { try Grant(.object($0.members)) }
    }

    private func field() throws -> FieldKey { FieldKey(schemaName: try name("field", "a string")) }

    private func recordType() throws -> Name { try name("recordType", "a string") }

    private func name(_ name: Name, _ kind: String) throws -> Name { try required(name, kind, self.name(name)) }

    private func value(_ name: Name, _ kind: String) throws -> JSONValue { try required(name, kind, value(name)) }
}
