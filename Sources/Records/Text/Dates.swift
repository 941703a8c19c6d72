/// A date of the proleptic Gregorian calendar. Every value is an existing date.
public struct CivilDate: Sendable, Hashable {
    /// The astronomical year: year 0 is the year before year 1.
    public let year: Int64
    /// The month, from 1 to 12.
    public let month: Int64
    /// The day, from 1 to the length of the month.
    public let day: Int64

    /// The largest year, and the negative of the smallest one. The number of days in this range fits into 64 bits.
    private static let lastYear: Int64 = 25_000_000_000_000_000

    /// - Returns: `nil` if the date does not exist, or the year is beyond ±25,000,000,000,000,000.
    public init?(year: Int64, month: Int64, day: Int64) {
        guard (-Self.lastYear...Self.lastYear).contains(year), (1...12).contains(month), day >= 1,
            day <= Self.days(in: month, of: year)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    // The two conversions use eras of 400 years that begin on 1 March, so that the leap day is the last day of its
    // year (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms"). 1 January 1970 is day 135,080 of the
    // fourth era.

    /// - Parameter daysSince1970: days since 1 January 1970; negative before it.
    public init(daysSince1970: Int64) {
        let (cycles, rest) = daysSince1970.floorDivided(by: 146_097)
        let (carry, dayOfEra) = (rest + 135_080).floorDivided(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        year = (cycles + carry + 4) * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// Days since 1 January 1970; negative before it.
    public var daysSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).floorDivided(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return (era - 4) * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 135_080
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Division that rounds down, so that the remainder is never negative: -1 divided by 60 is -1, remainder 59.
    /// - Parameter divisor: a positive number.
    public func floorDivided(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

// MARK: - Time of day

/// A moment as a date and a time of day in UTC.
///
/// Faster than a formatter, which matters for pages with hundreds of times.
public struct UTCTime: Sendable, Hashable {
    public let date: CivilDate
    public let hour: Int64
    public let minute: Int64
    public let second: Int64
    /// From 0 to 999.
    public let millisecond: Int64

    /// - Parameter milliseconds: milliseconds since 1 January 1970; negative before it.
    public init(milliseconds: Int64) {
        let (seconds, millisecond) = milliseconds.floorDivided(by: 1000)
        self.init(seconds: seconds, millisecond: millisecond)
    }

    /// - Parameter seconds: seconds since 1 January 1970; negative before it.
    public init(seconds: Int64) {
        self.init(seconds: seconds, millisecond: 0)
    }

    private init(seconds: Int64, millisecond: Int64) {
        let (days, secondOfDay) = seconds.floorDivided(by: 86_400)
        date = CivilDate(daysSince1970: days)
        hour = secondOfDay / 3600
        minute = secondOfDay / 60 % 60
        second = secondOfDay % 60
        self.millisecond = millisecond
    }

    /// `2026-11-20`. Years beyond four digits have a sign and at least six digits, as in ISO 8601.
    public var dateText: String {
        let isShort = (0...9999).contains(date.year)
        let year =
            isShort
            ? String(date.year, digits: 4) : (date.year < 0 ? "-" : "+") + String(date.year.magnitude, digits: 6)
        return "\(year)-\(String(date.month, digits: 2))-\(String(date.day, digits: 2))"
    }

    /// `18:05:07`, without milliseconds.
    public var timeText: String {
        "\(String(hour, digits: 2)):\(String(minute, digits: 2)):\(String(second, digits: 2))"
    }

    /// `2026-11-20T18:05:07Z` in ISO 8601, without milliseconds.
    public var isoText: String { "\(dateText)T\(timeText)Z" }

    /// `2026-11-20T18:05:07.250Z` in ISO 8601.
    public var isoTextWithMilliseconds: String { "\(dateText)T\(timeText).\(String(millisecond, digits: 3))Z" }
}

// MARK: - HTTP

/// HTTP dates (RFC 9110, 5.6.7), as whole seconds since 1970.
public enum HTTPDate {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Formats a date, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func text(_ seconds: Int64) -> String {
        let time = UTCTime(seconds: seconds)
        // 1 January 1970 was a Thursday.
        let weekday = weekdays[Int((time.date.daysSince1970 + 4).floorDivided(by: 7).remainder)]
        let (day, month, year) = (
            String(time.date.day, digits: 2), months[Int(time.date.month) - 1], String(time.date.year, digits: 4)
        )
        return "\(weekday), \(day) \(month) \(year) \(time.timeText) GMT"
    }

    /// Parses any of the three date formats of HTTP.
    /// - Returns: `nil` if the text is not a date.
    public static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        switch words.count {
        case 6 where words[5] == "GMT" && words[0].utf8.count == 4 && words[0].hasSuffix(","):
            // Sun, 06 Nov 1994 08:49:37 GMT
            guard isWeekday(words[0].dropLast()), words[1].utf8.count == 2, words[3].utf8.count == 4 else { return nil }
            return seconds(number(words[3]), words[2], number(words[1]), words[4])
        case 4 where words[3] == "GMT" && words[0].hasSuffix(","):
            // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard isWeekday(words[0].prefix(3)), date.count == 3, date[0].utf8.count == 2, date[2].utf8.count == 2,
                let year = number(date[2])
            else {
                return nil
            }
            // Two-digit years from 70 on belong to the 20th century.
            return seconds(year < 70 ? 2000 + year : 1900 + year, date[1], number(date[0]), words[2])
        case 5:
            // Sun Nov  6 08:49:37 1994
            guard isWeekday(words[0]), words[4].utf8.count == 4 else { return nil }
            return seconds(number(words[4]), words[1], number(words[2]), words[3])
        default:
            return nil
        }
    }

    private static func isWeekday(_ text: Substring) -> Bool {
        weekdays.contains { $0 == text }
    }

    private static func number(_ text: Substring) -> Int64? {
        guard (1...4).contains(text.utf8.count),
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(text)
    }

    private static func seconds(_ year: Int64?, _ monthName: Substring, _ dayOfMonth: Int64?, _ time: Substring)
        -> Int64?
    {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let year, let dayOfMonth, let month = months.firstIndex(where: { $0 == monthName }), parts.count == 3,
            parts.allSatisfy({ $0.utf8.count == 2 }), let hour = number(parts[0]), let minute = number(parts[1]),
            let second = number(parts[2]),
            hour < 24, minute < 60, second <= 60,
            let date = CivilDate(year: year, month: Int64(month) + 1, day: dayOfMonth)
        else { return nil }
        return date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
    }
}
