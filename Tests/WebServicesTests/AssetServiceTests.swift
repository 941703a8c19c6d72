import AssetStore
import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

/// Skylight's own services for files.
@Suite("Asset services")
struct AssetServiceTests {
    private static let root = "/skylight/1/iCloud.com.example.Test/development/assets"
    private static let text = Array(String(repeating: "All work and no play makes Jack a dull boy. ", count: 500).utf8)

    private func lines(_ response: RawResponse) throws -> [JSONValue] {
        try response.text.split(separator: "\n").map { try JSONReader.value(of: Array($0.utf8)) }
    }

    // MARK: Facts

    @Test("The file service returns the properties of a file and an address")
    func facts() async throws {
        try await AssetClient.run { client in
            let path = try await client.store(Self.text, named: "jack.txt")
            // Requesting the compressed form creates it.
            _ = try await client.send("GET", path, ["Accept-Encoding: gzip"])
            let checksum = try Tool.sha256(Self.text)
            let answer = try await client.send("GET", "\(Self.root)/facts?fileChecksum=\(checksum)")
            #expect(answer.status == 200, "\(answer.text)")
            let expected: JSONValue = [
                "fileChecksum": .string(checksum), "size": .integer(Int64(Self.text.count)), "compressedSize": "<any>",
                "mediaType": "<has text/plain>",
                "preview": "text", "useCount": 1,
            ]
            #expect(Subset.differences(expected, try answer.json()) == [])
            let url = try client.string("downloadURL", in: try answer.json())
            #expect(url.hasSuffix("/\(checksum.prefix(8)).txt"))
            #expect(try await client.send("GET", url.withoutOrigin).body == Self.text)
        }
    }

