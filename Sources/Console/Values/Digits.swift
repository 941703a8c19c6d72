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

    /// Parses a date and time as ``DateText`` does, or milliseconds since 1970.
    package init?(utcText text: String) {
        if let milliseconds = Int64(text), text.utf8.count > 4 {
            self.init(milliseconds: milliseconds)
        } else if let timestamp = DateText.timestamp(of: text) {
            self = timestamp
        } else {
            return nil
        }
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
