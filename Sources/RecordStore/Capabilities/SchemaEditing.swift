public import JSON
public import Records

/// A database whose schema can be read and changed.
///
/// The schema belongs to the container and environment and is shared by all their databases.
public protocol SchemaEditing: RecordDatabase {
    func schema() async throws -> Schema

    /// Applies edits atomically.
    ///
    /// An index on existing records is declared at once and built in the background. Saves continue; queries that
    /// need the index fail with an error that says so. A build continues if the caller is cancelled, and after a
    /// restart. Removing a type or field also removes its records or values.
    /// - Parameters:
    /// - reason: the reason for the history.
    /// - waitingForIndexes: `true` to return only after the added indexes are built.
    /// - Throws: `RecordError` BAD_REQUEST if an edit contradicts the schema, ACCESS_DENIED in production for all
    ///   edits except composite indexes.
    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema

    /// Indexes being built, and dropped indexes whose entries are being removed.
    func indexBuilds() async throws -> [IndexBuildProgress]

    /// Adds to this production schema what the development schema has in addition. Atomic.
    /// - Parameter waitingForIndexes: as in `edit`.
    /// - Throws: `RecordError` BAD_REQUEST in development, or if a type or field would be removed or changed.
    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema

    /// Deletes all records, zones and shares of all users in the environment, and replaces the schema with that of
    /// production.
    /// - Throws: `RecordError` ACCESS_DENIED in production.
    func reset(to production: Schema) async throws -> Schema

    /// The schema history, latest first.
    /// - Parameter before: number of the last entry of the previous page; `nil` starts with the latest entry.
    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry]
}

extension SchemaEditing {
    /// Applies edits and waits until their indexes are built.
    public func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason = .edit) async throws -> Schema {
        try await edit(edits, because: reason, waitingForIndexes: true)
    }
}

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
