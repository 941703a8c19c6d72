import Foundation
import InMemoryRecordStore
import LoopbackServing
import NIOCore
import Records
import RecordStore
import StoreScenarios
import Testing

@testable import RemoteRecordStore
@testable import WebServices

/// Errors of a bad connection.
@Suite struct ConnectionTests {
    /// The error of a read and of a save through a server.
    private func failures(_ url: URL) async throws -> (read: RecordError?, save: RecordError?) {
        let engine = try RemoteRecordEngine(url: url)
        let database = try await engine.full(.private)
        let read = await refusal { _ = try await database.zones() }
        let save = await refusal { try await database.save("r") }
        await engine.close()
        return (read, save)
    }

    @Test func aServerThatIsNotThereIsNamed() async throws {
        var address = ""
        try await ScriptedServer.run(.close) { free, _ in address = free }
        let url = try #require(URL(string: address))
        let failures = try await failures(url)
        #expect(failures.read?.code == .tryAgainLater && failures.save?.code == .tryAgainLater)
        #expect(failures.read?.reason.contains("\(url.absoluteString): the connection was refused") == true)
        let engine = try RemoteRecordEngine(url: url)
        let health = await refusal { _ = try await engine.require(.reportHealth).health() }
        #expect(health?.code == .tryAgainLater)
        await engine.close()
    }

