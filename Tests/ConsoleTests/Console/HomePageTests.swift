import Accounts
import AssetStore
import HTTPTypes
import HummingbirdTesting
import InMemoryRecordStore
import NIOCore
import RecordStore
import Records
import RequestLog
import Synchronization
import TestSupport
import Testing

@testable import Console

/// The start page of an empty server, and of one with containers.
@Suite struct HomePageTests {
    private struct Stage: ConsoleStage { let client: any TestClientProtocol }

    /// A console without containers.
    private func withConsole(
        log: RequestLog = RequestLog(), loadDemo: (@Sendable () async throws -> Void)? = nil,
        _ body: @Sendable (Stage, InMemoryRecordEngine) async throws -> Void
    ) async throws {
        let engine = InMemoryRecordEngine()
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        try await Console(
            engine: engine, accounts: accounts, assets: AssetStores(folder: folder.url, engine: engine), log: log,
            loadDemo: loadDemo, templatesFolder: nil,
            publicFolder: nil
        ).test { client in try await body(Stage(client: client), engine) }
    }

    private func request(_ client: ClientIdentity, to address: DatabaseAddress?) -> ServedRequest {
        var request = ServedRequest(
            id: "11111111-2222-3333-4444-555555555555", started: .now(), method: "POST", target: "/",
            operation: "records/modify", client: client)
        request.status = 200
        request.address = address
        return request
    }

    @Test func anEmptyServerOffersDemoDataAndImports() async throws {
        let loads = Mutex(0)
        try await withConsole(loadDemo: { loads.withLock { $0 += 1 } }) { stage, engine in
            let text = try await stage.page("/")
            #expect(
                text.contains("<h1>A local CloudKit server</h1>") && text.contains("Waiting for your first request"))
            #expect(
                text.contains("Load demo data") && text.contains("Import a schema (.ckdb)")
                    && text.contains("Import a file"))
            let loaded = try await stage.post("/demo", "")
            #expect(loaded.status == .seeOther && loaded.headers[.location] == "/" && loads.withLock { $0 } == 1)
            for (then, path) in [
                ("schema", "schema"), ("importing", "importing"), ("query", "query"), ("users", "query"),
            ] {
                let container = "iCloud.com.example.\(then)"
                let made = try await stage.post("/containers", "container=\(container)&then=\(then)")
                #expect(
                    made.status == .seeOther && made.headers[.location] == "/c/\(container)/development/private/\(path)"
                )
                let location = try #require(made.headers[.location])
                #expect(try await stage.get(location).status == .ok)
            }
            #expect(try await engine.require(.listContainers).containers().count == 4)
            let refused = try await stage.post("/containers", "container=foo+bar&then=schema")
            let again = String(buffer: refused.body)
            #expect(
                refused.status == .badRequest && again.contains("value=\"foo bar\"")
                    && again.contains("A container name starts with iCloud."))
            let full = try await stage.page("/")
            #expect(!full.contains("Load demo data") && full.contains(">iCloud.com.example.schema</a>"))
        }
    }

    @Test func aServerWithoutDemoDataDoesNotOfferIt() async throws {
        try await withConsole { stage, _ in
            let text = try await stage.page("/")
            #expect(!text.contains("Load demo data"))
            #expect(try await stage.post("/demo", "").status == .notFound)
        }
    }

    @Test func everyClientHasAFirstRequest() async throws {
        try await withConsole { stage, engine in
            let empty = try await stage.page("/")
            for title in ["curl", "CloudKit JS", "Swift, RemoteRecords", "Python, pyicloud"] {
                #expect(empty.contains("<summary>\(title)</summary>"))
            }
            #expect(empty.matches(of: /iCloud\.com\.example\.App\/development\/private/).count == 2)
            #expect(
                empty.contains("operationType") && empty.contains("database.saveRecords(")
                    && empty.contains("database.save(note)"))
            // A container with records that can be listed is queried.
            let container = try #require(ContainerID("iCloud.com.example.Full"))
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            let database = try await engine.database(address, as: Accounts(file: nil).caller(named: nil, deviceID: nil))
            let save = RecordOperation(
                .create, recordName: "a", recordType: "Song", fields: ["title": FieldInput(.string("x"))])
            for result in try await database.modify(ModifyRequest([save])) { _ = try result.get() }
            _ = try await database.require(.editSchema).edit([
                .addIndexes([.queryable], of: .system(.recordID), in: "Song")
            ])
            let full = try await stage.page("/")
            #expect(
                full.contains("iCloud.com.example.Full/development/private/records/query")
                    && full.contains("recordType: &quot;Song&quot;"))
            #expect(
                full.contains("Query(recordType: &quot;Song&quot;)")
                    && full.contains("CKQueryObject(recordType=&quot;Song&quot;)"))
        }
    }

    @Test func theFirstRequestOfAClientIsReceived() async throws {
        let log = RequestLog()
        try await withConsole(log: log) { stage, _ in
            let container = try #require(ContainerID("iCloud.com.example.App"))
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            // Skylight's own requests are not waited for.
            for name in [ClientIdentity.consoleName, ClientIdentity.replayName, ClientIdentity.commandLineName] {
                log.note(request(ClientIdentity(name: name, deviceID: nil, userAgent: nil), to: address))
            }
            let waiting = try await stage.page("/")
            #expect(
                waiting.contains("data-live=") && waiting.contains("Waiting for your first request")
                    && !waiting.contains("Received ✓"))
            log.note(request(ClientIdentity(name: "<phone>", deviceID: nil, userAgent: nil), to: address))
            let unknown = try await stage.page("/")
            #expect(
                unknown.contains("Received ✓") && unknown.contains("from &lt;phone&gt;")
                    && !unknown.contains("data-live="))
            #expect(!unknown.contains("/requests?id="), "the container does not exist yet")
            _ = try await stage.post("/containers", "container=\(container)")
            #expect(try await stage.page("/").contains("/c/\(container)/development/private/requests?id=11111111"))
            for _ in 0..<8 {
                log.note(request(ClientIdentity(name: "phone", deviceID: nil, userAgent: nil), to: address))
            }
            let many = try await stage.page("/")
            #expect(many.matches(of: />records\/modify</).count == 5 && !many.contains("Received ✓"))
        }
        try await withConsole(log: RequestLog(capacity: 0)) { stage, _ in
            let text = try await stage.page("/")
            #expect(!text.contains("Latest requests"))
        }
    }
}
