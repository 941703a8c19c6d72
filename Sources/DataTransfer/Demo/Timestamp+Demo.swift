internal import Records

extension Timestamp {
    /// A date and time in UTC.
    init(_ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64 = 12, _ minute: Int64 = 0) {
        self.init(milliseconds: (DateText.days(year: year, month: month, day: day) * 1440 + hour * 60 + minute) * 60_000)
    }

    func adding(days: Int = 0, hours: Int = 0, minutes: Int = 0, seconds: Int = 0) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    }
}
