public import Records

/// Something that not every store can do, and the part of the store that does it. Each part declares its own.
public struct Capability<Part>: Sendable {
    /// Completes the sentence "This store can't …".
    public let task: String
    /// True for what a feed or a user is needed for: the public database has neither.
    let isForUsers: Bool

    init(_ task: String, isForUsers: Bool = false) {
        self.task = task
        self.isForUsers = isForUsers
    }
}

/// A store that hands out its optional parts: an engine, or one of its databases.
public protocol Capable: Sendable {
    /// The part with a capability; `nil` if the store lacks it: itself, if its type conforms to the part.
    ///
    /// If the store is another server, the parts are those of its kind: the calls throw what the one server lacks.
    func part<Part>(_ capability: Capability<Part>) -> Part?

    /// True if it is worth asking for a part.
    func can<Part>(_ capability: Capability<Part>) -> Bool

    /// The error for a missing capability: `RecordError` BAD_REQUEST, unless the store says it in its own words.
    func unable(to task: String) -> RecordError
}

extension Capable {
    public func part<Part>(_ capability: Capability<Part>) -> Part? { self as? Part }
    public func can<Part>(_ capability: Capability<Part>) -> Bool { part(capability) != nil }

    /// The part with a capability.
    /// - Throws: ``unable(to:)`` without it.
    @discardableResult
    public func require<Part>(_ capability: Capability<Part>) throws -> Part {
        guard let part = part(capability) else { throw unable(capability) }
        return part
    }

    public func unable<Part>(_ capability: Capability<Part>) -> RecordError { unable(to: capability.task) }
    public func unable(to task: String) -> RecordError { RecordError(.badRequest, "This store can't \(task)") }
}

// MARK: - Forwarding

/// A database in front of another one. It has the parts of that one, and replaces those that it conforms to itself.
public protocol ForwardingDatabase: RecordDatabase {
    var base: any RecordDatabase { get }
}

extension ForwardingDatabase {
    public func part<Part>(_ capability: Capability<Part>) -> Part? {
        base.part(capability).map { self as? Part ?? $0 }
    }
    public func unable(to task: String) -> RecordError { base.unable(to: task) }
    public var address: DatabaseAddress { base.address }
    public var caller: Caller { base.caller }

    public func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        try await base.modify(request)
    }
    public func query(_ request: QueryRequest) async throws -> QueryPage { try await base.query(request) }
    public func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await base.fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: bytesLimit)
    }
    public func zones() async throws -> [Zone] { try await base.zones() }
    public func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await base.fetchZones(zoneIDs)
    }
    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        try await base.modifyZones(operations)
    }
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        try await base.databaseChanges(request)
    }
    public func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        try await base.zoneChanges(request)
    }
}

/// An engine in front of another one. It has the parts of that one, and replaces those that it conforms to itself.
public protocol ForwardingEngine: RecordEngine {
    var base: any RecordEngine { get }
}

extension ForwardingEngine {
    public func part<Part>(_ capability: Capability<Part>) -> Part? {
        base.part(capability).map { self as? Part ?? $0 }
    }
    public func unable(to task: String) -> RecordError { base.unable(to: task) }
    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        try await base.database(address, as: caller)
    }
    public func close() async { await base.close() }
}
