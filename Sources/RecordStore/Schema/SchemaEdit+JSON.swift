public import JSON
internal import Records

extension JSONWriter {
    /// Writes an edit in the format of `schema/edit` (docs/services.md).
    public mutating func value(_ edit: SchemaEdit) {
        object { writer in
            switch edit {
            case .addType(let type):
                writer.name("addType")
                writer.value(type)
            case .removeType(let name):
                writer.member("removeType", name)
            case .removeField(let name, let recordType):
                writer.member("removeField", name)
                writer.member("recordType", recordType)
            case .setIndexes(let indexes, let field, let recordType): writer.members("setIndexes", indexes, of: field, in: recordType)
            case .addIndexes(let indexes, let field, let recordType): writer.members("addIndexes", indexes, of: field, in: recordType)
            case .dropIndexes(let indexes, let field, let recordType): writer.members("dropIndexes", indexes, of: field, in: recordType)
            case .setGrants(let grants, let recordType): writer.members("setGrants", grants, of: recordType)
            case .addGrants(let grants, let recordType): writer.members("addGrants", grants, of: recordType)
            case .addRole(let name):
                writer.member("addRole", name)
            case .removeRole(let name):
                writer.member("removeRole", name)
            case .addCompositeIndex(let index, let recordType):
                writer.name("addCompositeIndex")
                writer.value(index)
                writer.member("recordType", recordType)
            case .removeCompositeIndex(let index, let recordType):
                writer.name("removeCompositeIndex")
                writer.value(index)
                writer.member("recordType", recordType)
            }
        }
    }

    private mutating func members(_ edit: Name, _ indexes: Indexes, of field: FieldKey, in recordType: Name) {
        name(edit)
        value(indexes)
        member("field", field.schemaName)
        member("recordType", recordType)
    }

    private mutating func members(_ edit: Name, _ grants: [Grant], of recordType: Name) {
        name(edit)
        array { writer in
            for grant in grants { writer.value(grant) }
        }
        member("recordType", recordType)
    }
}
