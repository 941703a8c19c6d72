import Accounts
import DataTransfer
import HTTPServing
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import RecordStore
import Records
import RequestLog
import SQLRecordStore
import ServiceLifecycle
import WebServices

/// Three made-up clients of the demo chat app, so that the pages about requests and clients show what they find out:
/// one is up to date, one ignores `moreComing`, and one has a query refused.
///
/// They use the web services in this process and only read. As the log is in memory, they ask again at each start.
struct DemoClients: Service {
    private struct Client {
        let name: String
        var device: String?
    }

    private static let path = "/database/1/iCloud.com.example.Chat/development/private/"
    /// The devices that saved the demo data.
    private static let phone = Client(name: "Chat", device: "iPhone-7C21")
    private static let tablet = Client(name: "Chat", device: "iPad-51AA")
    private static let web = Client(name: "Chat Web")
    private static let zones: [JSONValue] = ["Chats", "Family", "Book Club"]
    /// More pages than the demo zones have, in case that someone fills them further.
    private static let pageLimit = 50

    private let log: RequestLog
    private let services: any HTTPResponder<ServingRequestContext>
    /// The channel of the server, once it listens.
    private let listening: AsyncStream<any Channel>
    private let logger: Logger

    init(_ store: DataFolder.Store, log: RequestLog, listening: AsyncStream<any Channel>, _ logger: Logger) {
        let routes = Routes()
        WebServices(
            engine: store.local, accounts: store.accounts, assets: store.assets, log: log, access: .open(store.accounts)
        ).addRoutes(to: routes)
        services = routes.buildResponder()
        (self.log, self.listening, self.logger) = (log, listening, logger)
    }

    func run() async throws {
        for await channel in listening.cancelOnGracefulShutdown() {
            do {
                try await ask(channel)
            } catch {
                // Only the pages about clients lack something then.
                logger.debug("The demo clients stopped: \(error)")
            }
            break
        }
        // If a service returned, the server would end.
        try? await gracefulShutdown()
    }

    private func ask(_ channel: any Channel) async throws {
        for zone in Self.zones { try await pullAll(of: zone, channel) }
        // The tablet takes the first page twice, and never asks for the next one.
        for _ in 0..<2 {
            _ = try await send("changes/zone", Self.pull(of: Self.zones[0], limit: 100), as: Self.tablet, channel)
        }
        _ = try await send(
            "records/query", Self.query("sentiment", isAt: "GREATER_THAN", .double(0.5)), as: Self.web, channel)
        // The schema has no index for it, so it is refused.
        _ = try await send(
            "records/query", Self.query("author", isAt: "EQUALS", ["recordName": "Person/ada", "action": "NONE"]),
            as: Self.web, channel)
    }

    private func pullAll(of zone: JSONValue, _ channel: any Channel) async throws {
        var token: String?
        for _ in 0..<Self.pageLimit {
            guard !Task.isShuttingDownGracefully,
                let pull = try await send("changes/zone", Self.pull(of: zone, after: token), as: Self.phone, channel)?
                    .pulls.first
            else { return }
            token = pull.given?.text
            if !pull.moreComing { return }
        }
    }

    private static func pull(of zone: JSONValue, after token: String? = nil, limit: Int64? = nil) -> JSONValue {
        var asked = JSONObject([JSONObject.Member(name: "zoneID", value: ["zoneName": zone])])
        if let token { asked["syncToken"] = .string(token) }
        if let limit { asked["resultsLimit"] = .integer(limit) }
        return ["zones": [.object(asked)]]
    }

    private static func query(_ field: String, isAt comparator: String, _ value: JSONValue) -> JSONValue {
        let filter: JSONValue = [
            "fieldName": .string(field), "comparator": .string(comparator), "fieldValue": ["value": value],
        ]
        return [
            "zoneID": ["zoneName": "Chats"], "resultsLimit": 20,
            "query": ["recordType": "Message", "filterBy": [filter]],
        ]
    }

    /// - Returns: the entry of the log, which has it before the answer is sent; `nil` if the server keeps no log.
    private func send(_ operation: String, _ body: JSONValue, as client: Client, _ channel: any Channel) async throws
        -> ServedRequest?
    {
        var headers: HTTPFields = [.contentType: "application/json"]
        for (name, value) in [("X-Skylight-Client", client.name), ("X-Skylight-Device", client.device)] {
            if let value, let field = HTTPField.Name(name) { headers[field] = value }
        }
        let head = HTTPRequest(
            method: .post, scheme: "http", authority: "127.0.0.1", path: Self.path + operation, headerFields: headers)
        let context = ServingRequestContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        do {
            let bytes = ByteBuffer(bytes: JSONWriter.bytes(of: body))
            _ = try await services.respond(to: Request(head: head, body: RequestBody(buffer: bytes)), context: context)
        } catch is any HTTPResponseError {
            // The log has refusals too.
        }
        return log.request(context.requestID)
    }
}

// MARK: - Demo data

// Without it, `containers()` would be the one of engines that have no list.

/// Fills the containers of the demo data, for `--demo` and for the button on the start page.
actor DemoFilling {
    private let store: DataFolder.Store
    private var running: Task<Void, any Error>?

    init(_ store: DataFolder.Store) {
        self.store = store
    }

    /// Fills the containers that do not exist. The rest of the data stays unchanged.
    func fill() async throws {
        func name(_ handle: String) throws -> Name {
            try store.accounts.caller(named: handle, deviceID: nil).userRecordName
        }
        let people = DemoData.People(
            developer: try name(User.developerHandle), ada: try name("ada"), grace: try name("grace"))
        _ = try await DemoData(engine: store.engine, assets: store.assets, clock: store.clock, people: people).fill()
        // Another process with the same data has links to their databases at once.
        try await store.accounts.writeUses()
    }

    /// The same on a server that runs. A second call waits for the first.
    /// - Throws: `RecordError` BAD_REQUEST if there are containers: the clock is in the past meanwhile, for their
    ///   records too.
    func fillEmpty() async throws {
        if let running { return try await running.value }
        // Goes on when the browser leaves the page.
        let task = Task {
            guard try await store.local.containers().isEmpty else {
                throw RecordError(
                    .badRequest,
                    "Demo data is loaded only into a server without containers; 'skylight serve --demo' adds it to others"
                )
            }
            try await fill()
        }
        running = task
        defer { running = nil }
        try await task.value
    }
}
