internal import JSON
public import Records

/// A record with the decoded values that a query compares.
public struct QueriedRecord: Sendable {
    public let record: StoredRecord
    /// A few pairs, which are searched faster than a dictionary is made.
    private let values: [(Name, FieldValue)]

    /// Decodes only the fields that the query compares.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public init(_ record: StoredRecord, for query: ResolvedQuery) throws {
        self.record = record
        let names = query.comparedFields
        values = names.isEmpty ? [] : try record.fields.pairs(of: names)
    }

    /// The value of a custom or system field.
    public func value(of key: FieldKey) -> FieldValue? {
        switch key {
        case .custom(let name): values.first { $0.0 == name }?.1
        case .system(.recordID): .reference(Reference(recordName: record.recordID.recordName))
        case .system(.createTime): .timestamp(record.created.timestamp)
        case .system(.modTime): .timestamp(record.modified.timestamp)
        case .system(.createdBy): .reference(Reference(recordName: record.created.userRecordName))
        case .system(.modifiedBy): .reference(Reference(recordName: record.modified.userRecordName))
        case .system(.etag): .string(record.recordChangeTag)
        case .system(.parent): record.parent.map { .reference(Reference(recordName: $0)) }
        case .system(.share): nil
        }
    }
}
