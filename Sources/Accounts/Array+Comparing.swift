extension [UInt8] {
    /// True if both secrets are equal. Takes constant time, whichever bytes differ.
    public func isSame(as other: [UInt8]) -> Bool {
        count == other.count && zip(self, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
