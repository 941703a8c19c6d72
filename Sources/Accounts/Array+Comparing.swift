extension [UInt8] {
    /// Whether two secrets are the same, in a time that does not tell which of their bytes differ.
    public func isSame(as other: [UInt8]) -> Bool {
        count == other.count && zip(self, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
