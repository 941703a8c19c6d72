import AssetStore
import CloudKitClient
import InMemoryRecordStore
import JSON
import Logging
import LoopbackServing
import RecordStore
import Records
import TestSupport
import Testing

@testable import Mirroring

/// Feeds that a Skylight does not give, as CloudKit may.
@Suite struct ScriptedFeedTests {
    private static let zone = ZoneID(zoneName: "Z")
    private static let zones = #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"now"}],"syncToken":"d1","moreComing":false}"#

    private static func record(_ name: String, _ tag: String = "1", fields: String = "") -> String {
        let signature = #"{"timestamp":1000,"userRecordName":"_u","deviceID":"d"}"#
        return #"{"recordName":"\#(name)","recordType":"Item","recordChangeTag":"\#(tag)","fields":{\#(fields)},"created":\#(signature),"modified":\#(signature)}"#
    }

    private static func page(_ records: [String], _ token: String, more: Bool) -> String {
        #"{"zones":[{"zoneID":{"zoneName":"Z"},"records":[\#(records.joined(separator: ","))],"syncToken":"\#(token)","moreComing":\#(more)}]}"#
    }

    /// A pull of a private database from a script.
    /// - Parameters:
    ///   - files: keeps all files. Their addresses begin with `ADDRESS`.
    ///   - file: the content of each file; `nil` if none is there.
    ///   - feed: the answer of `changes/zone` to a request that contains a token, or none.
    private static func pull(
        into engine: InMemoryRecordEngine = InMemoryRecordEngine(), files: AssetStores? = nil, zones: @escaping @Sendable (String) -> String = { _ in zones },
        lookup: String = "{}", file: String? = nil, feed: @escaping @Sendable (_ body: String) -> String,
        _ body: (PullReport, any RecordDatabase, [ScriptedServer.Request]) async throws -> Void
    ) async throws {
        let container = try #require(ContainerID("iCloud.com.example.Scripted"))
        try await ScriptedServer.run({ request, _ in
            if request.method == "GET" { return .raw(file ?? "", status: file == nil ? 404 : 200) }
            if request.path.hasSuffix("changes/database") { return .json(zones(request.body)) }
            let text = request.path.hasSuffix("records/lookup") ? lookup : feed(request.body)
            return .json(text.replacing("ADDRESS", with: "http://\(request.headers["host"] ?? "")"))
        }) { address, server in
            let client = try ContainerClient(
                container: container, environment: .development, credentials: .apiToken("token"), configuration: ClientConfiguration(address: address),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            var options = MirrorOptions(scopes: [.private])
            if files != nil { options.files = .all }
            let store = try await files?.store(container, .development)
            let mirror = ContainerMirror(of: client, in: container, of: engine, as: "_u", assets: store, options: options)
            let report: PullReport
            do {
                report = try await mirror.pull()
            } catch {
                await client.close()
                throw error
            }
            await client.close()
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            try await body(report, try await engine.database(address, as: Caller(userRecordName: "_u")), server.requests)
        }
    }

    @Test func emptyPagesAreNotTheEnd() async throws {
        let feed: @Sendable (String) -> String = { body in
            if body.contains(#""t2""#) { return Self.page([Self.record("a")], "t3", more: false) }
            return Self.page([], body.contains(#""t1""#) ? "t2" : "t1", more: true)
        }
        try await Self.pull(feed: feed) { report, mirror, requests in
            #expect(report.outcome.saved == 1 && report.problems.isEmpty && requests.count == 4)
            let marks = try await mirror.mirrorMarks()
            #expect(marks[Marks.token(of: Self.zone, .private)] == "t3" && marks[Marks.database(.private)] == "d1")
        }
    }

    @Test func aFeedThatGoesInACircleEnds() async throws {
        await #expect(throws: RecordError.self) {
            try await Self.pull(feed: { _ in Self.page([], "t1", more: true) }) { _, _, _ in }
        }
    }

    @Test func aRecordThatTheFeedCouldNotReadIsLookedUp() async throws {
        let failed = ["b", "c"].map { #"{"recordName":"\#($0)","serverErrorCode":"INTERNAL_ERROR","reason":"unreadable"}"# }
        let lookup = #"{"records":[\#(Self.record("b")),{"recordName":"c","serverErrorCode":"INTERNAL_ERROR","reason":"unreadable"}]}"#
        try await Self.pull(lookup: lookup, feed: { _ in Self.page([Self.record("a")] + failed, "t1", more: false) }) { report, mirror, _ in
            #expect(report.outcome.saved == 2)
            #expect(report.problems == [.record(RecordID(recordName: "c", zoneID: Self.zone), reason: "INTERNAL_ERROR: unreadable")])
            let names = try await mirror.list(RecordListRequest(Self.zone)).records.map(\.recordID.recordName)
            #expect(names == ["a", "b"])
        }
    }

    @Test func fieldsOfUnknownKindsAreNamed() async throws {
        let fields = #""text":{"value":"a","type":"STRING"},"new":{"value":{"x":1},"type":"HOLOGRAM"},"none":{"value":null,"type":"STRING"}"#
        try await Self.pull(feed: { _ in Self.page([Self.record("a", fields: fields)], "t1", more: false) }) { report, mirror, _ in
            #expect(report.problems == [.fields(["new"], of: "Item")])
            let text = try await mirror.value(of: "text", of: "a", in: Self.zone)
            #expect(text == .string("a"))
        }
    }

    @Test func aFileThatTheOriginDoesNotGiveIsNamed() async throws {
        let folder = try TemporaryFolder()
        let engine = InMemoryRecordEngine()
        let assets = AssetStores(folder: folder.url, engine: engine)
        let record = Self.record(
            "a", fields: #""file":{"value":{"fileChecksum":"AQID","size":3,"downloadURL":"ADDRESS/gone"},"type":"ASSETID"}"#)
        let feed: @Sendable (String) -> String = { _ in Self.page([record, Self.record("b")], "t1", more: false) }
        try await Self.pull(into: engine, files: assets, lookup: #"{"records":[\#(record)]}"#, feed: feed) { report, mirror, requests in
            #expect(report.outcome.saved == 2)
            guard case .file("file", let recordID, _)? = report.problems.first, report.problems.count == 1 else {
                Issue.record("\(report.problems)")
                return
            }
            #expect(recordID.recordName == "a")
            // The first address may have expired.
            #expect(requests.count { $0.path == "/gone" } == 2)
            let marks = try await mirror.mirrorMarks()
            #expect(marks[Marks.token(of: Self.zone, .private)] == "t1")
        }
        await assets.close()
    }

    /// CloudKit's checksums are not Skylight's, and its addresses have a place for a name.
    @Test func filesWithOtherChecksumsAreFetchedOnce() async throws {
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        let assets = AssetStores(folder: folder.url, engine: engine)
        let file = String(repeating: "A file of CloudKit's. ", count: 5000)
        let asset = #""file":{"value":{"fileChecksum":"AQ+/c3Q=","size":\#(file.utf8.count),"downloadURL":"ADDRESS/${f}?o=1"},"type":"ASSETID"}"#
        for tag in ["1", "2"] {
            let feed: @Sendable (String) -> String = { _ in Self.page([Self.record("a", tag, fields: asset)], "t\(tag)", more: false) }
            try await Self.pull(into: engine, files: assets, file: file, feed: feed) { report, mirror, requests in
                #expect(report.outcome.saved == 1 && report.problems.isEmpty)
                #expect(requests.filter { $0.method == "GET" }.map { $0.target.contains("$") } == (tag == "1" ? [false] : []))
                guard case .asset(let stored)? = try await mirror.value(of: "file", of: "a", in: Self.zone) else {
                    Issue.record("no asset")
                    return
                }
                #expect(stored.originChecksum == "AQ+/c3Q=" && stored.size == Int64(file.utf8.count))
                let checksum = try #require(FileChecksum(stored.fileChecksum))
                let ledger = try await engine.assetLedger(#require(ContainerID("iCloud.com.example.Scripted")), .development)
                #expect(try await ledger.entry(of: checksum) != nil)
            }
        }
        await assets.close()
    }

    @Test func aRecordWithoutItsTypeIsNamed() async throws {
        let records = [#"{"recordName":"a","recordChangeTag":"1","fields":{}}"#, Self.record("b")]
        try await Self.pull(feed: { _ in Self.page(records, "t1", more: false) }) { report, _, _ in
            #expect(report.outcome.saved == 1)
            guard case .record(let recordID, _)? = report.problems.first, report.problems.count == 1 else {
                Issue.record("\(report.problems)")
                return
            }
            #expect(recordID.recordName == "a")
        }
    }

    @Test func anExpiredTokenOfTheDatabaseStartsTheListAnew() async throws {
        let engine = InMemoryRecordEngine()
        try await Self.pull(into: engine, feed: { _ in Self.page([Self.record("a")], "t1", more: false) }) { _, _, _ in }
        // The zone is no longer in the list.
        let zones: @Sendable (String) -> String = { body in
            if body.contains(#""d1""#) { return #"{"serverErrorCode":"BAD_REQUEST","reason":"client knowledge differs from server knowledge"}"# }
            return #"{"zones":[],"syncToken":"d2","moreComing":false}"#
        }
        try await Self.pull(into: engine, zones: zones, feed: { _ in Self.page([], "t2", more: false) }) { report, mirror, requests in
            #expect(report.problems.isEmpty && requests.count == 2)
            let custom = try await mirror.zones().map(\.zoneID).filter { !$0.isDefault }
            let marks = try await mirror.mirrorMarks()
            #expect(custom.isEmpty)
            #expect(Set(marks.keys) == [Marks.database(.private), Marks.files, Marks.history] && marks[Marks.database(.private)] == "d2")
        }
    }

    @Test func aZoneThatFailsDoesNotStopTheOthers() async throws {
        let zones = #"{"zones":[{"zoneID":{"zoneName":"Bad"}},{"zoneID":{"zoneName":"Z"}}],"syncToken":"d1","moreComing":false}"#
        let feed: @Sendable (String) -> String = { body in
            guard body.contains(#""Bad""#) else { return Self.page([Self.record("a")], "t1", more: false) }
            return #"{"zones":[{"zoneID":{"zoneName":"Bad"},"serverErrorCode":"INTERNAL_ERROR","reason":"broken"}]}"#
        }
        try await Self.pull(zones: { _ in zones }, feed: feed) { report, mirror, _ in
            #expect(report.outcome.saved == 1)
            #expect(report.problems == [.failed(.private, ZoneID(zoneName: "Bad"), reason: "INTERNAL_ERROR: broken")])
            // The zone is listed again the next time.
            let marks = try await mirror.mirrorMarks()
            #expect(marks[Marks.database(.private)] == nil)
        }
    }
}
