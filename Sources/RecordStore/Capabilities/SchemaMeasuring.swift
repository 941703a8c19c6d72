public import JSON
public import Records

/// A database that can measure what its types hold.
public protocol SchemaMeasuring: RecordDatabase {
    /// Looks at every record of a type, in all databases of the environment and for all users. Takes time with very many records; no save waits.
    /// - Throws: `RecordError` NOT_FOUND for an unknown type.
    func usage(of recordType: Name) async throws -> TypeUsage

    /// Counts the records of a type, in all databases of the environment and for all users, and how many of them have a value in some fields.
    /// Without fields that takes no longer with more records; otherwise it looks at each of them, which is quicker than ``usage(of:)``.
    /// - Parameter fields: names of the type's own fields; those that it does not have count 0.
    /// - Throws: `RecordError` NOT_FOUND for an unknown type.
    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts
}

/// How many records a type has, and how many of them have a value in a field.
public struct ValueCounts: Sendable, Hashable {
    public var records: Int
    /// By the names of the fields that were asked for.
    public var values: [Name: Int]

    public init(records: Int, values: [Name: Int] = [:]) {
        self.records = records
        self.values = values
    }
}

/// What the records of a type hold.
public struct TypeUsage: Sendable, Hashable {
    public struct FieldUsage: Sendable, Hashable {
        public var key: FieldKey
        /// Records with a value.
        public var records: Int
        /// Different values; of a list, different lists.
        public var distinctValues: Int
        /// Whether there may be more of them: counting stops at ``TypeUsage/distinctLimit``, and at a million in all fields.
        public var isCutOff: Bool
        /// Bytes of the JSON text of the largest value.
        public var largestBytes: Int
        /// The record that has it.
        public var largestRecord: RecordID?
        /// Bytes of the entries of QUERYABLE and SORTABLE, which share them, and of SEARCHABLE, as far as the engine has any; an estimate.
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

    /// Beyond this many in a field different values are not told apart any more.
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
