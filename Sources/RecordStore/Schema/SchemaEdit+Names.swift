internal import JSON
public import Records

extension Schema {
    /// Resolves alternative names of system fields, such as `recordName`, unless the type has a custom field with
    /// that name.
    public func resolvingNames(in edits: [SchemaEdit]) -> [SchemaEdit] {
        var own = types.mapValues { Set($0.fields.keys) }
        func key(_ key: FieldKey, in typeName: Name) -> FieldKey {
            guard case .custom(let name) = key, own[typeName]?.contains(name) != true, let field = SystemField(named: name) else { return key }
            return .system(field)
        }
        func resolved(_ index: CompositeIndex, in typeName: Name) -> CompositeIndex {
            CompositeIndex(filter: key(index.filter, in: typeName), sort: key(index.sort, in: typeName))
        }
        return edits.map { edit in
            switch edit {
            case .addType(let type):
                own[type.name, default: []].formUnion(type.fields.keys)
                return edit
            case .removeType(let name):
                own[name] = nil
                return edit
            case .removeField(let name, let typeName):
                own[typeName]?.remove(name)
                return edit
            case .setIndexes(let indexes, let field, let typeName): return .setIndexes(indexes, of: key(field, in: typeName), in: typeName)
            case .addIndexes(let indexes, let field, let typeName): return .addIndexes(indexes, of: key(field, in: typeName), in: typeName)
            case .dropIndexes(let indexes, let field, let typeName): return .dropIndexes(indexes, of: key(field, in: typeName), in: typeName)
            case .addCompositeIndex(let index, let typeName): return .addCompositeIndex(resolved(index, in: typeName), in: typeName)
            case .removeCompositeIndex(let index, let typeName): return .removeCompositeIndex(resolved(index, in: typeName), in: typeName)
            case .setGrants, .addGrants, .addRole, .removeRole: return edit
            }
        }
    }
}
