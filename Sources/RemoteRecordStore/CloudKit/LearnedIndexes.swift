public import Records

/// The known part of the schema of a container in iCloud. It comes from a schema file, from refused queries, and from
/// the fields of received records, because CloudKit's protocol does not report the schema.
public struct LearnedIndexes: Sendable, Hashable {
    /// The maximum number of remembered refusals, and of fields that are known from records.
    public static let limit = 1000

    /// How it is known that an index exists or is missing.
    public enum Source: Sendable, Hashable {
        /// From a schema file, with the time of its import.
        case schemaFile(Timestamp)
        /// From a query that CloudKit refused, with its time.
        case refusal(Timestamp)
    }

    public struct Finding: Sendable, Hashable {
        public let exists: Bool
        public let source: Source
    }

    private struct MissingIndex: Hashable {
        let recordType: Name
        /// The field; `nil` for a type without any index.
        let key: FieldKey?
        let index: Indexes
    }

    /// The schema of the last imported file; `nil` if none was imported.
    private var file: Schema?
    private var imported: Timestamp?
    private var refusals: [MissingIndex: Timestamp] = [:]
    private var seen: [Name: [Name: FieldType]] = [:]

    public init() {}

    /// The known types; `nil` if there are none. A field that is only known from records has every index, except those
    /// that refused queries lacked.
    public var schema: Schema? {
        if file == nil, seen.isEmpty { return nil }
        var schema = file ?? Schema()
        for (name, fields) in seen {
            var type =
                schema.types[name]
                ?? RecordType(
                    name: name,
                    systemIndexes: Dictionary(
                        uniqueKeysWithValues: SystemField.implicit.map { ($0, $0.allowedIndexes) }))
            for (field, fieldType) in fields where type.fields[field] == nil {
                type.fields[field] = FieldDefinition(type: fieldType, indexes: fieldType.allowedIndexes)
            }
            schema.types[name] = type
        }
        for missing in refusals.keys {
            switch missing.key {
            case .custom(let name)?: schema.types[missing.recordType]?.fields[name]?.indexes.subtract(missing.index)
            case .system(let field)?: schema.types[missing.recordType]?.systemIndexes[field]?.subtract(missing.index)
            case nil: break
            }
        }
        return schema
    }

    /// - Parameter index: a single index.
    /// - Returns: `nil` if it is unknown whether the index exists.
    public func finding(_ index: Indexes, of key: FieldKey, in recordType: Name) -> Finding? {
        let absences = [
            MissingIndex(recordType: recordType, key: key, index: index),
            MissingIndex(recordType: recordType, key: nil, index: []),
        ]
        // Refusals are newer than the schema file: an import removes earlier ones.
        if let refused = absences.lazy.compactMap({ refusals[$0] }).first {
            return Finding(exists: false, source: .refusal(refused))
        }
        guard let imported, let definition = file?.types[recordType]?.definition(of: key) else { return nil }
        return Finding(exists: definition.indexes.contains(index), source: .schemaFile(imported))
    }

    /// Learns the indexes of a schema file, and drops earlier refusals.
    mutating func learn(from schema: Schema, at moment: Timestamp) {
        (file, imported, refusals) = (schema, moment, [:])
    }

    /// Learns from Apple's error for a missing index, or for a value of another type than the field has. Other errors
    /// are ignored.
    mutating func learn(from refusal: RecordError, of query: Query, at moment: Timestamp) {
        let missing: MissingIndex
        switch refusal.known {
        case .wrongFilterType?, .wrongComparator?, .encryptedFilter?:
            // The error for encrypted fields has their types without ENCRYPTED_.
            let values =
                KnownReason.wrongComparator.values(in: refusal.reason)
                ?? KnownReason.wrongFilterType.values(in: refusal.reason)
            guard let values, let field = values["field"],
                let type = values["type"].flatMap({ FieldType(wireName: $0) })
            else { return }
            return learn(type, of: Name(field), in: query.recordType)
        case .recordNameNotQueryable?, .notQueryable?, .notSortable?, .notMarked?:
            guard
                let values = KnownReason.notMarked.values(in: refusal.reason), let field = values["field"],
                let index = values["index"].flatMap({ Indexes(name: $0) })
            else { return }
            missing = MissingIndex(recordType: query.recordType, key: Self.key(named: Name(field)), index: index)
        case .typeNotIndexable?:
            missing = MissingIndex(recordType: query.recordType, key: nil, index: [])
        default: return
        }
        refusals[missing] = moment
        guard refusals.count > Self.limit, let oldest = refusals.min(by: { $0.value < $1.value })?.key else { return }
        refusals[oldest] = nil
    }

    /// Learns the types of a record's fields. CloudKit states the type with each value.
    mutating func learn(from record: StoredRecord) throws {
        for field in try record.fields.decoded() where !field.isEncrypted {
            if let type = field.value.type { learn(type, of: field.name, in: record.recordType) }
        }
    }

    private mutating func learn(_ type: FieldType, of field: Name, in recordType: Name) {
        guard seen[recordType]?[field] != type, seen.values.reduce(0, { $0 + $1.count }) < Self.limit else { return }
        seen[recordType, default: [:]][field] = type
    }

    /// Drops refusals that an answer disproves, because the index was added meanwhile.
    mutating func learn(fromAnswerTo query: Query) {
        guard !refusals.isEmpty else { return }
        refusals[MissingIndex(recordType: query.recordType, key: nil, index: [])] = nil
        for (key, index) in Self.needs(of: query) {
            refusals[MissingIndex(recordType: query.recordType, key: key, index: index)] = nil
        }
    }

    /// The single indexes that a query needs by Apple's rules.
    public static func needs(of query: Query) -> [(key: FieldKey, index: Indexes)] {
        var used: [(key: FieldKey, indexes: Indexes)] = query.filters.map {
            (key(named: $0.fieldName), $0.comparator.requiredIndexes)
        }
        used += query.sorts.map { (key(named: $0.fieldName), $0.relativeLocation == nil ? .sortable : .queryable) }
        if query.filters.isEmpty { used.append((.system(.recordID), .queryable)) }
        return used.flatMap { key, indexes in Indexes.named.map(\.1).filter { indexes.contains($0) }.map { (key, $0) } }
    }

    /// Queries and refusals may name a system field in two ways.
    private static func key(named name: Name) -> FieldKey {
        SystemField(named: name).map { .system($0) } ?? .custom(name)
    }
}
