extension FixedWidthInteger where Self: SignedInteger {
    /// The sum, or the nearest number there is where the sum is beyond all: for sizes that anybody may have written.
    public func addingSaturated(_ other: Self) -> Self {
        let (sum, isBeyond) = addingReportingOverflow(other)
        return isBeyond ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest number there is where the difference is beyond all.
    public func subtractingSaturated(_ other: Self) -> Self {
        let (difference, isBeyond) = subtractingReportingOverflow(other)
        return isBeyond ? (other < 0 ? .max : .min) : difference
    }
}
