public import JSON
internal import Records

extension JSONWriter {
    /// An edit as `schema/edit` takes it (docs/services.md).
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
            case .setIndexes(let indexes, let field, let recordType):
                writer.name("setIndexes")
                writer.value(indexes)
                writer.member("field", field.schemaName)
                writer.member("recordType", recordType)
            case .setGrants(let grants, let recordType):
                writer.name("setGrants")
                writer.array { writer in
                    for grant in grants { writer.value(grant) }
                }
                writer.member("recordType", recordType)
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
}