    @Test("Unknown files and containers return NOT_FOUND, and create nothing")
    func nothing() async throws {
        try await AssetClient.run { client in
            let checksum = String(repeating: "0", count: 64)
            for (method, path) in [("GET", "facts?fileChecksum=\(checksum)"), ("GET", "verify"), ("POST", "sweep")] {
                let answer = try await client.send(
                    method, "\(Self.root)/\(path)", body: method == "POST" ? Array("{}".utf8) : nil)
                #expect(answer.status == 404 && answer.text.contains("There is no container"), "\(answer.text)")
            }
            #expect(try await client.server.engine.require(.listContainers).containers() == [])
            _ = try await client.store(Self.text)
            #expect(try await client.send("GET", "\(Self.root)/facts?fileChecksum=\(checksum)").status == 404)
            for query in [
                "", "?fileChecksum=", "?fileChecksum=xyz", "?fileChecksum=\(String(repeating: "A", count: 64))",
            ] {
                let answer = try await client.send("GET", "\(Self.root)/facts\(query)")
                #expect(answer.status == 400 && answer.text.contains("64 hexadecimal digits"), "\(answer.text)")
            }
            for (method, path) in [("POST", "facts"), ("POST", "verify"), ("GET", "sweep")] {
                #expect(
                    try await client.send(method, "\(Self.root)/\(path)", body: method == "POST" ? [] : nil).status
                        == 405)
            }
            let unknown = try await client.send("GET", "\(Self.root)/all")
            #expect(unknown.status == 400 || unknown.status == 404)
        }
    }

    // MARK: Uses

    @Test("A user gets the visible records that refer to the same file")
    func uses() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.text)
            _ = try await client.store(Self.text, in: "s")
            let anna = AssetClient(server: client.server, user: "anna")
            _ = try await anna.store(Self.text)
            let body: JSONValue = ["fileChecksum": .string(try Tool.sha256(Self.text))]
            let answer = try await client.post(
                "/skylight/1/iCloud.com.example.Test/development/private/assets/uses", body)
            let expected: JSONValue = [
                "visible": [
                    [
                        "database": "private", "zoneID": ["zoneName": "_defaultZone"], "recordName": "r",
                        "recordType": "Note", "fieldName": "file",
                    ],
                    ["recordName": "s"],
                ], "total": 3,
            ]
            #expect(Subset.differences(expected, try answer.json()) == [], "\(answer.text)")
            let files = try AssetFiles.stored(in: client.server.folder).filter { !$0.hasSuffix(".gz") }
            #expect(files.count == 1)
        }
    }

    // MARK: Verifying

    @Test("A verification tells how far it is and what it found")
    func verify() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.text)
            let clean = try await client.send("GET", "\(Self.root)/verify")
            #expect(clean.status == 200 && clean.headers["content-type"] == "application/x-ndjson")
            let found = try lines(clean)
            #expect(Subset.differences(["verification": "started"], found.first) == [])
            let expected: JSONValue = [
                "verification": "finished", "filesDone": 1, "filesTotal": 1,
                "bytesDone": .integer(Int64(Self.text.count)), "referencesDone": 1, "problems": [],
            ]
            #expect(Subset.differences(expected, found.last) == [], "\(clean.text)")
            let name = try #require(try AssetFiles.stored(in: client.server.folder).first { !$0.hasSuffix(".gz") })
            try Data(Self.text.reversed()).write(to: client.server.folder.appending(path: name))
            let changed = try lines(try await client.send("GET", "\(Self.root)/verify"))
            let problem: JSONValue = [
                "problem": "changed", "fileChecksum": .string(try Tool.sha256(Self.text)), "explanation": "<any>",
            ]
            #expect(Subset.differences(["verification": "finished", "problems": [problem]], changed.last) == [])
        }
    }

    private struct Unforeseen: Error {}

    @Test(
        "A failure of the store ends the lines with its words, and an unexpected one with the way to the log",
        arguments: [("GET", "verify", "verification"), ("POST", "sweep", "sweep")],
        [
            (RecordError(.internalError, "The disk failed"), "The disk failed"),
            (Unforeseen(), "<has the server's log>"),
        ] as [(any Error, String)])
    func failing(_ call: (method: String, action: String, subject: Name), _ failure: (error: any Error, reason: String))
        async throws
    {
        try await TestServer.run(keeping: KeepingEngine(failure: failure.error)) { server in
            let response = try await AssetClient(server: server).send(
                call.method, "\(Self.root)/\(call.action)", body: call.method == "POST" ? [] : nil)
            #expect(response.status == 200)
            let failed: JSONValue = ["serverErrorCode": "INTERNAL_ERROR", "reason": .string(failure.reason)]
            #expect(
                Subset.differences(failed.setting(call.subject, to: "failed"), try lines(response).last) == [],
                "\(response.text)")
        }
    }

    @Test("A file where a folder should be does not keep the lines from their end")
    func aFileInsteadOfAFolder() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.text)
            let name = try #require(try AssetFiles.stored(in: client.server.folder).first)
            let assets = client.server.folder.appending(path: name).deletingLastPathComponent()
                .deletingLastPathComponent()
            let free = try #require(["00", "01"].first { !name.contains("/\($0)/") })
            try Data().write(to: assets.appending(path: free))
            let sweep = try await client.post("\(Self.root)/sweep", [:])
            #expect(
                Subset.differences(
                    ["sweep": "failed", "serverErrorCode": "INTERNAL_ERROR", "reason": "<has list the folder>"],
                    try lines(sweep).last) == [], "\(sweep.text)")
            let verified = try await client.send("GET", "\(Self.root)/verify")
            let expected: JSONValue = [
                "verification": "finished", "filesDone": 1,
                "problems": [["problem": "unreadable", "fileChecksum": .string(free)]],
            ]
            #expect(Subset.differences(expected, try lines(verified).last) == [], "\(verified.text)")
        }
    }

    // MARK: Sweeping

    @Test("A sweep removes what nothing uses when its time is over")
    func sweep() async throws {
        let clock = MovingClock()
        try await AssetClient.run(clock: clock) { client in
            // Too short to be compressed, which would hold them.
            let (kept, unused) = (Array("kept".utf8), Array("unused".utf8))
            _ = try await client.store(kept, in: "kept")
            _ = try await client.store(unused)
            try await client.save([:], as: "forceReplace")
            func sweep(_ body: JSONValue, _ expected: JSONValue) async throws {
                let answer = try await client.post("\(Self.root)/sweep", body)
                #expect(answer.status == 200)
                #expect(Subset.differences(["sweep": "started"], try lines(answer).first) == [])
                #expect(
                    Subset.differences(expected.setting("sweep", to: "finished"), try lines(answer).last) == [],
                    "\(answer.text)")
            }
            try await sweep([:], ["dryRun": false, "removed": [], "removedBytes": 0])
            clock.advance(by: .seconds(2 * 86_400))
            let file: JSONValue = [
                "fileChecksum": .string(try Tool.sha256(unused)), "name": "<any>", "bytes": "<any>",
            ]
            try await sweep(["dryRun": true], ["dryRun": true, "removed": [file]])
            try await sweep(["graceSeconds": 345_600], ["removed": [], "waiting": 1])
            #expect(try AssetFiles.stored(in: client.server.folder).filter { !$0.hasSuffix(".gz") }.count == 2)
            try await sweep(["graceSeconds": 0], ["dryRun": false, "removed": [file]])
            #expect(try AssetFiles.stored(in: client.server.folder).filter { !$0.hasSuffix(".gz") }.count == 1)
            for body in [
                ["dryRun": 1], ["graceSeconds": -1], ["graceSeconds": "x"], ["graceSeconds": .integer(.max)],
                ["graceSeconds": 3_155_760_001],
            ] as [JSONValue] {
                let refused = try await client.post("\(Self.root)/sweep", body)
                #expect(
                    refused.status == 400 && (refused.text.contains("graceSeconds") || refused.text.contains("dryRun")),
                    "\(refused.text)")
            }
            try await sweep(["graceSeconds": 3_155_760_000], ["removed": []])
        }
    }

    @Test(
        "Both stop when the client hangs up",
        arguments: [("GET", "verify", ""), ("POST", "sweep", #"{"dryRun":true}"#)])
    func hangingUp(method: String, action: String, body: String) async throws {
        let engine = KeepingEngine(failure: nil)
        try await TestServer.run(keeping: engine) { server in
            let request =
                "\(method) \(Self.root)/\(action) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            try await server.client.hangUp(after: Array(request.utf8)) {
                try await eventually { engine.waiting.withLock { $0 } == 1 }
            }
            try await eventually { engine.waiting.withLock { $0 } == 0 }
        }
    }

    // MARK: Guards

    @Test(
        "Pages of other sites look at nothing and remove nothing",
        arguments: [("GET", "verify"), ("POST", "sweep"), ("GET", "facts")])
    func foreignOrigin(method: String, action: String) async throws {
        try await AssetClient.run { client in
            for header in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
                let response = try await client.send(
                    method, "\(Self.root)/\(action)", [header], body: method == "POST" ? Array("{}".utf8) : nil)
                #expect(response.status == 403)
            }
        }
    }
}

