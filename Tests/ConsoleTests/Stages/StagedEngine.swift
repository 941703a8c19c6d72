import InMemoryRecordStore
import RecordStore
import Records
import Synchronization

/// An engine whose databases give staged answers about themselves, and otherwise forward to another engine.
final class StagedEngine: ForwardingEngine {
    let base: any RecordEngine
    let builds = Mutex<[IndexBuildProgress]>([])
    let usage = Mutex<TypeUsage?>(nil)
    let history = Mutex<[SchemaHistoryEntry]>([])

    init(_ base: InMemoryRecordEngine) {
        self.base = base
    }

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        StagedDatabase(base: try await base.database(address, as: caller), engine: self)
    }
}

private struct StagedDatabase: ForwardingDatabase, SchemaReading, TypeMeasuring {
    let base: any RecordDatabase
    let engine: StagedEngine

    func schema() async throws -> Schema { try await base.require(.showSchema).schema() }
    func indexBuilds() async throws -> [IndexBuildProgress] { engine.builds.withLock { $0 } }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        Array(engine.history.withLock { $0 }.filter { entry in before.map { entry.number < $0 } ?? true }.prefix(limit))
    }

    func usage(of recordType: Name) async throws -> TypeUsage {
        if let usage = engine.usage.withLock({ $0 }) { return usage }
        return try await base.require(.measureTypes).usage(of: recordType)
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        try await base.require(.measureTypes).valueCounts(of: fields, in: recordType)
    }
}
