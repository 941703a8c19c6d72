import ArgumentParser

/// A duration as an option value: hours, or a number with `s`, `m`, `h` or `d`.
struct GraceTime: ExpressibleByArgument, Sendable, Hashable {
    let duration: Duration

    private static let units: [(suffixes: [String], seconds: Int64)] = [(["s"], 1), (["m", "min"], 60), (["", "h"], 3600), (["d"], 86_400)]
    /// A hundred years, in seconds.
    private static let limit: Int64 = 36_525 * 86_400

    init(_ duration: Duration) {
        self.duration = duration
    }

    /// - Returns: `nil` unless the text is an integer with an optional unit, of at most a hundred years.
    init?(argument: String) {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let suffix = argument.dropFirst(digits.count).drop { $0 == " " }.lowercased()
        guard let number = Int64(digits), let unit = Self.units.first(where: { $0.suffixes.contains(suffix) }) else { return nil }
        let (seconds, isTooLarge) = number.multipliedReportingOverflow(by: unit.seconds)
        guard !isTooLarge, seconds <= Self.limit else { return nil }
        duration = .seconds(seconds)
    }

    var seconds: Int64 { duration.components.seconds }

    var defaultValueDescription: String { description }
}

extension GraceTime: CustomStringConvertible {
    /// The duration in the largest unit with an integer value: `24 hours`, `90 minutes`.
    var description: String {
        func counted(_ count: Int64, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
        if seconds == 0 || seconds % 60 != 0 { return counted(seconds, "second") }
        if seconds % 3600 != 0 { return counted(seconds / 60, "minute") }
        return seconds <= 48 * 3600 || seconds % 86_400 != 0 ? counted(seconds / 3600, "hour") : counted(seconds / 86_400, "day")
    }
}
