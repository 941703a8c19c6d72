public import JSON
public import Records

/// A database that can measure what its types hold.
public protocol SchemaMeasuring: RecordDatabase {
    /// Looks at every record of a type, in all databases of the environment and for all users. Takes time with very many records; no save waits.
    /// - Throws: `RecordError` NOT_FOUND for an unknown type.
    func usage(of recordType: Name) async throws -> TypeUsage
}

/// What the records of a type hold.
public struct TypeUsage: Sendable, Hashable {
    public struct FieldUsage: Sendable, Hashable {
        public var key: FieldKey
        /// Records with a value.
        public var records: Int
        /// Different values; of a list, different lists. Counted up to ``TypeUsage/distinctLimit``.
        public var distinctValues: Int
        /// Bytes of the JSON text of the largest value.
        public var largestBytes: Int
        /// The record that has it.
        public var largestRecord: RecordID?
        /// Bytes of the entries of QUERYABLE and SORTABLE, which share them, and of SEARCHABLE, as far as the engine has any; an estimate.
        public var entryBytes: Int
        public var tokenBytes: Int

        public init(
            key: FieldKey, records: Int = 0, distinctValues: Int = 0, largestBytes: Int = 0, largestRecord: RecordID? = nil, entryBytes: Int = 0,
            tokenBytes: Int = 0
        ) {
            self.key = key
            self.records = records
            self.distinctValues = distinctValues
            self.largestBytes = largestBytes
            self.largestRecord = largestRecord
            self.entryBytes = entryBytes
            self.tokenBytes = tokenBytes
        }
    }

    /// Beyond this many in a field, or a million in all fields, different values are not told apart any more.
    public static let distinctLimit = 100_000

    public var recordType: Name
    public var records: Int
    /// All declared fields by name, then the six system fields; those that no record fills included.
    public var fields: [FieldUsage]
    public var compositeBytes: [CompositeIndex: Int]

    public init(recordType: Name, records: Int, fields: [FieldUsage], compositeBytes: [CompositeIndex: Int] = [:]) {
        self.recordType = recordType
        self.records = records
        self.fields = fields
        self.compositeBytes = compositeBytes
    }
}
