import Accounts
import AssetStore
import Console
import HTTPServing
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import TestSupport
import Testing

/// A console over a container with a zone Notes and a type Note, which has a field of every type. The client runs no
/// scripts.
struct EditStage: ConsoleStage {
    static let notes = ZoneID(zoneName: "Notes")

    let client: any TestClientProtocol
    let engine: InMemoryRecordEngine
    let accounts: Accounts
    let assets: AssetStores
    private let caller: Caller

    static func run(
        memory: MemoryBudget = MemoryBudget(), journal: JournalLimits = .standard,
        _ body: @Sendable (EditStage) async throws -> Void
    ) async throws {
        let engine = InMemoryRecordEngine(journal: journal)
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let caller = try accounts.caller(named: nil, deviceID: nil)
        let assets = AssetStores(folder: folder.url, engine: engine)
        try await Console(engine: engine, accounts: accounts, assets: assets, templatesFolder: nil, publicFolder: nil)
            .test(memory: memory) { client in
                let stage = EditStage(
                    client: client, engine: engine, accounts: accounts, assets: assets, caller: caller)
                try await stage.fill()
                try await body(stage)
            }
    }

    private func fill() async throws {
        let database = try await database()
        var fields: [Name: FieldDefinition] = [
            "title": FieldDefinition(type: .string, indexes: [.queryable, .sortable]),
            "rank": FieldDefinition(type: .int64, indexes: [.queryable, .sortable]),
            "weight": FieldDefinition(type: .double), "due": FieldDefinition(type: .timestamp),
            "place": FieldDefinition(type: .location),
            "room": FieldDefinition(type: .reference), "data": FieldDefinition(type: .bytes),
            "tags": FieldDefinition(type: .list(.string)),
            "file": FieldDefinition(type: .asset),
        ]
        fields["secret"] = FieldDefinition(type: FieldType(.string, isEncrypted: true))
        _ = try await database.require(.editSchema).edit([
            .addType(RecordType(name: "Note", fields: fields, systemIndexes: [.recordID: .queryable]))
        ])
        _ = try await database.modifyZones([.create(Self.notes), .create(ZoneID(zoneName: "Other"))])
        _ = try await self.database(.production).require(.deploySchema).deploy(
            database.require(.showSchema).schema(), waitingForIndexes: true)
    }

    // MARK: The store

    func database(_ environment: Records.Environment = .development) async throws -> any RecordDatabase {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let address = DatabaseAddress(container: container, environment: environment, scope: .private)
        return try await engine.database(address, as: caller)
    }

    @discardableResult
    func save(_ name: Name, _ fields: [Name: FieldValue], in zoneID: ZoneID = notes) async throws -> StoredRecord {
        let inputs = Dictionary(uniqueKeysWithValues: fields.map { ($0, FieldInput($1, isEncrypted: $0 == "secret")) })
        let operation = RecordOperation(.forceUpdate, recordName: name, recordType: "Note", fields: inputs)
        guard
            case .saved(let record)? = try await database().modify(ModifyRequest([operation], zoneID: zoneID)).first?
                .get()
        else { throw Missing() }
        return record
    }

    /// Uploads a file as a client does.
    func upload(_ text: String, named fileName: String?, to record: Name, _ field: Name) async throws -> Asset {
        let database = try await database()
        let request = UploadRequest(recordType: "Note", fieldName: field, recordName: record)
        let grants = try await database.require(.uploadAssets).grantUploads([request], in: Self.notes)
        let grant = try #require(try grants.first?.get())
        let body = AsyncStream { continuation in
            continuation.yield(ByteBuffer(string: text))
            continuation.finish()
        }
        return try await assets.store(database.address.container, database.address.environment).receive(
            body, ticket: grant.ticket, fileName: fileName, declaredSize: nil)
    }

    /// Saves a record as an import does, which keeps what earlier versions accepted.
    func restore(_ name: Name, below parent: Name) async throws {
        let signature = Signature(timestamp: .now(), userRecordName: caller.userRecordName, deviceID: "")
        let operation = RecordOperation(
            .forceUpdate, recordName: name, recordType: "Note", parent: .record(parent),
            provenance: Provenance(created: signature, modified: signature))
        _ = try await database().modify(ModifyRequest([operation], zoneID: Self.notes)).first?.get()
    }

    func record(_ name: Name, in zoneID: ZoneID = notes) async throws -> StoredRecord {
        let results = try await database().fetch([RecordID(recordName: name, zoneID: zoneID)], desiredKeys: nil)
        return try #require(results.first).get()
    }

    func values(_ name: Name, in zoneID: ZoneID = notes) async throws -> [Name: FieldValue] {
        let fields = try await record(name, in: zoneID).fields.decoded()
        return Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    /// The bytes of text, because Swift compares strings by canonical equivalence.
    static func bytes(of value: FieldValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(Field(name: "", value: value))
        return writer.bytes
    }

    struct Missing: Error {}

    // MARK: The browser

    /// The page of the background work that an answer leads to, after the work has finished.
    func end(_ answer: TestResponse) async throws -> String {
        let path = try location(answer)
        try await eventually { try await !page(path).contains("data-live=") }
        return try await page(path)
    }

}
