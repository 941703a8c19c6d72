/// A date of the proleptic Gregorian calendar. Every value is a date that exists.
public struct CivilDate: Sendable, Hashable {
    /// Astronomical: year 0 is the year before year 1.
    public let year: Int64
    /// From 1 to 12.
    public let month: Int64
    /// From 1 to the length of the month.
    public let day: Int64

    /// The largest year, and the negative of the smallest. The days of these years fit into 64 bits.
    private static let lastYear: Int64 = 25_000_000_000_000_000

    /// - Returns: `nil` if there is no such date, or the year is beyond ±25,000,000,000,000,000.
    public init?(year: Int64, month: Int64, day: Int64) {
        guard (-Self.lastYear...Self.lastYear).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    // Both conversions use eras of 400 years that begin on 1 March, so that the leap day is the last day of its year (Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms"). 1 January 1970 is day 135,080 of the fourth era.

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
