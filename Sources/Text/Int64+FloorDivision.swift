extension Int64 {
    /// Division that rounds down, so that the remainder is never negative: -1 divided by 60 is -1, remainder 59.
    /// - Parameter divisor: a positive number.
    public func floorDivided(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
