import RecordStore
import Records
import Synchronization

/// An engine whose databases only record the requests, and return the answers that a test sets.
final class FixedAnswerEngine: RecordEngine, ContainerListing {
    struct State: Sendable {
        var schema = Schema.initial
        /// The answers to requests for index builds. The last one is repeated.
        var builds: [[IndexBuildProgress]] = [[]]
        var history: [SchemaHistoryEntry] = []
        var explanation = QueryExplanation()
        var statistics = QueryStatistics(since: Timestamp(milliseconds: 0))
        var usage = TypeUsage(recordType: "Item", records: 0, fields: [])
        var counts = ValueCounts(records: 0)
        var failure: RecordError?

        var edits: [SchemaEdit] = []
        var reason: SchemaHistoryEntry.Reason?
        var waited: Bool?
        var deployed: Schema?
        var resetTo: Schema?
        var explained: QueryRequest?
        var measured: Name?
        var counted: Set<Name>?
        var historyLimits: [Int] = []
        var buildQuestions = 0
    }

    let state = Mutex(State())

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        FixedAnswerDatabase(address: address, caller: caller, engine: self)
    }

    func containers() async throws -> [ContainerID] { [] }
    func environments(of container: ContainerID) async throws -> [Environment] { Environment.allCases }
    func close() async {}
}

private struct FixedAnswerDatabase: RecordDatabase, SchemaReading, SchemaEditing, QueryDiagnostics, TypeMeasuring {
    let address: DatabaseAddress
    let caller: Caller
    let engine: FixedAnswerEngine

    private func answer<Value>(_ body: (inout sending FixedAnswerEngine.State) throws -> sending Value) throws -> Value
    {
        try engine.state.withLock { state in
            if let failure = state.failure { throw failure }
            return try body(&state)
        }
    }

    private var never: RecordError { RecordError(.internalError, "nobody asks this") }

    func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] { throw never }
    func query(_ request: QueryRequest) async throws -> QueryPage { throw never }
    func fetch(_ recordIDs: [RecordID], desiredKeys: Set<Name>?, bytesLimit: Int) async throws -> [Result<
        StoredRecord, RecordError
    >] { throw never }
    func zones() async throws -> [Zone] { throw never }
    func fetchZones(_ zoneIDs: [ZoneID]) async throws -> [Result<Zone, RecordError>] { throw never }
    func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] { throw never }
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage { throw never }
    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage { throw never }
}

extension FixedAnswerDatabase {
    func schema() async throws -> Schema { try answer { $0.schema } }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws
        -> Schema
    {
        try answer { state in
            state.edits = edits
            state.reason = reason
            state.waited = waitingForIndexes
            return state.schema
        }
    }

    func indexBuilds() async throws -> [IndexBuildProgress] {
        try answer { state in
            state.buildQuestions += 1
            return state.builds.count > 1 ? state.builds.removeFirst() : state.builds.first ?? []
        }
    }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema {
        try answer { state in
            state.deployed = development
            state.waited = waitingForIndexes
            return state.schema
        }
    }

    func reset(to production: Schema) async throws -> Schema {
        try answer { state in
            state.resetTo = production
            return production
        }
    }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] {
        try answer { state in
            state.historyLimits.append(limit)
            return Array(state.history.filter { entry in before.map { entry.number < $0 } ?? true }.prefix(limit))
        }
    }

    func explain(_ request: QueryRequest) async throws -> QueryExplanation {
        try answer { state in
            state.explained = request
            return state.explanation
        }
    }

    func queryStatistics() async throws -> QueryStatistics { try answer { $0.statistics } }

    func usage(of recordType: Name) async throws -> TypeUsage {
        try answer { state in
            state.measured = recordType
            return state.usage
        }
    }

    func valueCounts(of fields: Set<Name>, in recordType: Name) async throws -> ValueCounts {
        try answer { state in
            state.measured = recordType
            state.counted = fields
            return state.counts
        }
    }
}
