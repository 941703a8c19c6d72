public import JSON
public import Records

/// A change of a schema: who, when, what.
public struct SchemaHistoryEntry: Sendable, Hashable {
    /// What changed the schema.
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// Somebody edited types, fields, indexes or grants.
        case edit = "EDIT"
        /// A schema file was imported.
        case schemaImport = "IMPORT"
        /// The development schema was deployed.
        case deployment = "DEPLOY"
        /// The environment was reset.
        case reset = "RESET"
        /// A save named types or fields that were not there (just-in-time schema).
        case save = "SAVE"
        /// Records were imported or restored, or demo data made.
        case data = "DATA"
    }

    /// Grows with every entry; not necessarily by one.
    public var number: Int64
    public var timestamp: Timestamp
    public var userRecordName: Name
    public var reason: Reason
    /// One line for each change, as ``SchemaDifference`` words it.
    public var changes: [String]

    public init(number: Int64, timestamp: Timestamp, userRecordName: Name, reason: Reason, changes: [String]) {
        self.number = number
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.reason = reason
        self.changes = changes
    }
}
