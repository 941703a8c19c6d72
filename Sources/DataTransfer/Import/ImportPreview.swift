public import JSON
public import Records

/// What an import would do, found by reading all of its rows and changing nothing.
public struct ImportPreview: Sendable {
    public struct Column: Sendable, Hashable {
        /// The field that the column becomes.
        public let fieldName: Name
        public let type: FieldType
        /// Whether the record type has no such field yet.
        public let isNew: Bool
        /// The columns it is made of: one, or latitude and longitude.
        public let columns: [Name]
    }

    public struct Sample: Sendable {
        public let line: Int
        /// `nil` where the server is to make a name.
        public let recordName: Name?
        public let values: [Name: FieldValue]
    }

    /// In the order of the file.
    public let fields: [Column]
    /// All columns of the file, those that become no field included.
    public let columns: [Name]
    /// The column that names the records.
    public let nameField: Name?
    public let madeType: Bool
    public let indexesMade: [ImportReport.MadeIndex]
    public let notes: [String]
    /// Rows that can be imported.
    public let goodRows: Int
    /// Rows that can't be, at most ``Importer/problemLimit``, and how many there are.
    public let problems: [RowProblem]
    public let problemCount: Int
    /// The first good rows as the records they would become.
    public let samples: [Sample]
}
