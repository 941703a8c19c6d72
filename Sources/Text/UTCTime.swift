/// A moment as a date and a time of day in UTC.
///
/// It is faster than a formatter, which pages with hundreds of times would feel.
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
        let year = isShort ? String(date.year, digits: 4) : (date.year < 0 ? "-" : "+") + String(date.year.magnitude, digits: 6)
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
