import AssetStore
import CloudKitClient
import InMemoryRecordStore
import Logging
import LoopbackServing
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

@testable import DataTransfer

/// Feeds that a Skylight does not give, as CloudKit may.
@Suite struct ScriptedFeedTests {
    private static let zone = ZoneID(zoneName: "Z")
    private static let zones =
        #"{"zones":[{"zoneID":{"zoneName":"Z"},"syncToken":"now"}],"syncToken":"d1","moreComing":false}"#

    private static func record(_ name: String, _ tag: String = "1", fields: String = "") -> String {
        let signature = #"{"timestamp":1000,"userRecordName":"_u","deviceID":"d"}"#
        return
            #"{"recordName":"\#(name)","recordType":"Item","recordChangeTag":"\#(tag)","fields":{\#(fields)},"created":\#(signature),"modified":\#(signature)}"#
    }

    private static func page(_ records: [String], _ token: String, more: Bool) -> String {
        #"{"zones":[{"zoneID":{"zoneName":"Z"},"records":[\#(records.joined(separator: ","))],"syncToken":"\#(token)","moreComing":\#(more)}]}"#
    }

    /// A pull of a private database from a script, or of the type `Item` of a public one.
    /// - Parameters:
    ///   - files: keeps all files. Their addresses begin with `ADDRESS`.
    ///   - file: the content of each file; `nil` if none is there.
    ///   - reply: the answer to a request for a file, instead of its content; `nil` for the others.
    ///   - slow: a path. After a request for it, half a minute passes whenever the client looks at its clock.
    ///   - service: the answer to a request of a service, such as `changes/zone`, instead of those here; `nil` for the
    ///     others.
    ///   - feed: the answer of `changes/zone` to a request that contains a token, or none.
    private static func pull(
        _ scope: DatabaseScope = .private, into engine: InMemoryRecordEngine = InMemoryRecordEngine(),
        files: AssetStores? = nil, zones: @escaping @Sendable (String) -> String = { _ in zones },
        lookup: @escaping @Sendable (_ body: String) -> String = { _ in "{}" }, file: String? = nil,
        reply: @escaping @Sendable (_ path: String) -> ScriptedServer.Reply? = { _ in nil },
        slow: String = "",
        service: @escaping @Sendable (_ name: String, _ body: String) -> ScriptedServer.Reply? = { _, _ in nil },
        feed: @escaping @Sendable (_ body: String) -> String,
        _ body: (PullReport, any RecordDatabase, [ScriptedServer.Request]) async throws -> Void
    ) async throws {
        let container = try #require(ContainerID("iCloud.com.example.Scripted"))
        let isSlow = Mutex(false)
        try await ScriptedServer.run({ request, _ in
            isSlow.withLock { $0 = request.path == slow }
            if request.method == "GET", let reply = reply(request.path) { return reply }
            if let reply = service(request.path.split(separator: "/").suffix(2).joined(separator: "/"), request.body) {
                return reply
            }
            if request.method == "GET" { return .raw(file ?? "", status: file == nil ? 404 : 200) }
            if request.path.hasSuffix("changes/database") { return .json(zones(request.body)) }
            let text = request.path.hasSuffix("records/lookup") ? lookup(request.body) : feed(request.body)
            return .json(text.replacing("ADDRESS", with: "http://\(request.headers["host"] ?? "")"))
        }) { address, server in
            let clock = Mutex(ContinuousClock.now)
            let pacing = Pacing(
                now: {
                    clock.withLock { now in
                        if isSlow.withLock({ $0 }) { now += .seconds(31) }
                        return now
                    }
                }, pause: { pause in clock.withLock { $0 += pause } })
            let client = try ContainerClient(
                container: container, environment: .development, credentials: .apiToken("token"),
                configuration: ClientConfiguration(address: address),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, pacing: pacing)
            var options = MirrorOptions(scopes: [scope])
            options.publicTypes = ["Item"]
            if files != nil { options.files = .all }
            let store = try await files?.store(container, .development)
            let mirror = ContainerMirror(
                of: client, in: container, of: engine, as: "_u", assets: store, options: options)
            let report: PullReport
            do {
                report = try await mirror.pull()
            } catch {
                await client.close()
                throw error
            }
            await client.close()
            let address = DatabaseAddress(container: container, environment: .development, scope: scope)
            try await body(
                report, try await engine.database(address, as: Caller(userRecordName: "_u")), server.requests)
        }
    }

