/// How much one page may hold. A page has at least one record, whatever its size.
public struct PageLimit: Sendable, Hashable {
    public var records: Int
    /// Bytes of fields, so that 200 large records don't make one huge page.
    public var bytes: Int

    public init(records: Int, bytes: Int = 8 << 20) {
        self.records = max(1, records)
        self.bytes = bytes
    }
}
