public import Records

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
