/// HTTP dates (RFC 9110, 5.6.7), as whole seconds since 1970.
public enum HTTPDate {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Formats a date, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func text(_ seconds: Int64) -> String {
        let time = UTCTime(seconds: seconds)
        // 1 January 1970 was a Thursday.
        let weekday = weekdays[Int((time.date.daysSince1970 + 4).floorDivided(by: 7).remainder)]
        let (day, month, year) = (String(time.date.day, digits: 2), months[Int(time.date.month) - 1], String(time.date.year, digits: 4))
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
            hour < 24, minute < 60, second <= 60, let date = CivilDate(year: year, month: Int64(month) + 1, day: dayOfMonth)
        else { return nil }
        return date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
    }
}
