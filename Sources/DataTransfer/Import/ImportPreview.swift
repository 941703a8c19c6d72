public import JSON
public import Records

/// A dry run of an import, which reads all rows and changes nothing.
public struct ImportPreview: Sendable {
    public struct Column: Sendable, Hashable {
        /// The name of the field.
        public let fieldName: Name
        public let type: FieldType
        /// True if the record type does not have the field yet.
        public let isNew: Bool
        /// The source columns: one, or latitude and longitude.
        public let columns: [Name]
        /// The value that makes a column of numbers or dates a STRING, such as `a.csv:5 has 'none'`.
        public let reason: String?
    }

    public struct Sample: Sendable {
        public let line: Int
        /// `nil` if the server generates the name.
        public let recordName: Name?
        public let values: [Name: FieldValue]
    }

    /// The fields in file order.
    public let fields: [Column]
    /// All columns of the file, including those without a field.
    public let columns: [Name]
    /// The column with the record names.
    public let nameField: Name?
    public let madeType: Bool
    public let indexesMade: [ImportReport.MadeIndex]
    public let notes: [String]
    /// The number of valid rows.
    public let goodRows: Int
    /// The invalid rows, at most ``Importer/problemLimit``, and their total number.
    public let problems: [RowProblem]
    public let problemCount: Int
    /// The records that the first valid rows would become.
    public let samples: [Sample]
}
