public import JSON
public import Records

/// What an import did.
public struct ImportReport: Sendable {
    /// An index that was not there before.
    public struct MadeIndex: Sendable, Hashable {
        /// The field, or `recordName` and the like for a system field.
        public let fieldName: Name
        public let indexes: Indexes
    }

    public let recordType: Name
    public let zoneID: ZoneID
    /// Records saved.
    public var saved: Int
    /// The types of the fields that were set.
    public let fields: [Name: FieldType]
    /// In the order of the field names, `recordName` first.
    public let indexesMade: [MadeIndex]
    public let madeType: Bool
    public let madeZone: Bool
    /// Things about the data that its owner should know: columns under another name, columns without values, coordinates.
    public let notes: [String]
    /// The bad rows that were left out, at most ``Importer/problemLimit``.
    public let skipped: [RowProblem]
    public let skippedCount: Int
}