    @Test func aReadIsSentAgainWhenTheConnectionBrokeASaveIsNot() async throws {
        try await ScriptedServer.run(.close, .json(#"{"zones":[]}"#)) { address, server in
            let engine = try RemoteRecordEngine(at: address)
            #expect(try await engine.full(.private).zones().isEmpty)
            #expect(server.requests.count == 2)
            await engine.close()
        }
        try await ScriptedServer.run(.close) { address, server in
            let engine = try RemoteRecordEngine(at: address)
            let read = await refusal { _ = try await engine.full(.private).zones() }
            #expect(read?.code == .tryAgainLater && server.requests.count == 2)
            let save = await refusal { try await engine.full(.private).save("r") }
            #expect(save?.code == .internalError && save?.reason.contains("It is unknown if") == true)
            #expect(server.requests.count == 3)
            await engine.close()
        }
    }

    @Test func aRequestAboveTheLimitIsNotSent() async throws {
        try await ScriptedServer.run(.close) { address, server in
            let engine = try RemoteRecordEngine(at: address)
            let text = FieldValue.string(String(repeating: "x", count: 32 << 20))
            let save = await refusal { try await engine.full(.private).save("r", ["text": text]) }
            #expect(save?.code == .badRequest && save?.reason.hasSuffix("split it into smaller requests") == true)
            #expect(server.requests.isEmpty)
            await engine.close()
        }
    }

    @Test(
        arguments: [
            .raw("hello"), .json("{}"), .json("[]"), .json(#"{"zones":[{}],"records":[{}]}"#), .json("", status: 404),
            .json(#"{"zones":[1],"records":[1]}"#), .json(#"{"zones":"#), .json("moved", status: 302),
            .json("Bad Gateway", status: 502), .json("", status: 503),
        ] as [ScriptedServer.Reply])
    func otherServersAreRecognised(answer: ScriptedServer.Reply) async throws {
        try await ScriptedServer.run(answer) { address, _ in
            let failures = try await failures(try #require(URL(string: address)))
            #expect(
                failures.read?.code == .internalError && failures.read?.reason.contains("is not a Skylight") == true)
            #expect(failures.save?.code == .internalError)
        }
    }

    @Test(arguments: [
        RecordError(.throttled, "Slow down", retryAfter: 7),
        RecordError(.tryAgainLater, "The disk is full", retryAfter: 1),
        RecordError(.quotaExceeded, "é \"full\" \u{0}"),
        RecordError(.internalError, "The store is damaged"), RecordError(.zoneBusy, "Busy", retryAfter: 2),
    ])
    func whatTheEngineThrowsArrives(error: RecordError) async throws {
        try await LiveServer.run(on: FailingEngine(error: error)) { url in
            let failures = try await failures(url)
            #expect(failures.read == error && failures.save == error)
        }
    }

    @Test func itemsKeepTheTimeToWait() async throws {
        let item = #"{"recordName":"r","reason":"Busy","serverErrorCode":"TRY_AGAIN_LATER","retryAfter":3}"#
        try await ScriptedServer.run(.json(#"{"records":[\#(item)]}"#)) { address, _ in
            let engine = try RemoteRecordEngine(at: address)
            let found = try await engine.full(.private).fetch([RecordID(recordName: "r")], desiredKeys: nil)
            #expect(found == [.failure(RecordError(.tryAgainLater, "Busy", retryAfter: 3))])
            await engine.close()
        }
    }

    /// An item of a lookup, or one that was omitted for lack of room, with a reason as another version would word it.
    private static func item(_ name: String, hasRoom: Bool) -> String {
        if !hasRoom {
            return #"{"recordName":"\#(name)","serverErrorCode":"BAD_REQUEST","reason":"\#(fullStart): ask once more"}"#
        }
        let signature = #"{"timestamp":1,"userRecordName":"_a","deviceID":"d"}"#
        return
            #"{"recordName":"\#(name)","recordType":"T","zoneID":{"zoneName":"_defaultZone"},"recordChangeTag":"1","created":\#(signature),"#
            + #""modified":\#(signature),"fields":{"text":{"value":"0123456789","type":"STRING"}}}"#
    }

    private static let fullStart = "The records before this one fill the answer"

    private static func lookup(_ items: String...) -> ScriptedServer.Reply {
        .json(#"{"records":[\#(items.joined(separator: ","))]}"#)
    }

    @Test func whatAnAnswerLeavesOutIsAskedForAgain() async throws {
        let gone = #"{"recordName":"b","serverErrorCode":"NOT_FOUND","reason":"Record not found"}"#
        try await ScriptedServer.run(
            Self.lookup(
                Self.item("a", hasRoom: true), gone, Self.item("c", hasRoom: false), Self.item("d", hasRoom: false)),
            Self.lookup(Self.item("c", hasRoom: true), Self.item("d", hasRoom: false)),
            Self.lookup(Self.item("d", hasRoom: true))
        ) { address, server in
            let engine = try RemoteRecordEngine(at: address)
            let found = try await engine.full(.private).fetch(
                ["a", "b", "c", "d"].map { RecordID(recordName: $0) }, desiredKeys: nil)
            #expect(found.map { (try? $0.get())?.recordID.recordName } == ["a", nil, "c", "d"])
            #expect(found[1] == .failure(.recordNotFound) && server.requests.count == 3)
            await engine.close()
        }
        // Asking a server that never has room would loop forever.
        try await ScriptedServer.run(Self.lookup(Self.item("a", hasRoom: false))) { address, server in
            let engine = try RemoteRecordEngine(at: address)
            let refused = await refusal {
                _ = try await engine.full(.private).fetch([RecordID(recordName: "a")], desiredKeys: nil)
            }
            #expect(refused?.code == .internalError && server.requests.count == 1)
            await engine.close()
        }
    }

    @Test func whatThereIsNoRoomForIsNotAskedForAgain() async throws {
        try await ScriptedServer.run(
            Self.lookup(Self.item("a", hasRoom: true), Self.item("b", hasRoom: true), Self.item("c", hasRoom: false))
        ) { address, server in
            let engine = try RemoteRecordEngine(at: address)
            let found = try await engine.full(.private).fetch(
                ["a", "b", "c"].map { RecordID(recordName: $0) }, desiredKeys: nil, bytesLimit: 60)
            #expect(found.map { (try? $0.get())?.recordID.recordName } == ["a", nil, nil])
            #expect(found.dropFirst().allSatisfy { $0 == .failure(.tooManyBytes) } && server.requests.count == 1)
            await engine.close()
        }
        #expect(RecordError.tooManyBytes.reason.hasPrefix(Self.fullStart), "clients go by it")
    }

    @Test(arguments: ["one \"é\"", nil])
    func serversAreDistinguished(instance: String?) async throws {
        try await LiveServer.run(on: InMemoryRecordEngine(), instance: instance) { url in
            let engine = try RemoteRecordEngine(url: url)
            #expect(try await engine.instance() == instance)
            await engine.close()
        }
        try await ScriptedServer.run(.close) { address, _ in
            let engine = try RemoteRecordEngine(at: address)
            let error = await refusal { _ = try await engine.instance() }
            #expect(error?.code == .tryAgainLater)
            await engine.close()
        }
    }

    @Test func onlyASignOfLifeIsQuiet() {
        let signOfLife = Array(String(buffer: Wake.signOfLife).utf8)
        #expect(!RemoteDatabase.holdsSign(signOfLife))
        for text in ["event: commit\ndata: 1\n\n", ": still here\n\nevent: commit\ndata: 1\n\n", ": still", ""] {
            #expect(RemoteDatabase.holdsSign(Array(text.utf8)))
        }
    }

    @Test func aClosedEngineSaysSo() async throws {
        try await LiveServer.run { url in
            let engine = try RemoteRecordEngine(url: url)
            let database = try await engine.withZone()
            let commits = try database.require(.signalCommits).commits()
            await engine.close()
            let refused = await refusal { _ = try await database.zones() }
            #expect(refused == RecordError(.tryAgainLater, "The store is closed", retryAfter: 1))
            // The signals end. Otherwise this loop would never finish.
            for await _ in commits {}
        }
    }

    @Test(arguments: ["ftp://127.0.0.1:1", "http://", "skylight", "http://127.0.0.1:1/?x=1"])
    func whatIsNoAddressIsRefused(text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: RecordError.self) { try RemoteRecordEngine(url: url) }
    }
}

extension RemoteRecordEngine {
    fileprivate convenience init(at address: String) throws { try self.init(url: try #require(URL(string: address))) }
}

private struct FailingEngine: RecordEngine, ContainerListing {
    let error: RecordError

    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase { throw error }
    func containers() async throws -> [ContainerID] { throw error }
    func environments(of container: ContainerID) async throws -> [Records.Environment] { throw error }
    func close() async {}
}

/// Event streams are read whatever their parts are.
@Suite struct EventStreamTests {
    private static let text =
        "id: 7\nevent: following\ndata: {}\n\n: still here\n\nid: 9\nevent: notification\ndata: {\"aps\":{\"alert\":\"é: x\"}}\n\n"
    private static let events = [
        EventStreamParser.Event(id: "7", name: "following", data: Array("{}".utf8)),
        EventStreamParser.Event(id: "9", name: "notification", data: Array("{\"aps\":{\"alert\":\"é: x\"}}".utf8)),
    ]

    @Test(arguments: [1, 2, 3, 7, 1000]) func partsOfAnySize(size: Int) throws {
        var parser = EventStreamParser()
        let bytes = Array(Self.text.utf8)
        var events: [EventStreamParser.Event] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try parser.events(after: bytes[start..<min(start + size, bytes.count)])
        }
        #expect(events == Self.events)
    }

    @Test func anEndlessEventIsRefused() throws {
        var parser = EventStreamParser()
        let part = [UInt8](repeating: UInt8(ascii: "x"), count: EventStreamParser.limit)
        #expect(try parser.events(after: part).isEmpty)
        #expect(throws: RecordError.self) { try parser.events(after: part.prefix(1)) }
    }
}
