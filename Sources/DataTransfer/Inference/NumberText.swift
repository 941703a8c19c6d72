/// Parses numbers in data files.
///
/// `007`, `+1`, `1e999` and 20 digits are codes, which stay strings: the number would not say what the text says.
enum NumberText {
    case integer(Int64)
    case decimal(Double)

    init?(_ text: String) {
        var digits = text.utf8[...]
        if digits.first == UInt8(ascii: "-") { digits.removeFirst() }
        let whole = digits.prefix(while: Self.isDigit)
        if whole.count > 1, whole.first == UInt8(ascii: "0") { return nil }
        digits = digits[whole.endIndex...]
        if digits.isEmpty {
            guard !whole.isEmpty, let integer = Int64(text) else { return nil }
            self = .integer(integer)
            return
        }
        if digits.first == UInt8(ascii: ".") {
            digits.removeFirst()
            let fraction = digits.prefix(while: Self.isDigit)
            if fraction.isEmpty { return nil }
            digits = digits[fraction.endIndex...]
        } else if whole.isEmpty {
            return nil
        }
        if let byte = digits.first, byte | 0x20 == UInt8(ascii: "e") {
            digits.removeFirst()
            if digits.first == UInt8(ascii: "+") || digits.first == UInt8(ascii: "-") { digits.removeFirst() }
            let exponent = digits.prefix(while: Self.isDigit)
            if exponent.isEmpty { return nil }
            digits = digits[exponent.endIndex...]
        }
        guard digits.isEmpty, let double = Double(text), double.isFinite else { return nil }
        self = .decimal(double)
    }

    /// True for a number that may be a code: with an exponent, but neither a fraction nor the sign that programs write into exponents.
    static func isLikeCode(_ text: String) -> Bool {
        text.utf8.allSatisfy { isDigit($0) || $0 | 0x20 == UInt8(ascii: "e") } && !text.utf8.allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
