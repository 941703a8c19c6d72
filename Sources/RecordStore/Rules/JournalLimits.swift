public import Records

/// Limits for the earlier versions of records kept by a store.
public struct JournalLimits: Sendable, Hashable {
    /// Number of days for which an earlier version is kept after it was replaced; 0 keeps none.
    public var days: Int
    /// Maximum number of earlier versions per record.
    public var versions: Int
    /// Maximum total size of earlier versions in one store, in bytes. The oldest are removed first.
    public var bytes: Int64

    public init(days: Int, versions: Int = 100, bytes: Int64 = 256 << 20) {
        self.days = days
        self.versions = versions
        self.bytes = bytes
    }

    public static let standard = JournalLimits(days: 30)

    /// Maximum number of days: a hundred years.
    public static let longest = 36_500

    public var isOff: Bool { days <= 0 }

    /// Versions replaced before this time are not kept.
    public func oldest(at now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds.addingSaturated(-Int64(min(max(0, days), Self.longest)) * 86_400_000))
    }
}
