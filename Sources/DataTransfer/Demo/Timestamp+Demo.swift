internal import Records
internal import Text

extension Timestamp {
    /// A date and time in UTC. A date that does not exist counts as 1 January 1970.
    init(_ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64 = 12, _ minute: Int64 = 0) {
        self.init(milliseconds: ((CivilDate(year: year, month: month, day: day)?.daysSince1970 ?? 0) * 1440 + hour * 60 + minute) * 60_000)
    }

    func adding(days: Int = 0, hours: Int = 0, minutes: Int = 0, seconds: Int = 0) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    }
}
