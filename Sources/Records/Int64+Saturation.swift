extension Int64 {
    /// The sum, or the nearest number there is where the sum is beyond all: for sizes that anybody may have written.
    public func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isBeyond) = addingReportingOverflow(other)
        return isBeyond ? (other < 0 ? .min : .max) : sum
    }
}
