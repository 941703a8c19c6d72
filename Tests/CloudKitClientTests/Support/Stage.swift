import Crypto
import Foundation
import LoopbackServing
import Records
import Synchronization
import Testing
import TestSupport

@testable import CloudKitClient

/// Clients of scripted servers, and all that they say.
final class Stage: Sendable {
    static let container = "iCloud.com.example.Test"
    static let root = "/database/1/\(container)/development/private/"
    static let apiToken = "a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5a0b1c2d3e4f5a6b7c8d9e0f1a2b3c4d5"
    static let userToken = "72__54__AQ+bb/cc==__eyJ4Ijoi+YSJ9"
    static let userTokenEncoded = "72__54__AQ%2Bbb%2Fcc%3D%3D__eyJ4Ijoi%2BYSJ9"

    let time: TestTime
    let key = P256.Signing.PrivateKey()
    private let lines = LogLines()
    private let kept = Mutex<[String]>([])
    private let seen = Mutex<[RequestEvent]>([])

    init(chance: Double = 0, day: Timestamp? = nil, tick: Duration = .zero) {
        time = TestTime(chance: chance, day: day, tick: tick)
    }

    var log: String { lines.text }
    /// The web auth tokens that were handed over, in order.
    var keptTokens: [String] { kept.withLock { $0 } }
    var events: [RequestEvent] { seen.withLock { $0 } }

    func credential(_ token: String = userToken) throws -> WebAuthCredential {
        WebAuthCredential(try #require(WebAuthToken(token))) { [self] token in
            // Gives a request that does not wait the time to overtake.
            await Task.yield()
            kept.withLock { $0.append(token.text) }
        }
    }

    func webAuth() throws -> ContainerCredentials {
        .webAuth(apiToken: Self.apiToken, user: try credential())
    }

    func serverKey() throws -> ContainerCredentials {
        .serverToServer(try ServerToServerKey(keyID: "key-1", pem: key.pemRepresentation))
    }

    /// Runs a client whose pauses take no time.
    func run(
        _ address: String, as credentials: ContainerCredentials? = nil,
        _ change: (inout ClientConfiguration) -> Void = { _ in },
        _ body: (ContainerClient) async throws -> Void
    ) async throws {
        var configuration = ClientConfiguration(address: address)
        change(&configuration)
        let client = try ContainerClient(
            container: try #require(ContainerID(Self.container)), environment: .development,
            credentials: credentials ?? webAuth(),
            configuration: configuration, logger: lines.logger, pacing: time.pacing
        )
        do {
            try await body(client)
        } catch {
            await client.close()
            throw error
        }
        await client.close()
    }

    func observe(_ event: RequestEvent) {
        seen.withLock { $0.append(event) }
    }

}

/// The failure of a request that has to fail.
func failure(_ body: () async throws -> Void) async -> CloudKitFailure? {
    do {
        try await body()
        Issue.record("nothing was thrown")
        return nil
    } catch let failure as CloudKitFailure {
        return failure
    } catch {
        Issue.record("another error: \(error)")
        return nil
    }
}

/// Records an issue, for guards.
func unexpected(_ found: Any, sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record("\(found)", sourceLocation: sourceLocation)
}

/// The object of a literal.
func object(_ json: JSONValue) -> JSONObject {
    if case .object(let object) = json { object } else { JSONObject() }
}

extension DatabaseClient {
    /// One request that only reads, and one that saves.
    func read() async throws { _ = try await zones() }

    func save(_ kind: RecordOperation.Kind = .create, ifAnswerIsLost lostAnswer: LostAnswer = .report) async throws {
        _ = try await modify(
            [RecordOperation(kind, recordName: "r", recordType: "T")], atomic: false, ifAnswerIsLost: lostAnswer)
    }
}

/// The answer to a save of one record.
let savedAnswer = ScriptedServer.Reply.json(
    #"{"records":[{"recordName":"r","recordType":"T","recordChangeTag":"1","fields":{}}]}"#)
let noZones = ScriptedServer.Reply.json(#"{"zones":[]}"#)

/// The tokens that were handed over before each request.
final class KeptBefore: Sendable {
    private let lists = Mutex<[[String]]>([])
    var all: [[String]] { lists.withLock { $0 } }
    func note(_ tokens: [String]) { lists.withLock { $0.append(tokens) } }
}

/// A server that takes each web auth token once.
final class OneTimeTokens: Sendable {
    private let state: Mutex<(current: String, good: Int)>

    init(first: String) {
        state = Mutex((first, 0))
    }

    /// The number of requests that were carried out.
    var good: Int { state.withLock { $0.good } }

    func answer(_ token: String) -> ScriptedServer.Reply {
        state.withLock { state in
            guard token == state.current else { return .error("AUTHENTICATION_REQUIRED", status: 421) }
            state.good += 1
            state.current = "token\(state.good)"
            return .json(
                #"{"zones":[],"records":[{"recordName":"r","recordType":"T"}]}"#,
                ["X-Apple-CloudKit-Web-Auth-Token": state.current])
        }
    }
}
