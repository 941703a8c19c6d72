import InMemoryRecordStore
import JSON
import RecordStore
import Records
import Synchronization

/// An engine whose databases give staged answers about themselves, and otherwise forward to another engine.
final class StagedEngine: RecordEngine, EnvironmentListing {
    private let base: InMemoryRecordEngine
    let builds = Mutex<[IndexBuildProgress]>([])
    let usage = Mutex<TypeUsage?>(nil)
    let history = Mutex<[SchemaHistoryEntry]>([])

    init(_ base: InMemoryRecordEngine) {
        self.base = base
    }

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        StagedDatabase(base: try await base.database(address, as: caller), engine: self)
    }

    func containers() async throws -> [ContainerID] { try await base.containers() }
    func environments(of container: ContainerID) async throws -> [Records.Environment] { try await base.environments(of: container) }
    func close() async { await base.close() }
}

private struct StagedDatabase: RecordDatabase {
    let base: any RecordDatabase
    let engine: StagedEngine

    var address: DatabaseAddress { base.address }
    var caller: Caller { base.caller }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] { try await base.modify(request) }
    func query(_ request: QueryRequest) async throws -> QueryPage { try await base.query(request) }
    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<StoredRecord, RecordError>] {
        try await base.fetch(recordIDs, desiredKeys: desiredKeys, bytesLimit: bytesLimit)
    }
    func zones() async throws -> [Zone] { try await base.zones() }
    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] { try await base.fetchZones(zoneIDs) }
    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] { try await base.modifyZones(operations) }
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage { try await base.databaseChanges(request) }
    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage { try await base.zoneChanges(request) }
}

extension StagedDatabase: SchemaEditing {
    private func editing() throws -> any SchemaEditing {
        guard let editing = base as? any SchemaEditing else { throw RecordError(.internalError, "No schema") }
        return editing
    }

    func schema() async throws -> Schema { try await editing().schema() }
    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema {
        try await editing().edit(edits, because: reason, waitingForIndexes: waitingForIndexes)
    }
    func indexBuilds() async throws -> [IndexBuildProgress] { engine.builds.withLock { $0 } }
    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        try await editing().deploy(development, waitingForIndexes: waitingForIndexes)
    }
    func reset(to production: Schema) async throws -> Schema { try await editing().reset(to: production) }
    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        Array(engine.history.withLock { $0 }.filter { entry in before.map { entry.number < $0 } ?? true }.prefix(limit))
    }
}

extension StagedDatabase: RecordListing {
    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        guard let listing = base as? any RecordListing else { throw RecordError(.internalError, "Nothing is listed") }
        return try await listing.list(request)
    }
}

extension StagedDatabase: QueryExplaining {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        guard let explaining = base as? any QueryExplaining else { throw RecordError(.internalError, "Nothing is explained") }
        return try await explaining.explain(request)
    }
}

extension StagedDatabase: SchemaMeasuring {
    func usage(of recordType: Name) async throws -> TypeUsage {
        if let usage = engine.usage.withLock({ $0 }) { return usage }
        guard let measuring = base as? any SchemaMeasuring else { throw RecordError(.internalError, "Nothing is measured") }
        return try await measuring.usage(of: recordType)
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        guard let measuring = base as? any SchemaMeasuring else { throw RecordError(.internalError, "Nothing is measured") }
        return try await measuring.valueCounts(of: fields, in: recordType)
    }
}
