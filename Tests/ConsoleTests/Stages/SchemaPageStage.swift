import Accounts
import AssetStore
import Console
import HummingbirdTesting
import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

/// A client of the console, the database behind it, and an engine with staged answers.
struct SchemaPageStage: ConsoleStage {
    static let production = "/c/iCloud.com.example.App/production/private"

    let client: any TestClientProtocol
    let database: any RecordDatabase
    let engine: StagedEngine

    func type(_ name: Name) async throws -> RecordType {
        try #require(try await database.require(.showSchema).schema().types[name])
    }

    /// A container with the type Note, which has three records, and the type Tag, which has no index.
    static func with(_ body: @Sendable (SchemaPageStage) async throws -> Void) async throws {
        let base = InMemoryRecordEngine()
        let engine = StagedEngine(base)
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let assets = AssetStores(folder: folder.url, engine: base)
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        let database = try await engine.database(address, as: accounts.caller(named: nil, deviceID: nil))
        _ = try await database.require(.editSchema).edit([
            .addType(
                RecordType(
                    name: "Note",
                    fields: [
                        "title": FieldDefinition(type: .string, indexes: [.queryable, .sortable]),
                        "rank": FieldDefinition(type: .int64),
                        "cover": FieldDefinition(type: .asset),
                    ],
                    systemIndexes: [.recordID: .queryable])),
            .addType(RecordType(name: "Tag", fields: ["name": FieldDefinition(type: .string)])),
        ])
        let operations = ["a", "b", "c"].enumerated().map { index, name in
            RecordOperation(
                .forceUpdate, recordName: Name(name), recordType: "Note",
                fields: index == 0
                    ? ["title": FieldInput(.string(name)), "rank": FieldInput(.int64(1))]
                    : ["title": FieldInput(.string(name))])
        }
        try await database.apply(operations)
        try await Console(engine: engine, accounts: accounts, assets: assets, templatesFolder: nil, publicFolder: nil)
            .test { client in
                try await body(SchemaPageStage(client: client, database: database, engine: engine))
            }
    }
}