/// An engine with one container whose ledger fails or never answers.
private final class KeepingEngine: ForwardingEngine, ContainerListing, AssetKeeping {
    struct Ledger: AssetLedger {
        let engine: KeepingEngine
        let tickets = AssetTickets(key: Array(repeating: 1, count: 32))

        private func answer<Value>() async throws -> Value {
            if let failure = engine.failure { throw failure }
            engine.waiting.withLock { $0 += 1 }
            defer { engine.waiting.withLock { $0 -= 1 } }
            try await Task.sleep(for: .seconds(600))
            throw CancellationError()
        }

        func enter(_ checksum: FileChecksum, size: Int64, inUseUntil until: Timestamp) async throws {
            let _: Int = try await answer()
        }
        func entry(of checksum: FileChecksum) async throws -> AssetEntry? { try await answer() }
        func entries(after checksum: FileChecksum?, limit: Int) async throws -> [AssetEntry] { try await answer() }
        func entries(unusedSince moment: Timestamp, after checksum: FileChecksum?, limit: Int) async throws
            -> [AssetEntry]
        { try await answer() }
        func strike(_ checksums: [FileChecksum], unusedSince moment: Timestamp) async throws -> Set<FileChecksum> {
            try await answer()
        }
        func recordedAssets(after place: Int64?) async throws -> RecordedAssetsPage { try await answer() }
    }

    let failure: (any Error)?
    /// The number of calls that wait for an answer.
    let waiting = Mutex(0)
    let base: any RecordEngine = InMemoryRecordEngine()

    init(failure: (any Error)?) {
        self.failure = failure
    }

    func part<Part>(_ capability: Capability<Part>) -> Part? { self as? Part }

    func assetLedger(_ container: ContainerID, _ environment: Records.Environment) async throws -> any AssetLedger {
        Ledger(engine: self)
    }
    func containers() async throws -> [ContainerID] { [ContainerID(ScenarioRunner.container)].compactMap(\.self) }
    func environments(of container: ContainerID) async throws -> [Records.Environment] { [.development] }
}
