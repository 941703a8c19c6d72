internal import Records

// MARK: - Numbers

/// Parses numbers in data files.
///
/// `007`, `+1`, `1e999` and texts of 20 digits stay strings, because they are codes and a number would not preserve
/// them.
enum NumberText {
    case integer(Int64)
    case decimal(Double)

    init?(_ text: String) {
        var digits = text.utf8[...]
        // Most texts begin with a letter.
        guard let first = digits.first, Self.isDigit(first) || first == UInt8(ascii: "-") || first == UInt8(ascii: ".")
        else { return nil }
        if first == UInt8(ascii: "-") { digits.removeFirst() }
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

    /// True for a number that may be a code: with an exponent, but neither a fraction nor the sign that programs write
    /// into exponents.
    static func isLikeCode(_ text: String) -> Bool {
        text.utf8.allSatisfy { isDigit($0) || $0 | 0x20 == UInt8(ascii: "e") } && !text.utf8.allSatisfy(isDigit)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}

// MARK: - Locations

/// Parses a location in one cell, as the CSV export writes it: `52.52, 13.405`.
enum CoordinatesText {
    /// - Returns: `nil` if the text is not two numbers, or they are beyond ±90 and ±180 degrees.
    static func location(of text: String) -> Location? {
        // Every text of a file is tried, and few have a comma.
        guard let comma = text.utf8.firstIndex(of: UInt8(ascii: ",")),
            let latitude = Cell.text(text[..<comma].trimmingWhiteSpace).number,
            let longitude = Cell.text(text[text.utf8.index(after: comma)...].trimmingWhiteSpace).number
        else { return nil }
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        return Location(latitude: latitude, longitude: longitude)
    }

    /// True for the exact format of the export, in which both numbers have a fraction. `1, 2` is more likely a list.
    static func isExported(_ text: String) -> Bool {
        guard let location = location(of: text) else { return false }
        return text == "\(location.latitude), \(location.longitude)"
    }
}
