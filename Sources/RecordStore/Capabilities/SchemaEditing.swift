public import JSON
public import Records

/// A database whose schema can be read and changed.
public protocol SchemaEditing: RecordDatabase {
    func schema() async throws -> Schema

    /// Applies edits, all or nothing. An index on existing records is complete when the call returns.
    /// - Throws: `RecordError` BAD_REQUEST when an edit contradicts the schema, ACCESS_DENIED in production.
    func edit(_ edits: [SchemaEdit]) async throws -> Schema
}

/// One change of a schema.
public enum SchemaEdit: Sendable, Hashable {
    /// Adds a type, or to an existing one the fields it lacks.
    case addType(RecordType)
    /// Gives a field exactly these indexes.
    case setIndexes(Indexes, of: FieldKey, in: Name)
}
