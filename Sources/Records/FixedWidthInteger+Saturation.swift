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

    /// The product, clamped to the range of the type.
    public func multipliedSaturated(by other: Self) -> Self {
        let (product, isBeyond) = multipliedReportingOverflow(by: other)
        return isBeyond ? ((self < 0) == (other < 0) ? .max : .min) : product
    }
}

extension Sequence where Element: FixedWidthInteger & SignedInteger {
    /// The sum, clamped to the range of the type. Use it for numbers from another server or a file.
    public var saturatedSum: Element { reduce(0) { $0.addingSaturated($1) } }
}
