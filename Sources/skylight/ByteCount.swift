import ArgumentParser

/// A byte count as an option value: `50MB`, `2GB`, `1048576`. A kilobyte has 1024 bytes, as in CloudKit's limits.
struct ByteCount: ExpressibleByArgument, Sendable, Hashable {
    let bytes: Int64

    private static let units: [(suffixes: [String], shift: Int64)] = [
        (["t", "tb", "tib"], 40), (["g", "gb", "gib"], 30), (["m", "mb", "mib"], 20), (["k", "kb", "kib"], 10), (["", "b"], 0),
    ]

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    /// - Returns: `nil` unless the text is a positive integer with an optional unit, within 64 bits.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let suffix = argument.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let number = Int64(digits), number > 0, let unit = Self.units.first(where: { $0.suffixes.contains(suffix) }) else { return nil }
        let (bytes, isTooLarge) = number.multipliedReportingOverflow(by: 1 << unit.shift)
        if isTooLarge { return nil }
        self.bytes = bytes
    }

    var defaultValueDescription: String { description }

    /// The count in the largest unit with a value of at least 1: `512 bytes`, `1.4 KB`, `50 MB`.
    var description: String {
        if bytes < 1024 { return bytes == 1 ? "1 byte" : "\(bytes) bytes" }
        var (value, unit) = (Double(bytes) / 1024, 0)
        let names = ["KB", "MB", "GB", "TB"]
        // A value that rounds to 1,024 is shown as 1 of the next unit.
        while value >= 1023.95, unit < names.count - 1 { (value, unit) = (value / 1024, unit + 1) }
        let tenths = (value * 10).rounded()
        let number = tenths.truncatingRemainder(dividingBy: 10) == 0 ? Output.grouped(Int(tenths / 10)) : "\(tenths / 10)"
        return "\(number) \(names[unit])"
    }
}

extension ByteCount: CustomStringConvertible {}
