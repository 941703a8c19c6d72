public import Records

/// How much of the past a store keeps of its records.
public struct JournalLimits: Sendable, Hashable {
    /// Days for which an earlier version is kept after it was replaced; 0 keeps none.
    public var days: Int
    /// Earlier versions of one record.
    public var versions: Int
    /// Bytes of all earlier versions in one store. The oldest go first.
    public var bytes: Int64

    public init(days: Int, versions: Int = 100, bytes: Int64 = 256 << 20) {
        self.days = days
        self.versions = versions
        self.bytes = bytes
    }

    public static let standard = JournalLimits(days: 30)
    /// Keeps nothing.
    public static let off = JournalLimits(days: 0)

    /// The longest time, in days: a hundred years.
    public static let longest = 36_500

    public var isOff: Bool { days <= 0 }

    /// Versions that were replaced before this moment are not kept.
    public func oldest(at now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds.addingSaturated(-Int64(min(max(0, days), Self.longest)) * 86_400_000))
    }
}
