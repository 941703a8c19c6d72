/// Maximum size of a page. A page has at least one record, whatever its size.
public struct PageLimit: Sendable, Hashable {
    public var records: Int
    /// Maximum total size of fields in bytes, since 200 large records could be huge.
    public var bytes: Int

    public init(records: Int, bytes: Int = 8 << 20) {
        self.records = max(1, records)
        self.bytes = bytes
    }
}
