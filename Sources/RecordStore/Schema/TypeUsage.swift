public import JSON
public import Records

/// Number of records of a type, and of records with a value per field.
public struct ValueCounts: Sendable, Hashable {
    public var records: Int
    /// Keyed by the requested field names.
    public var values: [Name: Int]

    public init(records: Int, values: [Name: Int] = [:]) {
        self.records = records
        self.values = values
    }
}

/// Measurements of the records of a type.
public struct TypeUsage: Sendable, Hashable {
    public struct FieldUsage: Sendable, Hashable {
        public var key: FieldKey
        /// Records with a value.
        public var records: Int
        /// Number of distinct values; for a list field, of distinct lists.
        public var distinctValues: Int
        /// True if there may be more: counting stops at ``TypeUsage/distinctLimit``, and at one million in all fields
        /// together.
        public var isCutOff: Bool
        /// Size of the largest value as JSON, in bytes.
        public var largestBytes: Int
        /// The record with the largest value.
        public var largestRecord: RecordID?
        /// Estimated size in bytes of the entries shared by QUERYABLE and SORTABLE.
        public var entryBytes: Int
        public var tokenBytes: Int

        public init(
            key: FieldKey, records: Int = 0, distinctValues: Int = 0, isCutOff: Bool = false, largestBytes: Int = 0, largestRecord: RecordID? = nil,
            entryBytes: Int = 0, tokenBytes: Int = 0
        ) {
            self.key = key
            self.records = records
            self.distinctValues = distinctValues
            self.isCutOff = isCutOff
            self.largestBytes = largestBytes
            self.largestRecord = largestRecord
            self.entryBytes = entryBytes
            self.tokenBytes = tokenBytes
        }
    }

    /// Number of distinct values per field after which counting stops.
    public static let distinctLimit = 100_000

    public var recordType: Name
    public var records: Int
    /// All declared fields by name, then the six system fields, including unused ones.
    public var fields: [FieldUsage]
    public var compositeBytes: [CompositeIndex: Int]

    public init(recordType: Name, records: Int, fields: [FieldUsage], compositeBytes: [CompositeIndex: Int] = [:]) {
        self.recordType = recordType
        self.records = records
        self.fields = fields
        self.compositeBytes = compositeBytes
    }
}
