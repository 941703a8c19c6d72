public import RecordStore
public import Testing

/// A scenario that checks a promise of the storage interface. It has the same result on every engine.
public struct Scenario: Sendable, CustomTestStringConvertible {
    public let name: String
    /// Plays the scenario on an empty engine that uses the given clock. Records an issue for each broken promise.
    public let play: @Sendable (any RecordEngine, TestClock) async throws -> Void

    init(_ name: String, _ play: @escaping @Sendable (any RecordEngine, TestClock) async throws -> Void) {
        self.name = name
        self.play = play
    }

    public var testDescription: String { name }

    /// All scenarios, by subject.
    public static let all = modifying + following + querying + zones + subscribing + firing + keyValues

    public static let modifying =
        SaveScenarios.all + ReferenceScenarios.all + SchemaScenarios.all + SchemaEditScenarios.all
        + SchemaLifeScenarios.all
        + JournalScenarios.all
    public static let following = FeedScenarios.all + OutlineScenarios.all + TokenScenarios.all
    public static let querying = QueryScenarios.all + ExplainScenarios.all
    public static let zones = ZoneScenarios.all + ListingScenarios.all + capabilities
    /// For engines with the capability `keepSubscriptions`.
    public static let subscribing = SubscriptionScenarios.all
    /// For engines with the capability `fireSubscriptions`.
    public static let firing = FiringScenarios.all
    /// For engines with the capability `keepKeyValues`.
    public static let keyValues = KeyValueScenarios.all
    public static let capabilities = CapabilityScenarios.all
    /// For engines with the capability `shareRecords`.
    public static let sharing = SharingScenarios.all + ParticipantScenarios.all + SharedTypeScenarios.all
    /// For engines with the capability `listShares`, which are told the addresses of callers.
    public static let sharingHere = SharingScenarios.here + ParticipantScenarios.here
    /// For engines with the capability `mirrorRecords`.
    public static let mirroring = MirrorScenarios.all
}
