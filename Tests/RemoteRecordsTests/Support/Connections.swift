import AssetStore
import CloudKitClient
import Foundation
import HTTPServing
import InMemoryRecordStore
import JSON
import Logging
import LoopbackServing
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing
import WebServices

@testable import Accounts
@testable import RemoteRecords

/// A clock that only pauses move.
final class TestClock: Sendable {
    private let start = ContinuousClock.now
    private let made = Mutex<[Duration]>([])

    var pauses: [Duration] { made.withLock { $0 } }

    var pacing: Pacing {
        Pacing(
            now: { [self] in start + made.withLock { $0.reduce(.zero, +) } },
            pause: { [self] pause in
                try Task.checkCancellation()
                made.withLock { $0.append(pause) }
            },
            chance: { 0 })
    }
}

let testContainer = "iCloud.com.example.Remote"

private func connect<Value>(
    _ address: String, _ credentials: ContainerCredentials, _ pacing: Pacing, _ body: (ContainerClient) async throws -> Value
) async throws -> Value {
    let client = try ContainerClient(
        container: try #require(ContainerID(testContainer)), environment: .development, credentials: credentials,
        configuration: ClientConfiguration(address: address), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, pacing: pacing)
    do {
        let value = try await body(client)
        await client.close()
        return value
    } catch {
        await client.close()
        throw error
    }
}

/// A container of a scripted server.
/// - Parameter pacing: `nil` for pauses that take no time.
func withScript(
    clock: TestClock = TestClock(), pacing: Pacing? = nil, requestsAtOnce: Int = 4, _ script: @escaping ScriptedServer.Script,
    _ body: (Container, ScriptedServer) async throws -> Void
) async throws {
    try await ScriptedServer.run(script) { address, server in
        try await connect(address, .apiToken("a0b1c2d3e4f5a6b7"), pacing ?? clock.pacing) { client in
            try await body(Container(client, maximumConcurrentRequests: requestsAtOnce), server)
        }
    }
}

/// A container of a server that answers in turn; the last answer is repeated.
func withAnswers(
    _ answers: ScriptedServer.Reply..., clock: TestClock = TestClock(), body: (Container, ScriptedServer) async throws -> Void
) async throws {
    try await withScript(clock: clock, { _, number in answers[min(number, answers.count - 1)] }, body)
}

/// A real server with nothing but CloudKit's protocol, and users who are signed in: Anna, and Ben with the address ben@example.com.
struct LiveServer: Sendable {
    let port: Int
    private let engine: InMemoryRecordEngine
    let users: [Name]
    private let apiToken: String
    private let userTokens: [NewestToken]
    private let faults: FaultInjection

    static func run(_ body: @Sendable (LiveServer) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let engine = InMemoryRecordEngine()
        let assets = AssetStores(folder: folder.url, engine: engine)
        let faults = FaultInjection()
        let accounts = try Accounts(file: nil) { _ in }
        let container = try #require(ContainerID(testContainer))
        let token = try await accounts.makeAPIToken(named: "test", container: container, environment: .development, allowedOrigins: [], callback: nil)
        var users: [Name] = []
        var userTokens: [NewestToken] = []
        for (name, address) in [("Anna", nil), ("Ben", "ben@example.com")] {
            let user = try await accounts.makeUser(displayName: name, emailAddress: address)
            let session = try await accounts.signIn(
                user.userRecordName, with: SignInRequest(container: container, environment: .development), keepSignedIn: false, now: Date())
            users.append(user.userRecordName)
            userTokens.append(NewestToken(session.token))
        }
        let router = Routes()
        router.addGuards(trusting: .loopback, tokensOf: accounts, isSecure: false, protocolOnly: true)
        WebServices(engine: engine, accounts: accounts, assets: assets, faults: faults, access: AccessControl(.required, accounts: accounts))
            .addRoutes(to: router)
        let (names, tokens) = (users, userTokens)
        try await LoopbackServer.run(router, server: .guardedHTTP1(uploadLimit: assets.sizeLimit)) { port in
            try await body(LiveServer(port: port, engine: engine, users: names, apiToken: token.secret, userTokens: tokens, faults: faults))
        }
        await assets.close()
        await engine.close()
    }

