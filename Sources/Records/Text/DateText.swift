/// Parses dates in common formats: `2012-01-31`, `2012/01/31`, alone or with a time: `2012-01-31T18:05`, `2012-01-31
/// 18:05:07.25Z`, `2012-01-31T18:05:07+01:00`. The default time zone is UTC. Fractions below a millisecond are
/// truncated. Years beyond four digits have a sign and at least six digits, as in ISO 8601.
package enum DateText {
    /// The parsed time; `nil` if the text has another format or the date does not exist.
    package static func timestamp(of text: String) -> Timestamp? {
        var scanner = Scanner(bytes: text.utf8[...])
        guard let date = scanner.date(), let time = scanner.time(), scanner.isAtEnd else { return nil }
        // The midnight before Int64.min does not fit, so days before 1970 are counted from their end.
        let (days, rest) = date < 0 ? (date + 1, time - 86_400_000) : (date, time)
        let (start, isTooFar) = days.multipliedReportingOverflow(by: 86_400_000)
        let (milliseconds, isBeyond) = start.addingReportingOverflow(rest)
        return isTooFar || isBeyond ? nil : Timestamp(milliseconds: milliseconds)
    }

    private struct Scanner {
        var bytes: Substring.UTF8View

        var isAtEnd: Bool { bytes.isEmpty }

        mutating func date() -> Int64? {
            guard let year = year(), let separator = bytes.first,
                separator == UInt8(ascii: "-") || separator == UInt8(ascii: "/")
            else { return nil }
            bytes.removeFirst()
            guard let month = number(digits: 2), take(separator), let day = number(digits: 2) else { return nil }
            return CivilDate(year: year, month: month, day: day)?.daysSince1970
        }

        private mutating func year() -> Int64? {
            let sign: Int64
            if take(UInt8(ascii: "+")) {
                sign = 1
            } else if take(UInt8(ascii: "-")) {
                sign = -1
            } else {
                return number(digits: 4)
            }
            let count = bytes.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
            return (6...12).contains(count) ? number(digits: count).map { sign * $0 } : nil
        }

        /// The milliseconds since midnight UTC; 0 if there is only a date.
        mutating func time() -> Int64? {
            if isAtEnd { return 0 }
            guard take(UInt8(ascii: "T")) || take(UInt8(ascii: "t")) || take(UInt8(ascii: " ")) else { return nil }
            guard let hour = number(digits: 2), hour < 24, take(UInt8(ascii: ":")), let minute = number(digits: 2),
                minute < 60
            else { return nil }
            var milliseconds = (hour * 60 + minute) * 60_000
            if take(UInt8(ascii: ":")) {
                guard let second = number(digits: 2), second < 60 else { return nil }
                milliseconds += second * 1000
                if take(UInt8(ascii: ".")) {
                    guard let fraction = fraction() else { return nil }
                    milliseconds += fraction
                }
            }
            guard let offset = zone() else { return nil }
            return milliseconds - offset
        }

        private mutating func fraction() -> Int64? {
            var milliseconds: Int64 = 0
            var weight: Int64 = 100
            var count = 0
            while let digit {
                milliseconds += digit * weight
                weight /= 10
                count += 1
                bytes.removeFirst()
            }
            return count > 0 ? milliseconds : nil
        }

        /// The offset from UTC in milliseconds, positive to the east.
        private mutating func zone() -> Int64? {
            if isAtEnd || take(UInt8(ascii: "Z")) || take(UInt8(ascii: "z")) { return 0 }
            let sign: Int64
            if take(UInt8(ascii: "+")) { sign = 1 } else if take(UInt8(ascii: "-")) { sign = -1 } else { return nil }
            guard let hours = number(digits: 2), hours < 24 else { return nil }
            if isAtEnd { return sign * hours * 3_600_000 }
            _ = take(UInt8(ascii: ":"))
            guard let minutes = number(digits: 2), minutes < 60 else { return nil }
            return sign * (hours * 60 + minutes) * 60_000
        }

        private mutating func number(digits count: Int) -> Int64? {
            var number: Int64 = 0
            for _ in 0..<count {
                guard let digit else { return nil }
                number = number * 10 + digit
                bytes.removeFirst()
            }
            return number
        }

        private var digit: Int64? {
            guard let byte = bytes.first, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            return Int64(byte - UInt8(ascii: "0"))
        }

        private mutating func take(_ byte: UInt8) -> Bool {
            guard bytes.first == byte else { return false }
            bytes.removeFirst()
            return true
        }
    }
}
