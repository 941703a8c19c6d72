public import ArgumentParser
public import DataTransfer
public import HTTPServing
public import Logging
public import RecordStore
public import Records

// Types of lower layers as option values.

extension Environment: ExpressibleByArgument {}
extension DatabaseScope: ExpressibleByArgument {}
extension AccessControl.Mode: ExpressibleByArgument {}
extension FileFormat: ExpressibleByArgument {}
extension MirrorOptions.Files: ExpressibleByArgument {}
extension Subscription.Event: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

extension ZoneParticipant.Permission: ExpressibleByArgument {
    public init?(argument: String) {
        switch argument.lowercased() {
        case "read-only", "read_only": self = .readOnly
        case "read-write", "read_write": self = .readWrite
        default: return nil
        }
    }

    public static var allValueStrings: [String] { allCases.map(\.defaultValueDescription) }

    public var defaultValueDescription: String { self == .readOnly ? "read-only" : "read-write" }
}

extension AsOf: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}

// MARK: - Sizes

/// A byte count as an option value: `50MB`, `2GB`, `1048576`. A kilobyte has 1024 bytes, as in CloudKit's limits.
struct ByteCount: ExpressibleByArgument, Sendable, Hashable {
    let bytes: Int64

    private static let units: [(suffixes: [String], shift: Int64)] = [
        (["t", "tb", "tib"], 40), (["g", "gb", "gib"], 30), (["m", "mb", "mib"], 20), (["k", "kb", "kib"], 10),
        (["", "b"], 0),
    ]

    init(_ bytes: Int64) {
        self.bytes = bytes
    }

    /// - Returns: `nil` unless the text is a positive integer with an optional unit, within 64 bits.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let suffix = argument.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let number = Int64(digits), number > 0,
            let unit = Self.units.first(where: { $0.suffixes.contains(suffix) })
        else { return nil }
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
        let number =
            tenths.truncatingRemainder(dividingBy: 10) == 0 ? Output.grouped(Int(tenths / 10)) : "\(tenths / 10)"
        return "\(number) \(names[unit])"
    }
}

extension ByteCount: CustomStringConvertible {}

// MARK: - Grace time

/// A duration as an option value: hours, or a number with `s`, `m`, `h` or `d`.
struct GracePeriod: ExpressibleByArgument, Sendable, Hashable {
    let duration: Duration

    private static let units: [(suffixes: [String], seconds: Int64)] = [
        (["s"], 1), (["m", "min"], 60), (["", "h"], 3600), (["d"], 86_400),
    ]
    /// A hundred years, in seconds.
    private static let limit: Int64 = 36_525 * 86_400

    init(_ duration: Duration) {
        self.duration = duration
    }

    /// - Returns: `nil` unless the text is an integer with an optional unit, of at most a hundred years.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let suffix = argument.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let number = Int64(digits), let unit = Self.units.first(where: { $0.suffixes.contains(suffix) }) else {
            return nil
        }
        let (seconds, isTooLarge) = number.multipliedReportingOverflow(by: unit.seconds)
        guard !isTooLarge, seconds <= Self.limit else { return nil }
        duration = .seconds(seconds)
    }

    var seconds: Int64 { duration.components.seconds }

    var defaultValueDescription: String { description }
}

extension GracePeriod: CustomStringConvertible {
    /// The duration in the largest unit with an integer value: `24 hours`, `90 minutes`.
    var description: String {
        func counted(_ count: Int64, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        if seconds == 0 || seconds % 60 != 0 { return counted(seconds, "second") }
        if seconds % 3600 != 0 { return counted(seconds / 60, "minute") }
        return seconds <= 48 * 3600 || seconds % 86_400 != 0
            ? counted(seconds / 3600, "hour") : counted(seconds / 86_400, "day")
    }
}
