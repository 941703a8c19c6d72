extension FixedWidthInteger where Self: SignedInteger {
    /// The sum, clamped to the range of the type. Use it for values that may be arbitrary, such as stored sizes.
    public func addingSaturated(_ other: Self) -> Self {
        let (sum, isBeyond) = addingReportingOverflow(other)
        return isBeyond ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, clamped to the range of the type.
    public func subtractingSaturated(_ other: Self) -> Self {
        let (difference, isBeyond) = subtractingReportingOverflow(other)
        return isBeyond ? (other < 0 ? .max : .min) : difference
    }
}
