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
        try self.init(record, comparing: query.comparedFields)
    }

    /// Decodes some custom fields, for several queries.
    /// - Throws: as ``init(_:for:)``.
    init(_ record: StoredRecord, comparing names: Set<Name>) throws {
        self.record = record
        values = names.isEmpty ? [] : try record.fields.pairs(of: names)
    }

    /// The value of a custom or system field.
    public func value(of key: FieldKey) -> FieldValue? {
        switch key {
        case .custom(let name): values.first { $0.0 == name }?.1
        case .system(let field): record.value(of: field)
        }
    }
}

extension StoredRecord {
    /// The value of a system field; `nil` if the record has none.
    public func value(of field: SystemField) -> FieldValue? {
        switch field {
        case .recordID: .reference(Reference(recordName: recordID.recordName))
        case .createTime: .timestamp(created.timestamp)
        case .modTime: .timestamp(modified.timestamp)
        case .createdBy: .reference(Reference(recordName: created.userRecordName))
        case .modifiedBy: .reference(Reference(recordName: modified.userRecordName))
        case .etag: .string(recordChangeTag)
        case .parent: parent.map { .reference(Reference(recordName: $0)) }
        case .share: nil
        }
    }
}
