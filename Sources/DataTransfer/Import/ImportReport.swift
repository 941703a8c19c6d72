public import JSON
public import Records

/// The result of an import.
public struct ImportReport: Sendable {
    /// A new index.
    public struct MadeIndex: Sendable, Hashable {
        /// The name of the field, or of the system field, such as `recordName`.
        public let fieldName: Name
        public let indexes: Indexes
    }

    public let recordType: Name
    public let zoneID: ZoneID
    /// The number of records saved.
    public var saved: Int
    /// The types of the imported fields.
    public let fields: [Name: FieldType]
    /// The new indexes by field name, `recordName` first.
    public let indexesMade: [MadeIndex]
    public let madeType: Bool
    public let madeZone: Bool
    /// Remarks on the data: renamed columns, columns without values, coordinates.
    public let notes: [String]
    /// The invalid rows that were skipped, at most ``Importer/problemLimit``.
    public let skipped: [RowProblem]
    public let skippedCount: Int
}
