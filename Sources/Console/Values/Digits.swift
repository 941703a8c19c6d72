package import Records

/// Number formatting for pages.
package enum Digits {
    /// The number with grouped digits: `48,210`.
    package static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number.magnitude).utf8)
        var bytes: [UInt8] = number < 0 ? [UInt8(ascii: "-")] : []
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(digit)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The number with a fixed number of fraction digits.
    package static func fixed(_ number: Double, _ digits: Int) -> String {
        var scale: Int64 = 1
        for _ in 0..<digits { scale *= 10 }
        // The number may be any, and the scaled one beyond 64 bits.
        guard abs(number) < 1e15, let scaled = Int64(exactly: (number * Double(scale)).rounded()) else {
            return number.description
        }
        let sign = scaled < 0 ? "-" : ""
        let whole = scaled.magnitude / scale.magnitude
        if digits == 0 { return sign + String(whole) }
        return "\(sign)\(whole).\(String(scaled.magnitude % scale.magnitude, digits: digits))"
    }

    /// `412 bytes`, `8.8 MB`, `50 MB`: sizes and limits alike, in powers of 1024, as CloudKit and the options of
    /// `skylight serve` have them. Only an exact number is without a fraction below 100.
    package static func bytes(_ count: Int64) -> String {
        if count == 1 { return "1 byte" }
        if count < 1024 { return "\(grouped(count)) bytes" }
        var value = Double(count)
        for unit in ["KB", "MB", "GB", "TB", "PB"] {
            value /= 1024
            if value < 1023.5 || unit == "PB" {
                return "\(fixed(value, value < 99.5 && value != value.rounded() ? 1 : 0)) \(unit)"
            }
        }
        return "\(count) bytes"
    }

    /// `1 record`, `2 records`. An irregular plural such as `indexes` needs a parameter.
    package static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? noun : plural ?? noun + "s")"
    }
}

// MARK: - Dates

extension Timestamp {
    /// `2026-11-20 18:00:00`, in UTC; with milliseconds unless they are 0.
    package var utcText: String {
        let time = UTCTime(milliseconds: milliseconds)
        return "\(time.dateText) \(time.timeText)"
            + (time.millisecond == 0 ? "" : "." + String(time.millisecond, digits: 3))
    }

    /// The ISO 8601 format `2026-11-20T18:00:00.000Z`.
    package var isoText: String { UTCTime(milliseconds: milliseconds).isoTextWithMilliseconds }

    /// Parses `2026-11-20`, `2026-11-20 18:00`, `2026-11-20T18:00:00.5+01:00` (UTC without an offset) or milliseconds
    /// since 1970.
    package init?(utcText text: String) {
        if let milliseconds = Int64(text), text.utf8.count > 4 {
            self.init(milliseconds: milliseconds)
            return
        }
        let pattern =
            #/(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?\s*(Z|[+-]\d{2}:?\d{2})?/#
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: pattern)?.output, let year = Int64(match.1), let month = Int64(match.2),
            let day = Int64(match.3),
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
            (31_557_600_000, "year"), (2_629_800_000, "month"), (86_400_000, "day"), (3_600_000, "hour"),
            (60_000, "minute"),
        ]
        for (length, unit) in units where distance >= length {
            return Digits.count(Int(distance / length), unit) + " ago"
        }
        return "just now"
    }
}
