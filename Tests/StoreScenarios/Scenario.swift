public import Records
public import RecordStore
internal import Synchronization
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

    /// A scenario in the private database, which has the zone ``notes``.
    static func zone(_ name: String, _ play: @escaping @Sendable (any RecordDatabase) async throws -> Void) -> Scenario
    {
        Scenario(name) { engine, _ in try await play(engine.withZone()) }
    }

    /// A scenario in the private database.
    static func database(_ name: String, _ play: @escaping @Sendable (any RecordDatabase) async throws -> Void)
        -> Scenario
    {
        Scenario(name) { engine, _ in try await play(engine.full(.private)) }
    }

    /// A scenario with people who share records.
    static func sharing(_ name: String, _ play: @escaping @Sendable (SharingStage) async throws -> Void) -> Scenario {
        Scenario(name) { engine, _ in try await play(SharingStage(on: engine)) }
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

// The users and zones of the scenarios.

/// User record names have the format that servers require: `_` and 32 hexadecimal digits.
public let ada = Caller(userRecordName: "_ada00000000000000000000000000000", deviceID: "iPhone")
public let grace = Caller(userRecordName: "_9ace0000000000000000000000000000", deviceID: "Mac")
public let mary = Caller(userRecordName: "_3a470000000000000000000000000000")

public let notes = ZoneID(zoneName: "Notes")

public func address(_ scope: DatabaseScope, _ environment: Environment = .development) throws -> DatabaseAddress {
    guard let container = ContainerID("iCloud.com.example.Test") else { throw RecordError(.badRequest, "container") }
    return DatabaseAddress(container: container, environment: environment, scope: scope)
}

extension RecordEngine {
    public func full(_ scope: DatabaseScope, as caller: Caller = ada, _ environment: Environment = .development)
        async throws -> any RecordDatabase
    {
        try await database(address(scope, environment), as: caller)
    }

    /// Ada's private database with an empty zone.
    public func withZone() async throws -> any RecordDatabase {
        let database = try await full(.private)
        for result in try await database.modifyZones([.create(notes)]) { _ = try result.get() }
        return database
    }
}

/// A clock that only moves when told to, so that two engines see the same time.
public final class TestClock: Sendable {
    private let time = Mutex<Int64>(1_700_000_000_000)

    public init() {}

    public func now() -> Timestamp { Timestamp(milliseconds: time.withLock { $0 }) }
    public func advance(_ milliseconds: Int64 = 1000) { time.withLock { $0 += milliseconds } }
}
