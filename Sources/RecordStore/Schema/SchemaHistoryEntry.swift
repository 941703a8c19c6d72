public import JSON
public import Records

/// An entry of the schema history.
public struct SchemaHistoryEntry: Sendable, Hashable {
    /// The cause of a schema change.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// An edit of types, fields, indexes or grants.
        case edit = "EDIT"
        /// A schema file was imported.
        case schemaImport = "IMPORT"
        /// The development schema was deployed.
        case deployment = "DEPLOY"
        /// The environment was reset.
        case reset = "RESET"
        /// A save with unknown types or fields (just-in-time schema).
        case save = "SAVE"
        /// An import or restore of records, or the creation of demo data.
        case data = "DATA"
    }

    /// Increases with each entry, not necessarily by one.
    public var number: Int64
    public var timestamp: Timestamp
    public var userRecordName: Name
    public var reason: Reason
    /// One line per change, as in ``SchemaDifference``.
    public var changes: [String]

    public init(number: Int64, timestamp: Timestamp, userRecordName: Name, reason: Reason, changes: [String]) {
        self.number = number
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.reason = reason
        self.changes = changes
    }
}
