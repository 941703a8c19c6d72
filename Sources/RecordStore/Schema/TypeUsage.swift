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
            key: FieldKey, records: Int = 0, distinctValues: Int = 0, isCutOff: Bool = false, largestBytes: Int = 0,
            largestRecord: RecordID? = nil,
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
    /// All declared fields by name, then the six system fields. Fields without values are included.
    public var fields: [FieldUsage]
    public var compositeBytes: [CompositeIndex: Int]

    public init(recordType: Name, records: Int, fields: [FieldUsage], compositeBytes: [CompositeIndex: Int] = [:]) {
        self.recordType = recordType
        self.records = records
        self.fields = fields
        self.compositeBytes = compositeBytes
    }
}

extension ValueCounts {
    /// Counts a record.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func add(_ fields: FieldsText) throws {
        records += 1
        if values.isEmpty { return }
        for (name, _) in try fields.valueTexts() { values[name]? += 1 }
    }
}

// MARK: - Measurement

/// Measures the records of one type, one after the other.
public struct UsageMeter: Sendable {
    /// Maximum number of distinct values counted in all fields together.
    static let valueLimit = 1_000_000

    private struct Gauge: Sendable {
        var usage: TypeUsage.FieldUsage
        /// Hashes of the values seen so far, which need less memory than the values.
        var values: Set<Int> = []
    }

    private let type: RecordType
    private let valueLimit: Int
    private var records = 0
    private var gauges: [FieldKey: Gauge] = [:]
    private var rememberedValues = 0
    /// The fields of the type by name, then the system fields.
    private let keys: [FieldKey]

    public init(of type: RecordType) {
        self.init(of: type, valueLimit: Self.valueLimit)
    }

    init(of type: RecordType, valueLimit: Int) {
        self.type = type
        self.valueLimit = valueLimit
        keys = type.fields.keys.sorted().map { .custom($0) } + SystemField.implicit.map { .system($0) }
        for key in keys { gauges[key] = Gauge(usage: TypeUsage.FieldUsage(key: key)) }
    }

    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public mutating func add(_ record: StoredRecord) throws {
        records += 1
        for (name, text) in try record.fields.valueTexts() { add(text, to: .custom(name), of: record.recordID) }
        for field in SystemField.implicit {
            add(Self.text(of: field, in: record), to: .system(field), of: record.recordID)
        }
    }

    private mutating func add(_ text: some Collection<UInt8>, to key: FieldKey, of recordID: RecordID) {
        guard let slot = gauges.index(forKey: key) else { return }
        gauges.values[slot].usage.records += 1
        if text.count > gauges.values[slot].usage.largestBytes {
            gauges.values[slot].usage.largestBytes = text.count
            gauges.values[slot].usage.largestRecord = recordID
        }
        if gauges.values[slot].usage.isCutOff { return }
        var hasher = Hasher()
        text.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            ?? text.forEach { hasher.combine($0) }
        let hash = hasher.finalize()
        if gauges.values[slot].values.contains(hash) { return }
        if gauges.values[slot].values.count < TypeUsage.distinctLimit, rememberedValues < valueLimit {
            gauges.values[slot].values.insert(hash)
            rememberedValues += 1
        } else {
            gauges.values[slot].usage.isCutOff = true
        }
    }

    /// The value of a system field in the format of responses.
    private static func text(of field: SystemField, in record: StoredRecord) -> [UInt8] {
        let text =
            switch field {
            case .recordID: record.recordID.recordName.string
            case .createTime: String(record.created.timestamp.milliseconds)
            case .modTime: String(record.modified.timestamp.milliseconds)
            case .createdBy: record.created.userRecordName.string
            case .modifiedBy: record.modified.userRecordName.string
            case .etag: record.recordChangeTag
            case .parent: record.parent?.string ?? ""
            case .share: ""
            }
        switch field {
        case .createTime, .modTime: return Array(text.utf8)
        default:
            var writer = JSONWriter(capacity: text.utf8.count + 2)
            writer.value(text)
            return writer.bytes
        }
    }

    /// The measurements so far, without the size of an engine's index entries.
    public var usage: TypeUsage {
        TypeUsage(
            recordType: type.name, records: records,
            fields: keys.compactMap { key in
                guard let gauge = gauges[key] else { return nil }
                var usage = gauge.usage
                usage.distinctValues = gauge.values.count
                return usage
            })
    }
}

// MARK: - JSON

extension ValueCounts: JSONObjectCoded {
    package static let form = JSONForm(
        ValueCounts.init(records:values:), JSONPart("records", \.records), JSONPart("values", \.values))
}

extension TypeUsage: JSONObjectCoded {
    package static let form = JSONForm<TypeUsage>(
        { recordType, records, fields, composites in
            TypeUsage(
                recordType: recordType, records: records, fields: fields,
                compositeBytes: Dictionary(
                    (composites ?? []).map { ($0.index, $0.bytes) }, uniquingKeysWith: { first, _ in first }))
        },
        JSONPart("recordType", \.recordType), JSONPart("records", \.records), JSONPart("fields", \.fields),
        JSONPart("compositeIndexes", \.composites))

    private var composites: [CompositeUsage]? {
        let indexes = compositeBytes.sorted {
            ($0.key.filter.schemaName, $0.key.sort.schemaName) < ($1.key.filter.schemaName, $1.key.sort.schemaName)
        }
        return indexes.isEmpty ? nil : indexes.map { CompositeUsage(index: $0.key, bytes: $0.value) }
    }
}

private struct CompositeUsage: JSONObjectCoded {
    let index: CompositeIndex
    let bytes: Int

    static let form = JSONForm(
        CompositeUsage.init(index:bytes:), JSONPart(joined: .members, \.index), JSONPart("bytes", \.bytes))
}

extension TypeUsage.FieldUsage: JSONObjectCoded {
    package static let form = JSONForm(
        TypeUsage.FieldUsage.init(
            key:records:distinctValues:isCutOff:largestBytes:largestRecord:entryBytes:tokenBytes:),
        JSONPart("field", \.key), JSONPart("records", \.records), JSONPart("distinctValues", \.distinctValues),
        JSONPart(joined: .flag("orMore"), \.isCutOff), JSONPart("largestBytes", \.largestBytes),
        JSONPart("largestRecord", \.largestRecord), JSONPart("entryBytes", \.entryBytes),
        JSONPart("tokenBytes", \.tokenBytes))
}
