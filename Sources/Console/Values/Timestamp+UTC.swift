package import Records

// Does not use a formatter, for speed: a table of 200 rows shows hundreds of times, in a fixed format.
extension Timestamp {
    /// `2026-11-20 18:00:00`, in UTC; with milliseconds unless they are 0.
    package var utcText: String {
        let parts = parts
        return "\(parts.date) \(parts.time)" + (parts.millisecond == 0 ? "" : "." + Self.padded(parts.millisecond, 3))
    }

    /// The ISO 8601 format `2026-11-20T18:00:00.000Z`.
    package var isoText: String {
        let parts = parts
        return "\(parts.date)T\(parts.time).\(Self.padded(parts.millisecond, 3))Z"
    }

    private var parts: (date: String, time: String, millisecond: Int64) {
        let (days, inDay) = Self.floorDivide(milliseconds, 86_400_000)
        let (year, month, day) = Self.civil(days)
        let seconds = inDay / 1000
        let date = "\(Self.year(year))-\(Self.padded(month, 2))-\(Self.padded(day, 2))"
        let time = "\(Self.padded(seconds / 3600, 2)):\(Self.padded(seconds / 60 % 60, 2)):\(Self.padded(seconds % 60, 2))"
        return (date, time, inDay % 1000)
    }

    /// Four-digit years as they are; other years with a sign and six digits, as in ISO 8601 and browsers.
    private static func year(_ year: Int64) -> String {
        (0...9999).contains(year) ? padded(year, 4) : (year < 0 ? "-" : "+") + padded(Int64(year.magnitude), 6)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return digits.utf8.count >= width ? digits : String(repeating: "0", count: width - digits.utf8.count) + digits
    }

    private static func floorDivide(_ number: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    /// The Gregorian date of a number of days after 1 January 1970. Works in eras of 400 years that begin on 1 March.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let (era, yearOfEra) = floorDivide(month <= 2 ? year - 1 : year, 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// Parses `2026-11-20`, `2026-11-20 18:00`, `2026-11-20T18:00:00.5+01:00` (UTC without an offset) or milliseconds since 1970.
    package init?(utcText text: String) {
        if let milliseconds = Int64(text), text.utf8.count > 4 {
            self.init(milliseconds: milliseconds)
            return
        }
        let pattern =
            #/(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?/#
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: pattern)?.output, let year = Int64(match.1), let month = Int64(match.2), let day = Int64(match.3),
            (1...12).contains(month), (1...31).contains(day)
        else { return nil }
        let hour = match.4.flatMap { Int64($0) } ?? 0
        let minute = match.5.flatMap { Int64($0) } ?? 0
        let second = match.6.flatMap { Int64($0) } ?? 0
        guard hour < 24, minute < 60, second < 60, Self.civil(Self.days(year, month, day)) == (year, month, day)
        else { return nil }
        let fraction = match.7.flatMap { Int64(($0 + "00").prefix(3)) } ?? 0
        let offset = match.8.map { Self.offset($0) } ?? 0
        let minutes = (Self.days(year, month, day) * 24 + hour) * 60 + minute - offset
        self.init(milliseconds: (minutes * 60 + second) * 1000 + fraction)
    }

    /// The offset from UTC, in minutes, positive to the east.
    private static func offset(_ text: Substring) -> Int64 {
        let digits = text.filter(\.isNumber)
        guard let hours = Int64(digits.prefix(2)), let minutes = Int64(digits.suffix(2)) else { return 0 }
        return (hours * 60 + minutes) * (text.hasPrefix("-") ? -1 : 1)
    }

    /// The time since then in words: `just now`, `3 minutes ago`, `2 years ago`.
    package func agoText(at now: Timestamp) -> String {
        let (distance, overflow) = now.milliseconds.subtractingReportingOverflow(milliseconds)
        if overflow { return "long ago" }
        if distance < 0 { return "in the future" }
        let units: [(Int64, String)] = [
            (31_557_600_000, "year"), (2_629_800_000, "month"), (86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"),
        ]
        for (length, unit) in units where distance >= length { return Digits.count(Int(distance / length), unit) + " ago" }
        return "just now"
    }
}
