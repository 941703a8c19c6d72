public import Records

/// A database that knows where its records stand in the feeds of their zones.
public protocol RecordPositioning: RecordDatabase {
    /// - Returns: `nil` when there is no such record.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func position(of recordID: RecordID) async throws -> RecordPosition?
}

/// Where a record stands in the feed of its zone, in the numbers in which change tokens count.
public struct RecordPosition: Sendable, Hashable {
    /// Of its latest save. A client whose token stands here or later has been told of the record as it is.
    public var latest: Int64
    /// Of the save that made it.
    public var born: Int64

    public init(latest: Int64, born: Int64) {
        self.latest = latest
        self.born = born
    }
}
