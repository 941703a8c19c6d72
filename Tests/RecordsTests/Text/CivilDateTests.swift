import Records
import Testing

@Suite struct CivilDateTests {
    @Test(
        "Known days",
        arguments: [
            (1970, 1, 1, 0), (1969, 12, 31, -1), (2000, 2, 29, 11_016), (2000, 3, 1, 11_017), (1900, 2, 28, -25_509),
            (1900, 3, 1, -25_508), (2026, 11, 22, 20_779),
            (0, 3, 1, -719_468), (0, 2, 29, -719_469), (1, 1, 1, -719_162), (9999, 12, 31, 2_932_896),
            (-1, 12, 31, -719_529),
        ] as [(Int64, Int64, Int64, Int64)])
    func knownDays(year: Int64, month: Int64, day: Int64, days: Int64) throws {
        let date = try #require(CivilDate(year: year, month: month, day: day))
        #expect(date.daysSince1970 == days)
        #expect(CivilDate(daysSince1970: days) == date)
    }

    /// 800 years day by day, against a calendar that counts.
    @Test func everyDayFollowsTheDayBefore() {
        var (year, month, day): (Int64, Int64, Int64) = (1600, 1, 1)
        for days in Int64(-135_140)..<Int64(-135_140 + 2 * 146_097) {
            let date = CivilDate(daysSince1970: days)
            if (date.year, date.month, date.day) != (year, month, day) || date.daysSince1970 != days {
                Issue.record("\(days) is \(date), not \(year)-\(month)-\(day)")
                return
            }
            let isLeap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
            day += 1
            if day > [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][Int(month) - 1] {
                (month, day) = (month + 1, 1)
            }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
    }

    @Test(
        "Dates that do not exist",
        arguments: [
            (2026, 2, 29), (1900, 2, 29), (2026, 4, 31), (2026, 0, 1), (2026, 13, 1), (2026, 1, 0), (2026, 1, 32),
            (2026, -1, -1),
            (.max, 1, 1), (.min, 1, 1), (2026, .max, .max), (2026, .min, .min),
        ] as [(Int64, Int64, Int64)])
    func noSuchDate(year: Int64, month: Int64, day: Int64) {
        #expect(CivilDate(year: year, month: month, day: day) == nil)
    }

    @Test func extremesDoNotTrap() throws {
        for days in [Int64.min, .min + 1, .max - 719_468, .max - 1, .max] {
            let date = CivilDate(daysSince1970: days)
            #expect((1...12).contains(date.month) && (1...31).contains(date.day))
        }
        for year in [25_000_000_000_000_000, -25_000_000_000_000_000] as [Int64] {
            let date = try #require(CivilDate(year: year, month: 2, day: 28))
            #expect(CivilDate(daysSince1970: date.daysSince1970) == date)
        }
        for milliseconds in [Int64.min, -1, 0, .max] {
            #expect(UTCTime(milliseconds: milliseconds).isoTextWithMilliseconds.hasSuffix("Z"))
        }
        for seconds in [Int64.min, .max] { #expect(UTCTime(seconds: seconds).timeText.utf8.count == 8) }
    }

    @Test(
        "Moments as text",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_795_348_800_250, "2026-11-22T12:00:00.250Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (253_402_300_800_000, "+010000-01-01T00:00:00.000Z"),
            (-62_167_219_200_001, "-000001-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func momentsAsText(milliseconds: Int64, text: String) {
        #expect(UTCTime(milliseconds: milliseconds).isoTextWithMilliseconds == text)
        #expect(
            UTCTime(seconds: milliseconds.floorDivided(by: 1000).quotient).isoText == text.prefix { $0 != "." } + "Z")
    }

    @Test func divisionRoundsDown() {
        for number in [-121, -120, -61, -60, -59, -1, 0, 1, 59, 60, 61] as [Int64] {
            let (quotient, remainder) = number.floorDivided(by: 60)
            #expect(quotient * 60 + remainder == number && (0..<60).contains(remainder))
        }
    }
}

@Suite struct HTTPDateTests {
    /// The example of RFC 9110 in its three formats, and dates around leap days.
    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:60 GMT", 951_868_800),
            ("Sunday, 06-Nov-69 00:00:00 GMT", 3_150_921_600),
        ] as [(String, Int64)])
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test func datesReturn() {
        for seconds in stride(from: Int64(0), to: 8_000_000_000, by: 86_399 * 31) {
            #expect(HTTPDate.seconds(HTTPDate.text(seconds)) == seconds)
        }
        #expect(HTTPDate.text(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test(arguments: [
        "", "30", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
        "Xyz, 06 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
    ])
    func otherTextsAreNoDates(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }
}