    @Test func emptyPagesAreNotTheEnd() async throws {
        let feed: @Sendable (String) -> String = { body in
            if body.contains(#""t2""#) { return Self.page([Self.record("a")], "t3", more: false) }
            return Self.page([], body.contains(#""t1""#) ? "t2" : "t1", more: true)
        }
        try await Self.pull(feed: feed) { report, mirror, requests in
            #expect(report.outcome.saved == 1 && report.problems.isEmpty && requests.count == 4)
            let marks = try await mirror.require(.mirrorRecords).mirrorMarks()
            #expect(marks[Marks.token(of: Self.zone, .private)] == "t3" && marks[Marks.database(.private)] == "d1")
        }
    }

    private static let twoZones =
        #"{"zones":[{"zoneID":{"zoneName":"Bad"}},{"zoneID":{"zoneName":"Z"}}],"syncToken":"d1","moreComing":false}"#

    /// The other zone comes, and the next pull tries the one that failed again.
    @Test(arguments: ["circle", "empty pages", "no JSON", "breaks off"])
    func aZoneWithoutEndOrAnswerIsNamed(fault: String) async throws {
        let number = Mutex(0)
        try await Self.pull(
            zones: { _ in Self.twoZones },
            service: { name, body in
                guard name == "changes/zone", body.contains(#""Bad""#) else { return nil }
                switch fault {
                case "no JSON": return .raw("<html>")
                case "breaks off": return .close
                default: break
                }
                let token =
                    fault == "circle"
                    ? "t1"
                    : number.withLock { number in
                        number += 1; return "t\(number)"
                    }
                return .json(Self.page([], token, more: true).replacing(#""Z""#, with: #""Bad""#))
            }, feed: { _ in Self.page([Self.record("a")], "t1", more: false) }
        ) { report, mirror, requests in
            #expect(report.outcome.saved == 1)
            guard case .failed(.private, let zoneID?, let reason)? = report.problems.first, report.problems.count == 1
            else {
                Issue.record("\(report.problems)")
                return
            }
            #expect(zoneID.zoneName == "Bad" && reason.hasPrefix("changes/zone: "), "\(reason)")
            #expect(requests.count < 1020)
            let marks = try await mirror.require(.mirrorRecords).mirrorMarks()
            #expect(marks[Marks.database(.private)] == nil && marks[Marks.token(of: Self.zone, .private)] == "t1")
        }
    }

    @Test func anOriginThatAnswersNothingEndsThePull() async throws {
        await #expect(throws: CloudKitFailure.self) {
            try await Self.pull(
                zones: { body in body.contains("resultsLimit") ? "no JSON" : Self.twoZones },
                service: { name, _ in name == "changes/zone" ? .close : nil },
                feed: { _ in "" }
            ) { _, _, _ in }
        }
    }

    /// Credentials that are refused for one type are refused for all, and a pull without them brings nothing.
    @Test(arguments: [DatabaseScope.private, .public]) func refusedCredentialsEndThePull(scope: DatabaseScope)
        async throws
    {
        let refused = #"{"serverErrorCode":"AUTHENTICATION_FAILED","reason":"no"}"#
        let failure = await #expect(throws: CloudKitFailure.self) {
            try await Self.pull(
                scope,
                service: { name, _ in
                    ["changes/zone", "records/query"].contains(name) ? .json(refused, status: 401) : nil
                }, feed: { _ in "" }
            ) { _, _, _ in }
        }
        #expect(failure?.serverError?.code == .authenticationFailed)
    }

    /// An endless list of zones fails as a whole, but not the other databases.
    @Test func aListOfZonesInACircleIsNamed() async throws {
        let zones = #"{"zones":[],"syncToken":"d1","moreComing":true}"#
        try await Self.pull(zones: { _ in zones }, feed: { _ in "" }) { report, _, _ in
            guard case .failed(.private, nil, let reason)? = report.problems.first else {
                Issue.record("\(report.problems)")
                return
            }
            #expect(reason.contains("leads back"))
        }
    }

    /// Each of the files in turn, with a good one after it.
    @Test(arguments: ["longer", "longer in parts", "shorter", "another checksum", "refused", "drips", "no server"])
    func aFileThatDiffersFromItsRecordDoesNotStopThePull(fault: String) async throws {
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        let assets = AssetStores(folder: folder.url, engine: engine)
        let address = fault == "no server" ? "http://127.0.0.1:1" : "ADDRESS"
        let told = fault == "another checksum" ? String(repeating: "0", count: 64) : "AQID"
        func asset(_ checksum: String, _ url: String) -> String {
            #""file":{"value":{"fileChecksum":"\#(checksum)","size":3,"downloadURL":"\#(url)"},"type":"ASSETID"}"#
        }
        let bad = Self.record("bad", fields: asset(told, "\(address)/bad"))
        let good = Self.record("good", fields: asset("AQIE", "ADDRESS/good"))
        let isForNow = ["drips", "no server"].contains(fault)
        for pull in 1...2 {
            let feed: @Sendable (String) -> String = { _ in
                Self.page(pull == 1 ? [bad, good, Self.record("b")] : [], "t\(pull)", more: false)
            }
            try await Self.pull(
                into: engine, files: assets, lookup: { _ in #"{"records":[\#(bad)]}"# }, file: "abc",
                reply: { path in
                    guard path == "/bad" else { return nil }
                    switch fault {
                    case "longer": return .raw("abcd")
                    case "longer in parts": return .init(bytes: Array("HTTP/1.1 200 OK\r\n\r\nabcd".utf8), closes: true)
                    case "shorter": return .raw("ab")
                    case "refused": return .raw("", status: 403)
                    case "drips": return .drip()
                    default: return nil
                    }
                }, slow: fault == "drips" ? "/bad" : "", feed: feed
            ) { report, mirror, requests in
                #expect(report.outcome.saved == (pull == 1 ? 3 : 0))
                // Only what may come right is tried again.
                guard pull == 1 || isForNow else {
                    return #expect(report.problems.isEmpty && requests.allSatisfy { $0.method != "GET" })
                }
                guard case .file("file", let recordID, let reason)? = report.problems.first, report.problems.count == 1
                else {
                    Issue.record("\(report.problems)")
                    return
                }
                #expect(
                    recordID.recordName == "bad" && reason.hasSuffix("The next pull asks again") == isForNow,
                    "\(reason)")
                guard case .asset(let stored)? = try await mirror.value(of: "file", of: "good", in: Self.zone) else {
                    Issue.record("no asset")
                    return
                }
                #expect(FileChecksum(stored.fileChecksum) != nil && stored.originChecksum == "AQIE")
            }
        }
        await assets.close()
    }

    /// The server of files is down for one pull. After three files nobody waits for more of them.
    @Test func filesThatDidNotComeAreAskedForByTheNextPull() async throws {
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        let assets = AssetStores(folder: folder.url, engine: engine)
        let records = (1...5).map { number in
            Self.record(
                "r\(number)",
                fields:
                    #""file":{"value":{"fileChecksum":"AQI\#(number)","size":3,"downloadURL":"ADDRESS/\#(number)"},"type":"ASSETID"}"#
            )
        }
        for pull in 1...3 {
            let feed: @Sendable (String) -> String = { _ in Self.page(pull == 1 ? records : [], "t\(pull)", more: false)
            }
            try await Self.pull(
                into: engine, files: assets,
                lookup: { body in #"{"records":[\#(records.first { body.contains($0.prefix(18)) } ?? "")]}"# },
                file: "abc", reply: { _ in pull == 1 ? .close : nil }, feed: feed
            ) { report, mirror, requests in
                let asked = Set(requests.filter { $0.method == "GET" }.map(\.path))
                switch pull {
                case 1: #expect(report.outcome.saved == 5 && report.problems.count == 5 && asked.count == 3)
                case 2: #expect(report.problems.isEmpty && asked.count == 5)
                default: #expect(requests.allSatisfy { $0.method != "GET" && !$0.path.hasSuffix("lookup") })
                }
            }
        }
        await assets.close()
    }

    /// A record whose file was missed can't be looked up in the second pull. The feed comes all the same, and the third
    /// pull gets the file.
    @Test func aMissedRecordThatIsNotAnsweredKeepsNothingElseBack() async throws {
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        let assets = AssetStores(folder: folder.url, engine: engine)
        let record = Self.record(
            "a",
            fields: #""file":{"value":{"fileChecksum":"AQID","size":3,"downloadURL":"ADDRESS/a"},"type":"ASSETID"}"#)
        for pull in 1...3 {
            let news = [[record], [Self.record("b")], []][pull - 1]
            try await Self.pull(
                into: engine, files: assets, zones: { _ in Self.zones.replacing("now", with: "now\(pull)") },
                lookup: { _ in #"{"records":[\#(record)]}"# },
                file: "abc", reply: { _ in pull == 1 ? .close : nil },
                service: { name, _ in pull == 2 && name == "records/lookup" ? .close : nil },
                feed: { _ in Self.page(news, "t\(pull)", more: false) }
            ) { report, mirror, requests in
                let marks = try await mirror.require(.mirrorRecords).mirrorMarks()
                #expect(
                    marks[Marks.token(of: Self.zone, .private)] == "t\(pull)"
                        && (marks[Marks.missedFiles(.private)] != nil) == (pull < 3))
                switch pull {
                case 2:
                    guard case .record(let recordID, let reason)? = report.problems.first, report.problems.count == 1
                    else {
                        Issue.record("\(report.problems)")
                        return
                    }
                    #expect(
                        recordID == RecordID(recordName: "a", zoneID: Self.zone) && reason.hasPrefix("records/lookup: ")
                            && report.outcome.saved == 1)
                case 3: #expect(report.problems.isEmpty && requests.contains { $0.path == "/a" })
                default: #expect(report.problems.count == 1)
                }
            }
        }
        await assets.close()
    }

    @Test func aRecordThatTheFeedCouldNotReadIsLookedUp() async throws {
        let failed = ["b", "c"].map {
            #"{"recordName":"\#($0)","serverErrorCode":"INTERNAL_ERROR","reason":"unreadable"}"#
        }
        let lookup =
            #"{"records":[\#(Self.record("b")),{"recordName":"c","serverErrorCode":"INTERNAL_ERROR","reason":"unreadable"}]}"#
        try await Self.pull(
            lookup: { _ in lookup }, feed: { _ in Self.page([Self.record("a")] + failed, "t1", more: false) }
        ) { report, mirror, _ in
            #expect(report.outcome.saved == 2)
            #expect(
                report.problems == [
                    .record(RecordID(recordName: "c", zoneID: Self.zone), reason: "INTERNAL_ERROR: unreadable")
                ])
            let names = try await mirror.require(.listRecords).list(RecordListRequest(Self.zone)).records.map(
                \.recordID.recordName)
            #expect(names == ["a", "b"])
        }
    }

    @Test func fieldsOfUnknownKindsAreNamed() async throws {
        let fields =
            #""text":{"value":"a","type":"STRING"},"new":{"value":{"x":1},"type":"HOLOGRAM"},"none":{"value":null,"type":"STRING"}"#
        try await Self.pull(feed: { _ in Self.page([Self.record("a", fields: fields)], "t1", more: false) }) {
            report, mirror, _ in
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
            "a",
            fields: #""file":{"value":{"fileChecksum":"AQID","size":3,"downloadURL":"ADDRESS/gone"},"type":"ASSETID"}"#)
        let feed: @Sendable (String) -> String = { _ in Self.page([record, Self.record("b")], "t1", more: false) }
        try await Self.pull(into: engine, files: assets, lookup: { _ in #"{"records":[\#(record)]}"# }, feed: feed) {
            report, mirror, requests in
            #expect(report.outcome.saved == 2)
            guard case .file("file", let recordID, _)? = report.problems.first, report.problems.count == 1 else {
                Issue.record("\(report.problems)")
                return
            }
            #expect(recordID.recordName == "a")
            // The first address may have expired.
            #expect(requests.count { $0.path == "/gone" } == 2)
            let marks = try await mirror.require(.mirrorRecords).mirrorMarks()
            #expect(marks[Marks.token(of: Self.zone, .private)] == "t1")
        }
        await assets.close()
    }

    /// CloudKit's checksums are not Skylight's, and its addresses have a place for a name.
    @Test func filesWithOtherChecksumsAreFetchedOnce() async throws {
        let (folder, engine) = (try TemporaryFolder(), InMemoryRecordEngine())
        let assets = AssetStores(folder: folder.url, engine: engine)
        let file = String(repeating: "A file of CloudKit's. ", count: 5000)
        let asset =
            #""file":{"value":{"fileChecksum":"AQ+/c3Q=","size":\#(file.utf8.count),"downloadURL":"ADDRESS/${f}?o=1"},"type":"ASSETID"}"#
        for tag in ["1", "2"] {
            let feed: @Sendable (String) -> String = { _ in
                Self.page([Self.record("a", tag, fields: asset)], "t\(tag)", more: false)
            }
            try await Self.pull(into: engine, files: assets, file: file, feed: feed) { report, mirror, requests in
                #expect(report.outcome.saved == 1 && report.problems.isEmpty)
                #expect(
                    requests.filter { $0.method == "GET" }.map { $0.target.contains("$") }
                        == (tag == "1" ? [false] : []))
                guard case .asset(let stored)? = try await mirror.value(of: "file", of: "a", in: Self.zone) else {
                    Issue.record("no asset")
                    return
                }
                #expect(stored.originChecksum == "AQ+/c3Q=" && stored.size == Int64(file.utf8.count))
                let checksum = try #require(FileChecksum(stored.fileChecksum))
                let ledger = try await engine.require(.keepAssets).assetLedger(
                    #require(ContainerID("iCloud.com.example.Scripted")), .development)
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
        try await Self.pull(into: engine, feed: { _ in Self.page([Self.record("a")], "t1", more: false) }) { _, _, _ in
        }
        // The zone is no longer in the list.
        let zones: @Sendable (String) -> String = { body in
            if body.contains(#""d1""#) {
                return #"{"serverErrorCode":"BAD_REQUEST","reason":"client knowledge differs from server knowledge"}"#
            }
            return #"{"zones":[],"syncToken":"d2","moreComing":false}"#
        }
        try await Self.pull(into: engine, zones: zones, feed: { _ in Self.page([], "t2", more: false) }) {
            report, mirror, requests in
            #expect(report.problems.isEmpty && requests.count == 2)
            let custom = try await mirror.zones().map(\.zoneID).filter { !$0.isDefault }
            let marks = try await mirror.require(.mirrorRecords).mirrorMarks()
            #expect(custom.isEmpty)
            #expect(
                Set(marks.keys) == [Marks.database(.private), Marks.files, Marks.history]
                    && marks[Marks.database(.private)] == "d2")
        }
    }

    @Test func aZoneThatFailsDoesNotStopTheOthers() async throws {
        let zones =
            #"{"zones":[{"zoneID":{"zoneName":"Bad"}},{"zoneID":{"zoneName":"Z"}}],"syncToken":"d1","moreComing":false}"#
        let feed: @Sendable (String) -> String = { body in
            guard body.contains(#""Bad""#) else { return Self.page([Self.record("a")], "t1", more: false) }
            return #"{"zones":[{"zoneID":{"zoneName":"Bad"},"serverErrorCode":"INTERNAL_ERROR","reason":"broken"}]}"#
        }
        try await Self.pull(zones: { _ in zones }, feed: feed) { report, mirror, _ in
            #expect(report.outcome.saved == 1)
            #expect(report.problems == [.failed(.private, ZoneID(zoneName: "Bad"), reason: "INTERNAL_ERROR: broken")])
            // The zone is listed again the next time.
            let marks = try await mirror.require(.mirrorRecords).mirrorMarks()
            #expect(marks[Marks.database(.private)] == nil)
        }
    }
}
