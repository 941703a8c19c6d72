public import JSON
public import Records

/// A database whose schema can be read and changed.
///
/// The schema belongs to the container's environment: all of its databases share it.
public protocol SchemaEditing: RecordDatabase {
    func schema() async throws -> Schema

    /// Applies edits, all or nothing.
    ///
    /// An index on existing records is declared at once and built in the background: saves go on, queries that need it are answered that it is
    /// being built. A build goes on when the caller goes away, and after a restart. What an edit removes (types, fields) goes with the
    /// records, or the values, that are there.
    /// - Parameters:
    ///   - reason: why, for the history.
    ///   - waitingForIndexes: whether to return only when the indexes that the edits add are built.
    /// - Throws: `RecordError` BAD_REQUEST when an edit contradicts the schema, ACCESS_DENIED for all but composite indexes in production.
    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema

    /// The indexes that are being built, or whose entries are being removed after they were dropped.
    func indexBuilds() async throws -> [IndexBuildProgress]

    /// Takes over what a development schema has beyond this production schema; all or nothing.
    /// - Parameter waitingForIndexes: as in `edit`.
    /// - Throws: `RecordError` BAD_REQUEST in development, and when it would remove or change a type or a field.
    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema

    /// Takes everything out of the environment: all records, zones and shares of all users, and its schema, which becomes that of production.
    /// - Throws: `RecordError` ACCESS_DENIED in production.
    func reset(to production: Schema) async throws -> Schema

    /// What changed the schema, latest first.
    /// - Parameter before: the number of the entry that the page before ended with; `nil` for the latest.
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
    /// Adds a type, or to an existing one the fields and indexes it lacks. Grants of an existing type stay.
    case addType(RecordType)
    /// Removes a type and its records.
    case removeType(Name)
    /// Removes a field and the values that records have in it.
    case removeField(Name, in: Name)
    /// Gives a field exactly these indexes.
    case setIndexes(Indexes, of: FieldKey, in: Name)
    /// Gives a field these indexes beside those that it has.
    case addIndexes(Indexes, of: FieldKey, in: Name)
    /// Takes these indexes from a field, as far as it has them.
    case dropIndexes(Indexes, of: FieldKey, in: Name)
    /// Gives a type exactly these grants.
    case setGrants([Grant], of: Name)
    /// Grants this beside what a type grants.
    case addGrants([Grant], of: Name)
    case addRole(Name)
    /// Removes a role, which no type may grant anything to any more.
    case removeRole(Name)
    case addCompositeIndex(CompositeIndex, in: Name)
    case removeCompositeIndex(CompositeIndex, in: Name)
}
