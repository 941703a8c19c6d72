public import RecordStore
public import Testing

/// A short story about what the door promises. It ends the same way on every engine.
public struct Scenario: Sendable, CustomTestStringConvertible {
    public let name: String
    /// Tells the story on an engine without containers, whose clock is the one given. What is not as promised is recorded as an issue.
    public let play: @Sendable (any RecordEngine, TestClock) async throws -> Void

    init(_ name: String, _ play: @escaping @Sendable (any RecordEngine, TestClock) async throws -> Void) {
        self.name = name
        self.play = play
    }

    public var testDescription: String { name }

    /// The whole table, in the order of what the stories are about.
    public static let all = modifying + following + querying + zones

    public static let modifying = SaveScenarios.all + ReferenceScenarios.all + SchemaScenarios.all + SchemaEditScenarios.all + SchemaLifeScenarios.all
        + JournalScenarios.all
    public static let following = FeedScenarios.all + OutlineScenarios.all + TokenScenarios.all
    public static let querying = QueryScenarios.all + ExplainScenarios.all
    public static let zones = ZoneScenarios.all + ListingScenarios.all
}
