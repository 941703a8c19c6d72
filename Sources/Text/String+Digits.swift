extension String {
    /// A number with leading zeros.
    /// - Parameter digits: the minimum number of digits. A negative number has a minus sign besides.
    public init(_ number: some BinaryInteger, digits: Int, radix: Int = 10, uppercase: Bool = false) {
        let text = String(number.magnitude, radix: radix, uppercase: uppercase)
        let zeros = String(repeating: "0" as Character, count: Swift.max(0, digits - text.utf8.count))
        self = (number < 0 ? "-" : "") + zeros + text
    }
}
