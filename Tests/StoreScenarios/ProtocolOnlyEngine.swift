public import RecordStore
public import Records

/// An engine as CloudKit's own protocol shows it: it has no optional part, and leaves out what the protocol does not tell.
public struct ProtocolOnlyEngine: RecordEngine {
    private let base: any RecordEngine

    public init(_ base: any RecordEngine) {
        self.base = base
    }

    public func unable(to task: String) -> RecordError { .cloudKitCant(task) }

    public func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        ProtocolOnlyDatabase(base: try await base.database(address, as: caller))
    }

    public func close() async { await base.close() }
}

private struct ProtocolOnlyDatabase: RecordDatabase {
    let base: any RecordDatabase
    var address: DatabaseAddress { base.address }
    var caller: Caller { base.caller }

    func unable(to task: String) -> RecordError { .cloudKitCant(task) }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] {
        try await base.modify(request)
    }
    func query(_ request: QueryRequest) async throws -> QueryPage { try await base.query(request) }
    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] {
        try await base.fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: bytesLimit)
    }
    func zones() async throws -> [Zone] { try await base.zones() }
    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] {
        try await base.fetchZones(zoneIDs)
    }
    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        try await base.modifyZones(operations)
    }

    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        var page = try await base.databaseChanges(request)
        for index in page.changes.indices {
            page.changes[index].timestamp = nil
            if page.changes[index].kind == .purged { page.changes[index].kind = .deleted }
        }
        return page
    }

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        var page = try await base.zoneChanges(request)
        page.changes = page.changes.map { change in
            guard change.kind != .deleted, let record = change.record else {
                return RecordChange(deletionOf: change.recordID)
            }
            return RecordChange(kind: nil, position: nil, record: record)
        }
        return page
    }
}

extension RecordError {
    fileprivate static func cloudKitCant(_ task: String) -> RecordError {
        RecordError(.badRequest, "CloudKit can't \(task)")
    }
}
