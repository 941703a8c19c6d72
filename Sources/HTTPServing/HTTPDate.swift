/// HTTP dates (RFC 9110, 5.6.7), as whole seconds since 1970.
enum HTTPDate {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let secondsPerDay: Int64 = 86_400

    /// Formats a date, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ seconds: Int64) -> String {
        let day = seconds.floorDivided(by: secondsPerDay)
        let second = seconds - day * secondsPerDay
        let (year, month, dayOfMonth) = civil(day)
        // 1 January 1970 was a Thursday.
        let weekday = weekdays[Int((day + 4) - (day + 4).floorDivided(by: 7) * 7)]
        func digits(_ value: Int64, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let time = [second / 3600, second / 60 % 60, second % 60].map { digits($0, 2) }.joined(separator: ":")
        return "\(weekday), \(digits(dayOfMonth, 2)) \(months[Int(month) - 1]) \(digits(year, 4)) \(time) GMT"
    }

    /// Parses any of the three date formats of HTTP.
    /// - Returns: `nil` if the text is not a date.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        switch words.count {
        case 6 where words[5] == "GMT" && words[0].utf8.count == 4 && words[0].hasSuffix(","):
            // Sun, 06 Nov 1994 08:49:37 GMT
            guard isWeekday(words[0].dropLast()), words[1].utf8.count == 2, words[3].utf8.count == 4 else { return nil }
            return seconds(number(words[3]), words[2], number(words[1]), words[4])
        case 4 where words[3] == "GMT" && words[0].hasSuffix(","):
            // Sunday, 06-Nov-94 08:49:37 GMT
            let date = words[1].split(separator: "-", omittingEmptySubsequences: false)
            guard isWeekday(words[0].prefix(3)), date.count == 3, date[0].utf8.count == 2, date[2].utf8.count == 2, let year = number(date[2]) else {
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
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text)
    }

    private static func seconds(_ year: Int64?, _ monthName: Substring, _ dayOfMonth: Int64?, _ time: Substring) -> Int64? {
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let year, let dayOfMonth, let month = months.firstIndex(where: { $0 == monthName }), parts.count == 3,
            parts.allSatisfy({ $0.utf8.count == 2 }), let hour = number(parts[0]), let minute = number(parts[1]), let second = number(parts[2]),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        let day = days(year, Int64(month) + 1, dayOfMonth)
        guard civil(day) == (year, Int64(month) + 1, dayOfMonth) else { return nil }
        return day * secondsPerDay + hour * 3600 + minute * 60 + second
    }

    // Conversion between days since 1970 and dates of the Gregorian calendar. It uses eras
    // of 400 years that begin in March, so that the leap day is the last day of its year.

    private static func days(_ year: Int64, _ month: Int64, _ dayOfMonth: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year.floorDivided(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ day: Int64) -> (year: Int64, month: Int64, dayOfMonth: Int64) {
        let day = day + 719_468
        let era = day.floorDivided(by: 146_097)
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension Int64 {
    fileprivate func floorDivided(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
