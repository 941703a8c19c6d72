package import Records
internal import Text

extension Timestamp {
    /// `2026-11-20 18:00:00`, in UTC; with milliseconds unless they are 0.
    package var utcText: String {
        let time = UTCTime(milliseconds: milliseconds)
        return "\(time.dateText) \(time.timeText)" + (time.millisecond == 0 ? "" : "." + String(time.millisecond, digits: 3))
    }

    /// The ISO 8601 format `2026-11-20T18:00:00.000Z`.
    package var isoText: String { UTCTime(milliseconds: milliseconds).isoTextWithMilliseconds }

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
            let date = CivilDate(year: year, month: month, day: day)
        else { return nil }
        let hour = match.4.flatMap { Int64($0) } ?? 0
        let minute = match.5.flatMap { Int64($0) } ?? 0
        let second = match.6.flatMap { Int64($0) } ?? 0
        guard hour < 24, minute < 60, second < 60 else { return nil }
        let fraction = match.7.flatMap { Int64(($0 + "00").prefix(3)) } ?? 0
        let offset = match.8.map { Self.offset($0) } ?? 0
        let minutes = (date.daysSince1970 * 24 + hour) * 60 + minute - offset
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
