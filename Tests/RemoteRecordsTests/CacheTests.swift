import CloudKitClient
import Foundation
import JSON
import LoopbackServing
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Local copies in files, which are changed at any time and synced.
@Suite struct CacheTests {
    private static func live(_ body: @Sendable (LiveServer, Container, TemporaryFolder) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            try await server.device { client in
                let container = Container(client)
                try await container.privateCloudDatabase.save(zone)
                try await body(server, container, folder)
            }
        }
    }

    private static func cache(_ name: String, _ container: Container, _ folder: TemporaryFolder) async throws -> RecordCache {
        try await RecordCache(folder.url.appending(path: "\(name).sqlite"), of: container.privateCloudDatabase)
    }

    private static func recordID(_ name: Name) -> RecordID { RecordID(recordName: name, zoneID: zone) }

    private static func edit(_ cache: RecordCache, _ name: Name, _ key: Name, _ value: String) async throws {
        var record = try await cache.record(for: recordID(name)) ?? Record(recordType: "Item", recordID: recordID(name))
        record[key] = value
        try await cache.save(record)
    }

    private static func texts(_ cache: RecordCache, _ key: Name = "text") async throws -> [Name: String] {
        try await cache.records(ofType: "Item", in: zone).reduce(into: [:]) { texts, record in texts[record.recordID.recordName] = record[key] }
    }

    @Test func twoCachesBecomeTheSame() async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (try await Self.cache("first", container, folder), try await Self.cache("second", container, folder))
            try await Self.edit(first, "a", "text", "one")
            try await Self.edit(first, "b", "text", "two")
            try await first.sync()
            try await second.sync()
            let both = try await Self.texts(second)
            #expect(both == ["a": "one", "b": "two"])
            try await second.delete(Self.recordID("a"))
            try await second.sync()
            try await first.sync()
            let left = try await Self.texts(first)
            #expect(left == ["b": "two"])
        }
    }

    /// The server wants a parent to be there before its children, and to go after them, also if they are in other batches.
    @Test func familiesThatAreLargerThanABatchAreSavedAndDeleted() async throws {
        try await Self.live { _, container, folder in
            let cache = try await Self.cache("first", container, folder)
            let children = (0..<210).map { Self.recordID(Name("child\($0)")) }
            let records = children.map { child in
                var record = Record(recordType: "Item", recordID: child)
                record.parent = "parent"
                return record
            }
            try await cache.save(records + [Record(recordType: "Item", recordID: Self.recordID("parent"))])
            try await cache.sync()
            var refusals = try await cache.refusals()
            var changes = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: zone, desiredKeys: [], resultsLimit: 200)
            #expect(refusals.isEmpty && cache.engine.state.pendingRecordZoneChanges.isEmpty && changes.modifications.count == 200 && changes.moreComing)
            try await cache.delete([Self.recordID("parent")] + children)
            try await cache.sync()
            refusals = try await cache.refusals()
            changes = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: zone)
            #expect(refusals.isEmpty && cache.engine.state.pendingRecordZoneChanges.isEmpty && changes.modifications.isEmpty)
        }
    }

    /// A child of nobody's is refused in the end.
    @Test func aChildWithoutItsParentIsRefused() async throws {
        try await Self.live { _, container, folder in
            let cache = try await Self.cache("first", container, folder)
            var child = Record(recordType: "Item", recordID: Self.recordID("child"))
            child.parent = "none"
            try await cache.save(child)
            try await Self.edit(cache, "other", "text", "one")
            try await cache.sync()
            let refusals = try await cache.refusals()
            #expect(Array(refusals.keys) == [child.recordID] && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func aCacheRunsUntilItIsCancelled() async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (try await Self.cache("first", container, folder), try await Self.cache("second", container, folder))
            try await Self.edit(first, "a", "text", "one")
            let running = Task { try await first.run(every: .milliseconds(1)) }
            try await eventually {
                try await second.sync()
                return try await Self.texts(second) == ["a": "one"]
            }
            running.cancel()
            #expect(await operationError { try await running.value }?.code == .operationCancelled)
        }
    }

    /// A sync may be cancelled when it is about to read the next batch.
    @Test func aCacheOutlivesACancelledSync() async throws {
        try await Self.withSaves({ _ in records(item("a", tag: "1")) }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            let batch = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await cache.engine.nextBatch(.init())
            }.value
            #expect(batch?.recordsToSave.map(\.recordID) == [Self.recordID("a")])
            try await Self.edit(cache, "a", "text", "two")
            let texts = try await Self.texts(cache)
            #expect(texts == ["a": "two"])
        }
    }

    /// Each side changed another key: both changes stay, whoever is first.
    @Test(arguments: [true, false]) func keysAreMerged(fetchesFirst: Bool) async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (try await Self.cache("first", container, folder), try await Self.cache("second", container, folder))
            try await Self.edit(first, "a", "text", "old")
            try await first.sync()
            try await second.sync()
            try await Self.edit(first, "a", "text", "new")
            try await Self.edit(second, "a", "more", "mine")
            try await first.sync()
            if fetchesFirst { try await second.engine.fetchChanges() }
            try await second.engine.sendChanges()
            try await second.engine.fetchChanges()
            try await first.sync()
            for cache in [first, second] {
                let record = try await cache.record(for: Self.recordID("a"))
                #expect(record?["text"] == "new" as String? && record?["more"] == "mine" as String? && record?.hasChanges == false)
            }
        }
    }

    /// Only what was stored is there in the next process.
    @Test func aCacheThatIsOpenedAnewGoesOn() async throws {
        try await Self.live { server, container, folder in
            try await Self.edit(Self.cache("first", container, folder), "a", "text", "one")
            do {
                let again = try await Self.cache("first", container, folder)
                #expect(again.engine.state.pendingRecordZoneChanges == [.saveRecord(Self.recordID("a"))])
                try await again.sync()
            }
            let last = try await Self.cache("first", container, folder)
            try await last.sync()
            let texts = try await Self.texts(last)
            #expect(texts == ["a": "one"] && last.engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(try await server.versions(of: Self.recordID("a")) == 1)
        }
    }

    /// Changes are sent in the order in which they were added, by whichever process.
    @Test func changesKeepTheirOrderFromProcessToProcess() async throws {
        try await Self.withSaves({ _ in records(item("x", tag: "1")) }) { container, _, folder in
            do {
                let first = try await Self.cache("first", container, folder)
                try await Self.edit(first, "x", "text", "one")
                try await first.sync()
                try await Self.edit(first, "b", "text", "one")
                try await Self.edit(first, "c", "text", "one")
            }
            try await Self.edit(Self.cache("first", container, folder), "a", "text", "two")
            let last = try await Self.cache("first", container, folder)
            #expect(last.engine.state.pendingRecordZoneChanges.map(\.recordID.recordName) == ["b", "c", "a"])
        }
    }

    /// Two engines would write each other's position.
    @Test func aFileIsOpenOnce() async throws {
        try await Self.withSaves({ _ in records(item("a", tag: "1")) }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            #expect(await operationError { _ = try await Self.cache("first", container, folder) }?.code == .internalError)
            try await Self.edit(cache, "a", "text", "one")
            let texts = try await Self.texts(cache)
            #expect(texts == ["a": "one"])
            // It has addresses of files, and is for its user alone.
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.url.appending(path: "first.sqlite").path(percentEncoded: false))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
    }

    /// JSON has no such number: it would be kept as none, and clear the key.
    @Test func aNumberThatIsNoneIsRefused() async throws {
        try await Self.withSaves({ request in records(item("b", tag: "1")) }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            var record = Record(recordType: "Item", recordID: Self.recordID("a"))
            record["price"] = Double.nan
            let unwritable = record
            let error = await operationError { try await cache.save(unwritable) }
            #expect(error?.code == .invalidArguments)
            #expect(cache.engine.state.pendingRecordZoneChanges.isEmpty)
            record["price"] = [1.5, Double.infinity]
            let other = Record(recordType: "Item", recordID: Self.recordID("b"))
            let results = try await container.privateCloudDatabase.modifyRecords(saving: [record, other], atomically: false).saveResults
            #expect(throws: OperationError.self) { try results[record.recordID]?.get() }
            #expect(try results[other.recordID]?.get().recordChangeTag == "1")
        }
    }

    /// The program ends while its save is on its way, or after the server made it. The next one fetches first.
    @Test(arguments: [true, false]) func aSaveIsMadeOnceHoweverTheProgramEnds(arrives: Bool) async throws {
        try await Self.live { server, container, folder in
            let first = try await Self.cache("first", container, folder)
            try await Self.edit(first, "a", "text", "one")
            try await first.sync()
            try await Self.edit(first, "a", "text", "two")
            let (copy, found) = (folder.url.appending(path: "copy.sqlite"), folder.url.appending(path: "found.sqlite"))
            try FileManager.default.copyItem(at: folder.url.appending(path: "first.sqlite"), to: copy)
            // The first request asks for the user.
            try await BreakingProxy.run(to: server.port, arrives ? .stopBeforeAnswer(2) : .stopBeforeRequest(2)) { port, proxy in
                try await server.device(through: port, pacing: Pacing()) { client in
                    let killed = try await RecordCache(copy, of: Container(client).privateCloudDatabase)
                    let sending = Task { try await killed.engine.sendChanges() }
                    try await eventually { proxy.isStopped }
                    try FileManager.default.copyItem(at: copy, to: found)
                    sending.cancel()
                    _ = await sending.result
                }
            }
            let again = try await RecordCache(found, of: container.privateCloudDatabase)
            #expect(again.engine.state.pendingRecordZoneChanges == [.saveRecord(Self.recordID("a"))])
            try await again.sync()
            let record = try await again.record(for: Self.recordID("a"))
            #expect(record?["text"] == "two" as String? && record?.hasChanges == false && again.engine.state.pendingRecordZoneChanges.isEmpty)
            let versions = try await server.versions(of: Self.recordID("a"))
            #expect(versions == 2)
        }
    }

    @Test func recordsThatDoNotComeAgainAreGone() async throws {
        try await Self.live { server, container, folder in
            let (first, second) = (try await Self.cache("first", container, folder), try await Self.cache("second", container, folder))
            for name in ["a", "b", "c"] as [Name] { try await Self.edit(first, name, "text", "old") }
            try await first.sync()
            try await second.sync()
            try await first.delete(Self.recordID("b"))
            try await first.sync()
            try await Self.edit(second, "c", "text", "mine")
            // The server never had this one.
            try await Self.edit(second, "d", "text", "new")
            try await server.expireTokens()
            try await second.sync()
            try await first.sync()
            for cache in [first, second] {
                let texts = try await Self.texts(cache)
                #expect(texts == ["a": "old", "c": "mine", "d": "new"])
            }
        }
    }

    /// The feed tells of the deletion when the new record of the name waits to be sent.
    @Test func aRecordThatIsMadeAnewOutlivesItsOwnDeletion() async throws {
        try await Self.live { _, container, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            try await cache.delete(Self.recordID("a"))
            try await cache.sync()
            try await Self.edit(cache, "a", "text", "two")
            try await cache.sync()
            let second = try await Self.cache("second", container, folder)
            try await second.sync()
            for cache in [cache, second] {
                let texts = try await Self.texts(cache)
                #expect(texts == ["a": "two"])
                #expect(cache.engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    /// The feed tells of the deletion when the new zone waits to be made.
    @Test func aZoneThatIsMadeAnewOutlivesItsOwnDeletion() async throws {
        try await Self.live { _, container, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            try await cache.change(.deleteZone(zone))
            try await cache.sync()
            try await cache.change(.saveZone(zone))
            try await Self.edit(cache, "a", "text", "two")
            try await cache.sync()
            let second = try await Self.cache("second", container, folder)
            try await second.sync()
            for cache in [cache, second] {
                let texts = try await Self.texts(cache)
                #expect(texts == ["a": "two"])
                #expect(cache.engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    /// The deletion of the zone is refused, or taken back before it was sent: the records come again.
    @Test(arguments: [true, false]) func aZoneThatIsNotDeletedComesAgain(isRefused: Bool) async throws {
        try await withScript({ request, _ in
            switch request.path.split(separator: "/").suffix(2).joined(separator: "/") {
            case "users/caller": .json(#"{"users":[{"userRecordName":"_a"}]}"#)
            case "changes/database":
                request.body.contains(#""t""#) ? .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
                    : .json(#"{"zones":[{"zoneID":{"zoneName":"Items"}}],"syncToken":"t","moreComing":false}"#)
            case "changes/zone":
                request.body.contains(#""z""#) ? .json(#"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[],"syncToken":"z","moreComing":false}]}"#)
                    : .json(#"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[{\#(item("a", tag: "1", text: "one"))}],"syncToken":"z","moreComing":false}]}"#)
            default:
                request.body.contains("delete") ? .json(#"{"zones":[{"zoneID":{"zoneName":"Items"},"serverErrorCode":"ACCESS_DENIED","reason":"no"}]}"#)
                    : .json(#"{"zones":[{"zoneID":{"zoneName":"Items"}}]}"#)
            }
        }) { container, server in
            let folder = try TemporaryFolder()
            let cache = try await Self.cache("first", container, folder)
            try await cache.sync()
            try await cache.change(.deleteZone(zone))
            var texts = try await Self.texts(cache)
            #expect(texts.isEmpty)
            if isRefused {
                #expect(await operationError { try await cache.sync() }?.code == .permissionFailure)
            } else {
                try await cache.change(.saveZone(zone))
            }
            try await cache.sync()
            texts = try await Self.texts(cache)
            #expect(texts == ["a": "one"] && cache.engine.state.pendingDatabaseChanges.isEmpty)
            #expect(server.requests.contains { $0.path.hasSuffix("zones/modify") && $0.body.contains("delete") } == isRefused)
        }
    }

    /// Records that the server had go with their zone. New ones stay if the zone is made anew.
    @Test func newRecordsOutliveAZoneThatAnotherDeviceDeleted() async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (try await Self.cache("first", container, folder), try await Self.cache("second", container, folder))
            try await Self.edit(first, "a", "text", "one")
            try await first.sync()
            try await second.sync()
            try await first.change(.deleteZone(zone))
            try await first.sync()
            try await Self.edit(second, "a", "text", "mine")
            try await second.change(.saveZone(zone))
            try await Self.edit(second, "b", "text", "new")
            try await second.sync()
            try await first.sync()
            for cache in [first, second] {
                let texts = try await Self.texts(cache)
                #expect(texts == ["b": "new"])
                #expect(cache.engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    @Test func changesOfRecordsThatWereDeletedAreGivenUpOrKept() async throws {
        try await Self.live { _, container, folder in
            let first = try await Self.cache("first", container, folder)
            let keeping = try await RecordCache(folder.url.appending(path: "keeping.sqlite"), of: container.privateCloudDatabase) { meeting in
                if case .deleted(let mine) = meeting { mine } else { RecordCache.mergingKeys(meeting) }
            }
            let giving = try await Self.cache("giving", container, folder)
            try await Self.edit(first, "a", "text", "old")
            for cache in [first, keeping, giving] { try await cache.sync() }
            try await first.delete(Self.recordID("a"))
            try await first.sync()
            try await Self.edit(giving, "a", "text", "given up")
            try await giving.sync()
            let none = try await Self.texts(giving)
            #expect(none.isEmpty && giving.engine.state.pendingRecordZoneChanges.isEmpty)
            try await Self.edit(keeping, "a", "text", "kept")
            try await keeping.sync()
            try await first.sync()
            let kept = try await Self.texts(first)
            #expect(kept == ["a": "kept"])
        }
    }

    /// It is put on the server's version, or made anew. A resolver that is asked more often has been refused for the same reason.
    @Test(arguments: [true, false]) func aResolverMayReturnTheRecordThatItWasGiven(isDeleted: Bool) async throws {
        try await Self.live { _, container, folder in
            let first = try await Self.cache("first", container, folder)
            let calls = Mutex(0)
            let second = try await RecordCache(folder.url.appending(path: "second.sqlite"), of: container.privateCloudDatabase) { meeting in
                guard calls.withLock({ calls in
                    calls += 1
                    return calls <= 3
                }) else { return nil }
                switch meeting {
                case .changed(let conflict): return conflict.clientRecord
                case .deleted(let mine): return mine
                }
            }
            try await Self.edit(first, "a", "text", "old")
            try await Self.edit(first, "a", "more", "old")
            try await first.sync()
            try await second.sync()
            if isDeleted { try await first.delete(Self.recordID("a")) } else { try await Self.edit(first, "a", "more", "new") }
            try await first.sync()
            try await Self.edit(second, "a", "text", "mine")
            try await second.engine.sendChanges()
            try await first.sync()
            let (texts, more) = (try await Self.texts(first), try await Self.texts(first, "more"))
            #expect(texts == ["a": "mine"] && more == ["a": isDeleted ? "old" : "new"] && calls.withLock { $0 } == 1)
        }
    }

    @Test func refusedChangesAreKnown() async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") { return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#) }
            return records(#""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted""#)
        }) { container, _ in
            let folder = try TemporaryFolder()
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            let refusals = try await cache.refusals()
            #expect(refusals[Self.recordID("a")]?.contains("WRITE operation not permitted") == true)
            #expect(cache.engine.state.pendingRecordZoneChanges.isEmpty)
            // The next change is sent again.
            try await Self.edit(cache, "a", "text", "two")
            let cleared = try await cache.refusals()
            #expect(cleared.isEmpty && cache.engine.state.pendingRecordZoneChanges.count == 1)
        }
    }

    /// The next fetch may bring the version that the change was made on, and a later one a newer version.
    @Test func aRefusedChangeStaysUntilTheRecordChangesThere() async throws {
        let version = Mutex<Int?>(nil)
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            let current = version.withLock { $0 }
            if request.path.hasSuffix("changes/database") {
                let zones = current == nil ? "" : #"{"zoneID":{"zoneName":"Items"}}"#
                return .json(#"{"zones":[\#(zones)],"syncToken":"t\#(current ?? 0)","moreComing":false}"#)
            }
            if request.path.hasSuffix("changes/zone") {
                let record = item("a", tag: "\(current ?? 0)", text: "version \(current ?? 0)")
                return .json(#"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[{\#(record)}],"syncToken":"z\#(current ?? 0)","moreComing":false}]}"#)
            }
            return request.body.contains("refused")
                ? records(#""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted""#) : records(item("a", tag: "1"))
        }) { container, _ in
            let folder = try TemporaryFolder()
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            try await Self.edit(cache, "a", "text", "refused")
            try await cache.sync()
            for (number, text) in [(1, "refused"), (2, "version 2")] {
                version.withLock { $0 = number }
                try await cache.sync()
                let (texts, refusals) = (try await Self.texts(cache), try await cache.refusals())
                #expect(texts == ["a": text] && refusals.count == 2 - number)
            }
        }
    }

    /// Otherwise nothing would ever be sent again.
    @Test func aRecordThatTheServerCannotReadKeepsNoOtherBack() async throws {
        try await Self.withSaves({ request in
            if request.body.contains(#""bad""#) { return .error("BAD_REQUEST", status: 400) }
            return records(item(request.body.contains(#""good""#) ? "good" : "late", tag: "1"))
        }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            for name in ["bad", "good"] as [Name] { try await Self.edit(cache, name, "text", "one") }
            try await cache.sync()
            try await Self.edit(cache, "late", "text", "two")
            try await cache.sync()
            let refusals = try await cache.refusals()
            #expect(Array(refusals.keys) == [Self.recordID("bad")] && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// A server that knows the user and has no zones, and answers saves.
    private static func withSaves(
        _ modify: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Reply, _ body: (Container, ScriptedServer, TemporaryFolder) async throws -> Void
    ) async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") { return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#) }
            return modify(request)
        }) { container, server in try await body(container, server, try TemporaryFolder()) }
    }

    /// Otherwise the record would be gone here, and stay there.
    @Test func aRefusedDeletionBringsTheRecordBack() async throws {
        try await Self.withSaves({ request in
            request.body.contains("forceDelete")
                ? records(#""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted""#) : records(item("a", tag: "1"))
        }) { container, _, folder in
            do {
                let cache = try await Self.cache("first", container, folder)
                try await Self.edit(cache, "a", "text", "one")
                try await cache.sync()
                try await cache.delete(Self.recordID("a"))
                let hidden = try await cache.record(for: Self.recordID("a"))
                #expect(hidden == nil)
            }
            // Also for the next process.
            let again = try await Self.cache("first", container, folder)
            let texts = try await Self.texts(again)
            #expect(texts.isEmpty && again.engine.state.pendingRecordZoneChanges == [.deleteRecord(Self.recordID("a"))])
            try await again.sync()
            let back = try await Self.texts(again)
            let refusals = try await again.refusals()
            #expect(back == ["a": "one"] && refusals.keys.first == Self.recordID("a") && again.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// A copy that was read earlier does not take back what was changed since.
    @Test func twoEditsOfOneVersionAreBothKept() async throws {
        try await Self.withSaves({ _ in records(item("a", tag: "1")) }) { container, server, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            var (first, second) = (try #require(try await cache.record(for: Self.recordID("a"))), try #require(try await cache.record(for: Self.recordID("a"))))
            first["text"] = "two"
            second["more"] = "three"
            try await cache.save(first)
            try await cache.save(second)
            let record = try await cache.record(for: Self.recordID("a"))
            #expect(record?["text"] == "two" as String? && record?["more"] == "three" as String? && record?.changedKeys == ["text", "more"])
            try await cache.sync()
            #expect(server.requests.filter { $0.path.hasSuffix("records/modify") }.count == 2)
        }
    }

    /// A credential that is too old says nothing about who will sign in next.
    @Test func anOldCredentialLosesNothing() async throws {
        let isSignedIn = Mutex(true)
        try await withScript({ request, _ in
            guard isSignedIn.withLock({ $0 }) else { return .error("AUTHENTICATION_REQUIRED", status: 421) }
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") { return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#) }
            return records(item("a", tag: "1"))
        }) { container, _ in
            let folder = try TemporaryFolder()
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            try await Self.edit(cache, "b", "text", "two")
            isSignedIn.withLock { $0 = false }
            #expect(await operationError { try await cache.sync() }?.code == .notAuthenticated)
            let texts = try await Self.texts(cache)
            #expect(texts == ["a": "one", "b": "two"] && cache.engine.state.pendingRecordZoneChanges == [.saveRecord(Self.recordID("b"))])
            try await cache.engine.signOut()
            let none = try await Self.texts(cache)
            #expect(none.isEmpty && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// The file that was sent is not one that was chosen since.
    @Test func aSavedFileIsNotSentAgain() async throws {
        try await Self.live { server, container, folder in
            let cache = try await Self.cache("first", container, folder)
            var record = Record(recordType: "Photo", recordID: Self.recordID("p"))
            record["file"] = AssetFile(fileURL: try folder.write([1, 2, 3], to: "photo"))
            try await cache.save(record)
            try await cache.sync()
            let saved = try #require(try await cache.record(for: Self.recordID("p")))
            let file: AssetFile? = saved["file"]
            #expect(!saved.hasChanges && file?.asset?.size == 3)
            try await cache.sync()
            let versions = try await server.versions(of: Self.recordID("p"))
            #expect(versions == 1 && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }
}
