public import Records

/// Something that not every store can do. Its text completes the sentence "This store can't …".
public enum Capability: String, Sendable, Hashable, CaseIterable {
    // Databases
    case showSchema = "show its schema"
    case editSchema = "edit its schema"
    case deploySchema = "deploy a schema"
    case measureTypes = "measure its types"
    case explainQueries = "explain how it answers queries"
    case keepQueryStatistics = "report its query statistics"
    case tellCurrentToken = "tell its current token"
    case explainTokens = "explain its tokens"
    case expireTokens = "expire its tokens"
    case outlineFeed = "outline its feed"
    case positionRecords = "tell the positions of records"
    case signalCommits = "signal commits"
    case countRecords = "count records"
    case listRecords = "list records"
    case keepJournal = "show earlier versions of records"
    case traceReferences = "trace references"
    case summarizeZones = "summarize its zones"
    case keepSubscriptions = "keep subscriptions"
    case fireSubscriptions = "tell which subscriptions its changes fire"
    case keepKeyValues = "keep key-value stores"
    case shareRecords = "share records"
    case listShares = "list shares"
    case purgeZones = "purge zones"
    case uploadAssets = "store assets"
    case traceAssets = "find the uses of assets"
    case mirrorRecords = "mirror another container"
    // Databases and engines
    case measureStorage = "measure its storage"
    // Engines
    case listContainers = "list its containers"
    case editContainers = "delete and rename containers"
    case summarizeContainers = "summarize its containers"
    case listEnvironments = "list the environments of its containers"
    case knowUsers = "tell whether it knows a user"
    case reportHealth = "report the health of its stores"
    case keepAssets = "keep asset files"

    /// All capabilities of engines.
    public static let ofEngines: Set<Capability> = [
        .measureStorage, .listContainers, .editContainers, .summarizeContainers, .listEnvironments, .knowUsers, .reportHealth, .keepAssets,
    ]
    /// All capabilities of databases.
    public static let ofDatabases: Set<Capability> = Set(allCases).subtracting(ofEngines).union([.measureStorage])
    /// All capabilities of public databases, which have no feed and belong to no user.
    public static let ofPublicDatabases = ofDatabases.subtracting([.tellCurrentToken, .keepKeyValues])
}

/// A part of a store that says what it can do: an engine, or one of its databases.
public protocol Capable: Sendable {
    /// The capabilities at this moment. They can differ from database to database.
    ///
    /// A call that needs any other capability throws ``unable(_:)``, or an error that says more. So callers ask only to leave
    /// something out. If the store is another server, the capabilities are those of its kind: the one server may lack some.
    var capabilities: Set<Capability> { get }

    /// The error for a missing capability: `RecordError` BAD_REQUEST, unless the store says it in its own words.
    func unable(_ capability: Capability) -> RecordError
}

extension Capable {
    public func can(_ capability: Capability) -> Bool { capabilities.contains(capability) }

    /// - Throws: ``unable(_:)`` without the capability.
    public func require(_ capability: Capability) throws {
        if !can(capability) { throw unable(capability) }
    }

    public func unable(_ capability: Capability) -> RecordError {
        RecordError(.badRequest, "This store can't \(capability.rawValue)")
    }
}
