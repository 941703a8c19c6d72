public import JSON
public import Records

/// Tracks the contents of a page until it is full.
public struct PageFill: Sendable {
    private let limit: PageLimit
    private var records = 0
    private var bytes = 0

    public init(_ limit: PageLimit) {
        self.limit = limit
    }

    /// Adds a record to the page if it fits.
    /// - Returns: `false` if the page is full.
    public mutating func admits(_ record: StoredRecord) -> Bool {
        admits(bytes: record.fields.bytes.count)
    }

    /// Like ``admits(_:)`` for a record with fields of this size.
    public mutating func admits(bytes size: Int) -> Bool {
        guard records == 0 || records < limit.records && bytes + size <= limit.bytes else { return false }
        records += 1
        bytes += size
        return true
    }
}

extension StoredRecord {
    /// The record with only the given fields; `nil` keeps all.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func keeping(_ desiredKeys: Set<Name>?) throws -> StoredRecord {
        guard let desiredKeys else { return self }
        var record = self
        record.fields = try fields.keeping(desiredKeys)
        return record
    }
}
