public import JSON
public import Records

/// Counts what goes into a page until it is full.
public struct PageFill: Sendable {
    private let limit: PageLimit
    private var records = 0
    private var bytes = 0

    public init(_ limit: PageLimit) {
        self.limit = limit
    }

    /// Whether the page has room for another record; if so, the record counts as in.
    public mutating func admits(_ record: StoredRecord) -> Bool {
        admits(bytes: record.fields.bytes.count)
    }

    /// The same for a record whose fields take so many bytes.
    public mutating func admits(bytes size: Int) -> Bool {
        guard records == 0 || records < limit.records && bytes + size <= limit.bytes else { return false }
        records += 1
        bytes += size
        return true
    }
}

extension StoredRecord {
    /// The record with only the fields named; `nil` leaves all.
    /// - Throws: `RecordError` INTERNAL_ERROR when the stored text is damaged.
    public func keeping(_ desiredKeys: Set<Name>?) throws -> StoredRecord {
        guard let desiredKeys else { return self }
        var record = self
        record.fields = try fields.keeping(desiredKeys)
        return record
    }
}
