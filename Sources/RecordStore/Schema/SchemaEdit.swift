public import JSON
public import Records

/// One change of a schema.
public enum SchemaEdit: Sendable, Hashable {
    /// Adds a type, or the fields and indexes that an existing type lacks. Grants of an existing type stay unchanged.
    case addType(RecordType)
    /// Removes a type and its records.
    case removeType(Name)
    /// Removes a field and its values.
    case removeField(Name, in: Name)
    /// Replaces the indexes of a field.
    case setIndexes(Indexes, of: FieldKey, in: Name)
    /// Adds indexes to a field.
    case addIndexes(Indexes, of: FieldKey, in: Name)
    /// Removes indexes from a field. Indexes it does not have are ignored.
    case dropIndexes(Indexes, of: FieldKey, in: Name)
    /// Replaces the grants of a type.
    case setGrants([Grant], of: Name)
    /// Adds grants to a type.
    case addGrants([Grant], of: Name)
    case addRole(Name)
    /// Removes a role. No type may still grant anything to it.
    case removeRole(Name)
    case addCompositeIndex(CompositeIndex, in: Name)
    case removeCompositeIndex(CompositeIndex, in: Name)
}
