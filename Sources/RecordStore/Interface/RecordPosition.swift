/// Position of a record in the feed of its zone, on the same scale as change tokens.
public struct RecordPosition: Sendable, Hashable {
    /// Position of the latest save. A client whose token is at or after it has the current record.
    public var latest: Int64
    /// Position of the save that created the record.
    public var born: Int64

    public init(latest: Int64, born: Int64) {
        self.latest = latest
        self.born = born
    }
}
