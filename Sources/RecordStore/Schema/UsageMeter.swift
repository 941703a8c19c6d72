internal import JSON
public import Records

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
        for field in SystemField.implicit { add(Self.text(of: field, in: record), to: .system(field), of: record.recordID) }
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
        text.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) } ?? text.forEach { hasher.combine($0) }
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
