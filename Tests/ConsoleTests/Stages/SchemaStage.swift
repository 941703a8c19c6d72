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

/// A console over a container with the type Item, three records of it, and an index on `shelf`.
struct SchemaStage: ConsoleStage {
    let client: any TestClientProtocol
    let engine: InMemoryRecordEngine
    /// An engine with staged answers; only used if the stage was created for it.
    let staged: StagedEngine
    private let caller: Caller

    /// - Parameter isStaged: true if the console uses ``staged``.
    static func run(isStaged: Bool = false, _ body: @Sendable (SchemaStage) async throws -> Void) async throws {
        let engine = InMemoryRecordEngine()
        let staged = StagedEngine(engine)
        let accounts = try Accounts(file: nil)
        let folder = try TemporaryFolder()
        let caller = try accounts.caller(named: nil, deviceID: nil)
        let assets = AssetStores(folder: folder.url, engine: engine)
        let seen: any RecordEngine = isStaged ? staged : engine
        try await Console(engine: seen, accounts: accounts, assets: assets, templatesFolder: nil, publicFolder: nil)
            .test {
                client in
                let stage = SchemaStage(client: client, engine: engine, staged: staged, caller: caller)
                try await stage.fill()
                try await body(stage)
            }
    }

    private func fill() async throws {
        let database = try await database(.development)
        let fields: [Name: FieldDefinition] = [
            "author": FieldDefinition(type: .reference), "shelf": FieldDefinition(type: .string, indexes: .queryable),
            "title": FieldDefinition(type: .string), "year": FieldDefinition(type: .int64),
        ]
        _ = try await database.require(.editSchema).edit([.addType(RecordType(name: "Item", fields: fields))])
        let operations = (1...3).map { number in
            RecordOperation(
                .forceUpdate, recordName: Name("item\(number)"), recordType: "Item",
                fields: [
                    "author": FieldInput(.reference(Reference(recordName: "ada"))),
                    "shelf": FieldInput(.string("left")),
                    "title": FieldInput(.string("Item <\(number)>")), "year": FieldInput(.int64(Int64(1990 + number))),
                ])
        }
        try await database.apply(operations)
    }

    // MARK: The store

    func database(_ environment: Records.Environment) async throws -> any RecordDatabase {
        let container = try #require(ContainerID("iCloud.com.example.App"))
        let address = DatabaseAddress(container: container, environment: environment, scope: .private)
        return try await engine.database(address, as: caller)
    }

    func type(_ name: Name, in environment: Records.Environment = .development) async throws -> RecordType? {
        try await database(environment).require(.showSchema).schema().types[name]
    }

    // MARK: The pages

    /// Presses the first button of this name on a page, and sends its form.
    func press(_ button: String, on page: String) async throws -> TestResponse {
        let forms = page.matches(of: /<form\b[^>]*action="([^"]*)"[^>]*method="post"[^>]*>(?s:.*?)<\/form>/).map {
            ($0.output.1, $0.output.0)
        }
        let (action, form) = try #require(
            forms.first { $0.1.contains(">\(button)</button>") }, "There is no button \(button)")
        var fields = form.matches(of: /<input type="(hidden|checkbox)" name="([^"]*)" value="([^"]*)"( checked)?>/)
            .filter { $0.output.1 == "hidden" || $0.output.4 != nil }.map {
                (Self.plain($0.output.2), Self.plain($0.output.3))
            }
        let buttons = form.matches(of: /<button\b([^>]*)>([^<]*)<\/button>/).filter { $0.output.2 == button }
        let attributes = try #require(buttons.first?.output.1)
        if let named = attributes.firstMatch(of: /name="([^"]*)" value="([^"]*)"/)?.output {
            fields.append((Self.plain(named.1), Self.plain(named.2)))
        }
        return try await post(Self.plain(action), fields)
    }

    private static func plain(_ html: Substring) -> String {
        String(html).replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
            .replacing("&#39;", with: "'")
            .replacing("&amp;", with: "&")
    }
}
