import CloudKitClient
import Foundation
import LoopbackServing
import RecordStore
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Devices of one user that keep the same records.
@Suite struct SyncTests {
    /// A server with a zone, and a container for each device.
    private static func live(_ count: Int, _ body: @Sendable (LiveServer, [Container]) async throws -> Void)
        async throws
    {
        try await LiveServer.run { server in
            try await connect(count, to: server, []) { containers in
                try await containers[0].privateCloudDatabase.save(zone)
                try await body(server, containers)
            }
        }
    }

    private static func connect(
        _ count: Int, to server: LiveServer, _ containers: [Container], _ body: ([Container]) async throws -> Void
    ) async throws {
        if containers.count == count { return try await body(containers) }
        try await server.device { client in try await connect(count, to: server, containers + [Container(client)], body)
        }
    }

    private static func sync(_ engine: SyncEngine) async throws {
        try await engine.fetchChanges()
        try await engine.sendChanges()
    }

    @Test func eventsComeInOrder() async throws {
        try await Self.live(2) { _, containers in
            let (anna, ben) = (Device(), Device())
            let (first, second) = (try anna.engine(containers[0]), try ben.engine(containers[1]))
            first.state.add(pendingDatabaseChanges: [.saveZone(ZoneID(zoneName: "More"))])
            anna.edit("a", "one", first)
            anna.edit("a", "two", first)
            anna.edit("b", "three", first)
            #expect(first.state.pendingRecordZoneChanges.count == 2)
            try await first.sendChanges()
            #expect(
                anna.callbacks.all == [
                    "sign in", "will send", "sent zones +1 -0 !0", "sent records +2 -0 !0", "did send",
                ])
            #expect(first.state.pendingRecordZoneChanges.isEmpty && first.state.pendingDatabaseChanges.isEmpty)
            try await second.fetchChanges()
            // One of the two zones has the records.
            let (full, empty) = (
                ["will fetch zone", "records +2 -0", "did fetch zone"], ["will fetch zone", "did fetch zone"]
            )
            let begin = ["sign in", "will fetch", "zones +2 -0"]
            #expect(
                [begin + full + empty + ["did fetch"], begin + empty + full + ["did fetch"]].contains(ben.callbacks.all)
            )
            #expect(ben.texts == ["a": "two", "b": "three"])
            // The next fetch has nothing, and tells nothing.
            try await second.fetchChanges()
            #expect(ben.callbacks.all.suffix(2) == ["will fetch", "did fetch"])
        }
    }

    @Test func aConflictIsSettledByTheApp() async throws {
        try await Self.live(2) { _, containers in
            let (anna, ben) = (Device(), Device())
            let (first, second) = (try anna.engine(containers[0]), try ben.engine(containers[1]))
            anna.edit("a", "old", first)
            try await Self.sync(first)
            try await Self.sync(second)
            anna.edit("a", "Anna's", first)
            ben.edit("a", "Ben's", second)
            try await first.sendChanges()
            let error = await operationError { try await second.sendChanges() }
            #expect(error?.code == .partialFailure && ben.callbacks.all.contains("sent records +0 -0 !1"))
            try await second.sendChanges()
            #expect(ben.callbacks.all.suffix(2) == ["sent records +1 -0 !0", "did send"])
            try await first.fetchChanges()
            #expect(anna.texts == ["a": "Ben's"] && ben.texts == ["a": "Ben's"])
        }
    }

    /// An app that changes a record right after it was asked for.
    private final class Busy: SyncEngineDelegate {
        let isDeletion: Bool
        private let text = Mutex("one")

        init(isDeletion: Bool) {
            self.isDeletion = isDeletion
        }

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        {
            let changes = syncEngine.state.pendingRecordZoneChanges
            let before = text.withLock { text in
                defer { text = "two" }
                return text
            }
            let batch = await RecordZoneChangeBatch(pendingChanges: changes) { recordID in
                var record = Record(recordType: "Item", recordID: recordID)
                record["text"] = before
                return record
            }
            if before == "one", let recordID = changes.first?.recordID {
                syncEngine.state.add(pendingRecordZoneChanges: [
                    isDeletion ? .deleteRecord(recordID) : .saveRecord(recordID)
                ])
            }
            return batch
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {}
    }

    @Test(arguments: [true, false]) func aChangeThatIsMadeWhileABatchIsMadeIsSentNext(isDeletion: Bool) async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            return request.body.contains("forceDelete")
                ? records(#""recordName":"a","deleted":true"#) : records(item("a", tag: "1"))
        }) { container, server in
            let engine = try SyncEngine(
                .init(
                    database: container.privateCloudDatabase, stateSerialization: nil,
                    delegate: Busy(isDeletion: isDeletion)))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(RecordID(recordName: "a", zoneID: zone))])
            for _ in 0..<2 { try await engine.sendChanges() }
            let sent = server.requests.filter { $0.path.hasSuffix("records/modify") }.map(\.body)
            // A deletion takes the place of the change that the batch was asked for.
            let expected = isDeletion ? ["forceDelete"] : [#""one""#, #""two""#]
            #expect(sent.count == expected.count && zip(sent, expected).allSatisfy { $0.contains($1) })
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// An app that makes a zone with a record while its first batch is on its way.
    private final class Growing: SyncEngineDelegate {
        let callbacks = CallbackLog()
        let zoneID = ZoneID(zoneName: "Later")

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        {
            await RecordZoneChangeBatch(pendingChanges: syncEngine.state.pendingRecordZoneChanges) {
                Record(recordType: "Item", recordID: $0)
            }
        }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            guard case .sentRecordZoneChanges = event, let words = event.words else { return }
            if callbacks.all.isEmpty {
                syncEngine.state.add(pendingDatabaseChanges: [.saveZone(zoneID)])
                syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(RecordID(recordName: "b", zoneID: zoneID))])
            }
            callbacks.note(words)
        }
    }

    @Test func aZoneThatIsAddedMeanwhileIsSentBeforeItsRecords() async throws {
        try await Self.live(1) { _, containers in
            let app = Growing()
            let engine = try SyncEngine(
                .init(database: containers[0].privateCloudDatabase, stateSerialization: nil, delegate: app))
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(RecordID(recordName: "a", zoneID: zone))])
            for _ in 0..<2 { try await engine.sendChanges() }
            #expect(app.callbacks.all == ["sent records +1 -0 !0", "sent records +1 -0 !0"])
        }
    }

    @Test func onlyTheScopeIsSent() async throws {
        try await Self.live(1) { _, containers in
            let anna = Device()
            let engine = try anna.engine(containers[0])
            let (a, b) = (RecordID(recordName: "a", zoneID: zone), RecordID(recordName: "b", zoneID: zone))
            anna.edit("a", "one", engine)
            anna.edit("b", "two", engine)
            engine.state.add(pendingDatabaseChanges: [.saveZone(ZoneID(zoneName: "Later"))])
            #expect(engine.state.nextRecordZoneChanges(1, in: .recordIDs([b])) == [.saveRecord(b)])
            #expect(engine.state.nextRecordZoneChanges(1, in: .zoneIDs([zone])) == [.saveRecord(a)])
            try await engine.sendChanges(.init(scope: .recordIDs([b])))
            #expect(
                engine.state.pendingRecordZoneChanges == [.saveRecord(a)]
                    && engine.state.pendingDatabaseChanges.count == 1)
            try await engine.sendChanges(.init(scope: .zoneIDs([zone])))
            #expect(engine.state.pendingRecordZoneChanges.isEmpty && engine.state.pendingDatabaseChanges.count == 1)
            try await engine.sendChanges()
            #expect(engine.state.pendingDatabaseChanges.isEmpty)
        }
    }

    /// The state that was stored has what was not sent, and the position.
    @Test func aKilledAppGoesOn() async throws {
        try await Self.live(1) { server, containers in
            let anna = Device()
            let engine = try anna.engine(containers[0])
            anna.edit("a", "one", engine)
            try await Self.sync(engine)
            anna.edit("a", "two", engine)
            anna.remove("b", engine)
            let again = Device(anna.disk)
            let next = try again.engine(containers[0])
            #expect(next.state.pendingRecordZoneChanges.count == 2)
            try await Self.sync(next)
            #expect(try await server.versions(of: RecordID(recordName: "a", zoneID: zone)) == 2)
            let fetched = try await containers[0].privateCloudDatabase.record(
                for: RecordID(recordName: "a", zoneID: zone))
            #expect(fetched["text"] == "two" as String?)
        }
    }

    /// An app that changes a record, and stores the state with that, right before it takes the engine's own state.
    private final class Writing: SyncEngineDelegate {
        let recordID = RecordID(recordName: "a", zoneID: zone)
        let state = Mutex<[UInt8]?>(nil)

        func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
            -> RecordZoneChangeBatch?
        { nil }

        func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
            guard case .stateUpdate(let update) = event else { return }
            syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(recordID)])
            state.withLock { $0 = syncEngine.state.serialization.bytes }
            state.withLock { $0 = update.stateSerialization.bytes }
        }
    }

    /// If the program ends now, the change would be lost.
    @Test func aStateDoesNotOverwriteAChangeThatWasStoredSince() async throws {
        try await withScript({ _, _ in .json(#"{"users":[{"userRecordName":"_a"}]}"#) }) { container, _ in
            let app = Writing()
            let engine = try SyncEngine(
                .init(database: container.privateCloudDatabase, stateSerialization: nil, delegate: app))
            // The engine learns who is signed in, and has nothing to send.
            try await engine.sendChanges()
            let stored = try SyncEngine.State.Serialization(bytes: #require(app.state.withLock { $0 }))
            let next = try SyncEngine(
                .init(database: container.privateCloudDatabase, stateSerialization: stored, delegate: app))
            #expect(next.state.pendingRecordZoneChanges == [.saveRecord(app.recordID)])
        }
    }

    /// The app is killed while its save is on its way, or after the server made it.
    @Test(arguments: [true, false]) func aSaveIsMadeOnceHoweverTheAppEnds(arrives: Bool) async throws {
        try await Self.live(1) { server, containers in
            let anna = Device()
            let engine = try anna.engine(containers[0])
            anna.edit("a", "one", engine)
            try await Self.sync(engine)
            anna.edit("a", "two", engine)
            // The first request asks for the user.
            let disk = try await BreakingProxy.run(
                to: server.port, arrives ? .stopBeforeAnswer(2) : .stopBeforeRequest(2)
            ) { port, proxy in
                try await server.device(through: port, pacing: Pacing()) { client in
                    let killed = Device(anna.disk)
                    let engine = try killed.engine(Container(client))
                    let sending = Task { try await engine.sendChanges() }
                    try await eventually { proxy.isStopped }
                    let disk = killed.disk
                    sending.cancel()
                    _ = await sending.result
                    return disk
                }
            }
            let again = Device(disk)
            let next = try again.engine(containers[0])
            try await next.sendChanges()
            #expect(again.callbacks.all == ["will send", "sent records +1 -0 !0", "did send"])
            #expect(try await server.versions(of: RecordID(recordName: "a", zoneID: zone)) == 2)
        }
    }

    @Test func anExpiredTokenBringsTheZoneAnew() async throws {
        try await Self.live(2) { server, containers in
            let (anna, ben) = (Device(), Device())
            let (first, second) = (try anna.engine(containers[0]), try ben.engine(containers[1]))
            for name in ["a", "b", "c"] as [Name] { anna.edit(name, "old", first) }
            try await Self.sync(first)
            try await Self.sync(second)
            anna.edit("a", "new", first)
            anna.remove("b", first)
            try await first.sendChanges()
            try await server.expireTokens()
            try await second.fetchChanges()
            #expect(
                ben.callbacks.all.contains("did fetch zone: changeTokenExpired")
                    && ben.callbacks.all.contains("will fetch zone anew"))
            #expect(ben.texts == ["a": "new", "c": "old"])
        }
    }

    private static let expired =
        #""serverErrorCode":"BAD_REQUEST","reason":"client knowledge differs from server knowledge""#

    /// It begins anew once. The next fetch tries it again.
    @Test(arguments: [true, false]) func tokensThatAlwaysExpireEndAFetch(ofDatabase: Bool) async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            let hasToken = request.body.contains("syncToken")
            if request.path.hasSuffix("changes/database") {
                if ofDatabase, hasToken { return .json("{\(Self.expired)}", status: 400) }
                return .json(
                    #"{"zones":[{"zoneID":{"zoneName":"Items"}}],"syncToken":"t","moreComing":\#(ofDatabase)}"#)
            }
            let page = hasToken ? Self.expired : #""records":[],"syncToken":"z","moreComing":true"#
            return .json(#"{"zones":[{"zoneID":{"zoneName":"Items"},\#(page)}]}"#)
        }) { container, server in
            let app = Device()
            let engine = try app.engine(container)
            for round in 1...2 {
                #expect(await operationError { try await engine.fetchChanges() }?.code == .changeTokenExpired)
                let requests = server.requests.filter {
                    $0.path.hasSuffix(ofDatabase ? "changes/database" : "changes/zone")
                }
                #expect(
                    requests.count == 4 * round
                        && requests.map { $0.body.contains("syncToken") } == (0..<4 * round).map { $0 % 2 == 1 })
            }
        }
    }

    /// Otherwise nothing would ever be sent again.
    @Test(arguments: [("BAD_REQUEST", 400), ("ACCESS_DENIED", 403)])
    func aZoneThatTheServerRefusesKeepsNothingFromBeingSent(code: String, status: Int) async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("zones/modify") { return .error(code, status: status) }
            return records(item("a", tag: "1"))
        }) { container, _ in
            let anna = Device()
            let engine = try anna.engine(container)
            engine.state.add(pendingDatabaseChanges: [.saveZone(ZoneID(zoneName: "/"))])
            anna.edit("a", "one", engine)
            let error = await operationError { try await engine.sendChanges() }
            #expect(error?.code == .partialFailure && error?.partialErrors.keys.first == .zone(ZoneID(zoneName: "/")))
            #expect(
                anna.callbacks.all == [
                    "sign in", "will send", "sent zones +0 -0 !1", "sent records +1 -0 !0", "did send",
                ])
            #expect(engine.state.pendingDatabaseChanges.isEmpty && engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func aZoneThatCannotBeFetchedKeepsNothingFromBeingSent() async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") {
                return .json(#"{"zones":[{"zoneID":{"zoneName":"Other"}}],"syncToken":"t","moreComing":false}"#)
            }
            if request.path.hasSuffix("changes/zone") {
                return .json(
                    #"{"zones":[{"zoneID":{"zoneName":"Other"},"serverErrorCode":"ACCESS_DENIED","reason":"no"}]}"#)
            }
            return records(item(request.body.contains(#""b""#) ? "b" : "a", tag: "1"))
        }) { container, _ in
            let anna = Device()
            let engine = try anna.engine(container)
            anna.edit("a", "one", engine)
            #expect(await operationError { try await engine.run(every: .seconds(1)) }?.code == .permissionFailure)
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
            let folder = try TemporaryFolder()
            let cache = try await RecordCache(
                folder.url.appending(path: "a.sqlite"), of: container.privateCloudDatabase)
            try await cache.save(Record(recordType: "Item", recordID: RecordID(recordName: "b", zoneID: zone)))
            #expect(await operationError { try await cache.sync() }?.code == .permissionFailure)
            #expect(cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func aDeletedZoneTakesItsRecordsAlong() async throws {
        try await Self.live(2) { _, containers in
            let (anna, ben) = (Device(), Device())
            let (first, second) = (try anna.engine(containers[0]), try ben.engine(containers[1]))
            anna.edit("a", "one", first)
            try await Self.sync(first)
            try await Self.sync(second)
            ben.edit("a", "two", second)
            first.state.add(pendingDatabaseChanges: [.deleteZone(zone)])
            try await first.sendChanges()
            try await second.fetchChanges()
            #expect(
                ben.texts.isEmpty && second.state.pendingRecordZoneChanges.isEmpty
                    && ben.callbacks.all.contains("zones +0 -1"))
        }
    }

    /// A second deletion would take the records of a zone that another device made anew.
    @Test func aZoneIsDeletedOnceWhateverBecomesOfTheNextOne() async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            return request.body.contains("Second")
                ? .close : .json(#"{"zones":[{"zoneID":{"zoneName":"First"},"deleted":true}]}"#)
        }) { container, _ in
            let anna = Device()
            let engine = try anna.engine(container)
            let (first, second) = (ZoneID(zoneName: "First"), ZoneID(zoneName: "Second"))
            engine.state.add(pendingDatabaseChanges: [.deleteZone(first), .deleteZone(second)])
            #expect(await operationError { try await engine.sendChanges() }?.code == .serverResponseLost)
            #expect(anna.callbacks.all == ["sign in", "will send", "sent zones +0 -1 !0", "did send"])
            #expect(engine.state.pendingDatabaseChanges == [.deleteZone(second)])
        }
    }

    @Test func aZoneThatIsGoneIsNotDeletedAgain() async throws {
        try await Self.live(2) { _, containers in
            let (anna, ben) = (Device(), Device())
            let (first, second) = (try anna.engine(containers[0]), try ben.engine(containers[1]))
            anna.edit("a", "one", first)
            try await Self.sync(first)
            try await Self.sync(second)
            second.state.add(pendingDatabaseChanges: [.deleteZone(zone)])
            try await containers[0].privateCloudDatabase.deleteRecordZone(withID: zone)
            try await second.fetchChanges()
            #expect(second.state.pendingDatabaseChanges.isEmpty && ben.texts.isEmpty)
            try await containers[0].privateCloudDatabase.save(zone)
            try await containers[0].privateCloudDatabase.save(
                Record(recordType: "Item", recordID: RecordID(recordName: "b", zoneID: zone)))
            try await second.sendChanges()
            try await second.fetchChanges()
            #expect(ben.disk.records.keys.map(\.recordName) == ["b"])
        }
    }

    @Test func thePublicDatabaseHasNoEngine() async throws {
        try await Self.live(1) { _, containers in
            let error = await operationError {
                _ = try SyncEngine(
                    .init(database: containers[0].publicCloudDatabase, stateSerialization: nil, delegate: Device()))
            }
            #expect(error?.code == .badDatabase)
        }
    }

    /// CKSyncEngine has `notAuthenticated` among them. Here it ends a sync, as a program has to ask for a sign-in, and
    /// changes stay pending too.
    @Test func errorsThatTimeMendsAreThoseOfCKSyncEngine() {
        let mended = OperationError.Code.allCases.filter { OperationError($0, "").isTemporary }
        #expect(
            Set(mended) == [
                .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy,
                .accountTemporarilyUnavailable,
            ])
    }

    @Test func errorsThatTimeMendsKeepChangesPending() async throws {
        try await Self.live(1) { server, containers in
            let anna = Device()
            let engine = try anna.engine(containers[0])
            try await engine.fetchChanges()
            anna.edit("a", "one", engine)
            // More often than a request is repeated.
            try server.inject(.throttled, count: 1000)
            let error = await operationError { try await engine.sendChanges() }
            #expect(error?.code == .requestRateLimited && engine.state.pendingRecordZoneChanges.count == 1)
            server.stopFaults()
            try await engine.sendChanges()
            #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func anEngineRunsUntilItIsCancelled() async throws {
        try await Self.live(2) { _, containers in
            let (anna, ben) = (Device(), Device())
            let (first, second) = (try anna.engine(containers[0]), try ben.engine(containers[1]))
            let running = Task { try await first.run(every: .milliseconds(1)) }
            anna.edit("a", "one", first)
            try await eventually {
                try await second.fetchChanges()
                return ben.texts == ["a": "one"]
            }
            running.cancel()
            let error = await operationError { try await running.value }
            #expect(error?.code == .operationCancelled)
        }
    }

    @Test func anotherUserDoesNotGetTheChangesOfTheOneBefore() async throws {
        let name = Mutex("_\(String(repeating: "a", count: 32))")
        try await withScript({ request, _ in
            request.path.hasSuffix("users/caller")
                ? .json(#"{"users":[{"userRecordName":"\#(name.withLock { $0 })"}]}"#)
                : .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
        }) { container, server in
            let anna = Device()
            let first = try anna.engine(container)
            try await first.fetchChanges()
            anna.edit("a", "one", first)
            name.withLock { $0 = "_\(String(repeating: "b", count: 32))" }
            let next = Device(anna.disk)
            let second = try next.engine(container)
            try await Self.sync(second)
            #expect(
                next.callbacks.all.first == "switch accounts" && next.texts.isEmpty
                    && second.state.pendingRecordZoneChanges.isEmpty)
            #expect(!server.requests.contains { $0.path.hasSuffix("records/modify") })
        }
    }

    @Test func anEngineDoesNotWaitForItself() async throws {
        final class Impatient: SyncEngineDelegate {
            let callbacks = CallbackLog()
            func nextRecordZoneChangeBatch(_ context: SyncEngine.SendChangesContext, syncEngine: SyncEngine) async
                -> RecordZoneChangeBatch?
            { nil }
            func handleEvent(_ event: SyncEngine.Event, syncEngine: SyncEngine) async {
                guard case .willFetchChanges = event else { return }
                if let error = await operationError({ try await syncEngine.sendChanges() }) {
                    callbacks.note("\(error.code)")
                }
            }
        }
        try await Self.live(1) { _, containers in
            let app = Impatient()
            try await SyncEngine(
                .init(database: containers[0].privateCloudDatabase, stateSerialization: nil, delegate: app)
            ).fetchChanges()
            #expect(app.callbacks.all == ["invalidArguments"])
        }
    }
}
