import CloudKitClient
import Foundation
import Logging
import LoopbackServing
import RecordStore
import Records
import SkylightTesting
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

let testContainer = "iCloud.com.example.Remote"

private func closing<Value>(_ client: ContainerClient, _ body: (ContainerClient) async throws -> Value) async throws
    -> Value
{
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
    clock: VirtualClock = VirtualClock(), pacing: Pacing? = nil, requestsAtOnce: Int = 4,
    _ script: @escaping ScriptedServer.Script,
    _ body: (Container, ScriptedServer) async throws -> Void
) async throws {
    try await ScriptedServer.run(script) { address, server in
        let client = try ContainerClient(
            container: try #require(ContainerID(testContainer)), environment: .development,
            credentials: .apiToken("a0b1c2d3e4f5a6b7"),
            configuration: ClientConfiguration(address: address),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            pacing: pacing ?? clock.pacing)
        try await closing(client) { try await body(Container($0, maximumConcurrentRequests: requestsAtOnce), server) }
    }
}

/// A container of a server that answers in turn; the last answer is repeated.
func withAnswers(
    _ answers: ScriptedServer.Reply..., clock: VirtualClock = VirtualClock(),
    body: (Container, ScriptedServer) async throws -> Void
) async throws {
    try await withScript(clock: clock, { _, number in answers[min(number, answers.count - 1)] }, body)
}

/// A real server with nothing but CloudKit's protocol, and users who are signed in: Anna, and Ben with the address
/// ben@example.com.
struct LiveServer: Sendable {
    let skylight: SkylightServer
    private let people: [SkylightServer.User]

    /// - Parameter overTLS: true for a server with a certificate of its own, which its devices trust.
    static func run(overTLS: Bool = false, _ body: (LiveServer) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let tls =
            try overTLS
            ? SkylightServer.TLSFiles(
                certificate: folder.write(TestCertificate.pem, to: "cert.pem"),
                key: folder.write(TestCertificate.key, to: "key.pem")) : nil
        try await SkylightServer.run(container: testContainer, tls: tls) { skylight in
            let people = [
                try await skylight.makeUser("Anna"),
                try await skylight.makeUser("Ben", emailAddress: "ben@example.com"),
            ]
            try await body(LiveServer(skylight: skylight, people: people))
        }
    }

    var port: Int { skylight.port }
    var users: [Name] { people.map(\.userRecordName) }

    /// A client on a device of a user.
    /// - Parameters:
    ///   - user: the number of the user, who is Anna by default.
    ///   - port: of a proxy.
    ///   - pacing: `nil` for pauses that take no time.
    func device<Value>(
        of user: Int = 0, through port: Int? = nil, pacing: Pacing? = nil,
        _ body: (ContainerClient) async throws -> Value
    ) async throws -> Value {
        let client = try await skylight.connection(
            of: people[user], in: skylight.container, through: port, pacing: pacing ?? VirtualClock().pacing)
        return try await closing(client, body)
    }

    /// The number of versions of a record of Anna's that were ever saved.
    func versions(of recordID: RecordID) async throws -> Int {
        try await skylight.versions(of: recordID, for: people[0])
    }

    func stopFaults() { skylight.stopFaults() }
    func expireTokens() async throws { try await skylight.trigger(.expireTokens, for: people[0]) }

    /// Makes the next requests fail.
    func inject(_ fault: InjectedFault, count: Int? = nil) throws { try skylight.inject(fault, count: count) }
}

/// The words of callbacks, in order.
final class CallbackLog: Sendable {
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
func edited(_ name: String, tag: String, from old: String = "old", to new: String = "new", in zoneID: ZoneID = zone)
    throws -> Record
{
    let json = try JSONReader.value(of: "{\(item(name, tag: tag, text: old))}")
    var record = try #require(Record(try ReceivedRecord(json.object, in: zoneID)))
    record["text"] = new
    return record
}

let zone = ZoneID(zoneName: "Items")