    /// A client on a device of a user.
    /// - Parameters:
    ///   - user: the number of the user, who is Anna by default.
    ///   - port: of a proxy.
    ///   - pacing: `nil` for pauses that take no time.
    func device<Value>(
        of user: Int = 0, through port: Int? = nil, pacing: Pacing? = nil, _ body: (ContainerClient) async throws -> Value
    ) async throws -> Value {
        let userToken = userTokens[user]
        let credential = WebAuthCredential(try #require(WebAuthToken(userToken.text))) { userToken.keep($0.text) }
        return try await connect(
            "http://127.0.0.1:\(port ?? self.port)", .webAuth(apiToken: apiToken, user: credential), pacing ?? TestClock().pacing, body)
    }

    /// The number of versions of a record that were ever saved.
    func versions(of recordID: RecordID) async throws -> Int {
        try await stored().journal(RecordJournalRequest(recordID)).entries.count
    }

    func stopFaults() { faults.stop() }

    func expireTokens() async throws {
        try await stored().expireTokens()
    }

    /// Anna's private database, past the protocol.
    private func stored() async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: try #require(ContainerID(testContainer)), environment: .development, scope: .private)
        return try await engine.database(address, as: Caller(userRecordName: users[0]))
    }

    /// Makes the next requests fail.
    func inject(_ fault: InjectedFault, count: Int? = nil) throws {
        try faults.start(FaultSetting(fault, count: count), in: FaultArea(container: ContainerID(testContainer)))
    }
}

/// The user's token, which the server replaces.
private final class NewestToken: Sendable {
    private let token: Mutex<String>

    init(_ text: String) {
        token = Mutex(text)
    }

    var text: String { token.withLock { $0 } }
    func keep(_ text: String) { token.withLock { $0 = text } }
}

/// The words of callbacks, in order.
final class Told: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }
    func note(_ line: String) { lines.withLock { $0.append(line) } }
}

/// The error of work that has to fail.
func operationError(_ body: () async throws -> Void) async -> OperationError? {
    do {
        try await body()
        Issue.record("nothing was thrown")
    } catch let error as OperationError {
        return error
    } catch {
        Issue.record("another error: \(error)")
    }
    return nil
}

extension ModifyRecords.Event {
    /// Such as `saved r1` or `deleted r2: serverRecordChanged`.
    var words: String {
        switch self {
        case .progress(let recordID, let part): "progress \(recordID.recordName) \(part)"
        case .saved(let recordID, .success): "saved \(recordID.recordName)"
        case .saved(let recordID, .failure(let error)): "saved \(recordID.recordName): \(error.code)"
        case .deleted(let recordID, .success): "deleted \(recordID.recordName)"
        case .deleted(let recordID, .failure(let error)): "deleted \(recordID.recordName): \(error.code)"
        }
    }
}

/// The answer to a save, and to a lookup, of records with these members.
func records(_ members: String...) -> ScriptedServer.Reply {
    .json(#"{"records":[\#(members.map { "{\($0)}" }.joined(separator: ","))]}"#)
}

/// A record with a text.
func item(_ name: String, tag: String, text: String? = nil) -> String {
    let fields = text.map { #""text":{"value":"\#($0)","type":"STRING"}"# } ?? ""
    return #""recordName":"\#(name)","recordType":"Item","recordChangeTag":"\#(tag)","fields":{\#(fields)}"#
}

/// A record as it was fetched, with a change.
func edited(_ name: String, tag: String, from old: String = "old", to new: String = "new", in zoneID: ZoneID = zone) throws -> Record {
    let json = try JSONReader.value(of: "{\(item(name, tag: tag, text: old))}")
    var record = try #require(Record(try ReceivedRecord(json.object, in: zoneID)))
    record["text"] = new
    return record
}

let zone = ZoneID(zoneName: "Items")
