import CloudKitClient
import Foundation
import LoopbackServing
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

/// Local copies in files, which are changed at any time and synced.
@Suite struct CacheTests {
    static func live(_ body: @Sendable (LiveServer, Container, TemporaryFolder) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            try await server.device { client in
                let container = Container(client)
                try await container.privateCloudDatabase.save(zone)
                try await body(server, container, folder)
            }
        }
    }

    static func cache(_ name: String, _ container: Container, _ folder: TemporaryFolder) async throws -> RecordCache {
        try await RecordCache(folder.url.appending(path: "\(name).sqlite"), of: container.privateCloudDatabase)
    }

    static func recordID(_ name: Name) -> RecordID { RecordID(recordName: name, zoneID: zone) }

    static func edit(_ cache: RecordCache, _ name: Name, _ key: Name, _ value: String) async throws {
        var record = try await cache.record(for: recordID(name)) ?? Record(recordType: "Item", recordID: recordID(name))
        record[key] = value
        try await cache.save(record)
    }

    static func texts(_ cache: RecordCache, _ key: Name = "text") async throws -> [Name: String] {
        try await cache.records(ofType: "Item", in: zone).reduce(into: [:]) { texts, record in
            texts[record.recordID.recordName] = record[key]
        }
    }

    @Test func twoCachesBecomeTheSame() async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (
                try await Self.cache("first", container, folder), try await Self.cache("second", container, folder)
            )
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

    @Test func aCacheTellsOfTheRecordsOfAType() async throws {
        try await Self.live { _, container, folder in
            let cache = try await Self.cache("first", container, folder)
            let type: Record.RecordType = "Item"
            var updates = cache.updates(ofType: type, in: zone).makeAsyncIterator()
            let none = try await updates.next()
            try await cache.save(Record(recordType: "List", recordID: Self.recordID("list")))
            try await Self.edit(cache, "a", "text", "one")
            let one = try await updates.next()
            try await Self.edit(cache, "b", "text", "two")
            let two = try await updates.next()
            #expect(none == [] && one?.map { $0["text"] } == ["one"] && two?.map { $0["text"] } == ["one", "two"])
            var count = try await cache.count(ofType: type, in: zone)
            #expect(count == 2)
            try await cache.delete(Self.recordID("a"))
            count = try await cache.count(ofType: type, in: zone)
            let left = try await updates.next()
            #expect(count == 1 && left?.map(\.recordID) == [Self.recordID("b")])
        }
    }

    /// A loop over one of them would wait for ever, and the file would stay open.
    @Test func streamsEndWithTheirCache() async throws {
        try await Self.live { _, container, folder in
            func streams() async throws -> (
                AsyncStream<Void>, AsyncStream<SyncEngine.Event>, AsyncThrowingStream<[Record], any Error>
            ) {
                let cache = try await Self.cache("first", container, folder)
                let streams = (cache.updates(), cache.events(), cache.updates(ofType: "Item", in: zone))
                try await Self.edit(cache, "a", "text", "one")
                return streams
            }
            let (updates, events, records) = try await streams()
            for await _ in updates {}
            for await _ in events {}
            var last: [Record] = []
            for try await found in records { last = found }
            #expect(last.map { $0["text"] } == ["one"])
            let next = try await Self.cache("first", container, folder)
            let texts = try await Self.texts(next)
            #expect(texts == ["a": "one"])
        }
    }

    /// The server wants a parent to be there before its children, and to go after them, also if they are in other
    /// batches.
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
            var changes = try await container.privateCloudDatabase.recordZoneChanges(
                inZoneWith: zone, desiredKeys: [], resultsLimit: 200)
            #expect(
                refusals.isEmpty && cache.engine.state.pendingRecordZoneChanges.isEmpty
                    && changes.modifications.count == 200 && changes.moreComing)
            try await cache.delete([Self.recordID("parent")] + children)
            try await cache.sync()
            refusals = try await cache.refusals()
            changes = try await container.privateCloudDatabase.recordZoneChanges(inZoneWith: zone)
            #expect(
                refusals.isEmpty && cache.engine.state.pendingRecordZoneChanges.isEmpty && changes.modifications.isEmpty
            )
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
            let (first, second) = (
                try await Self.cache("first", container, folder), try await Self.cache("second", container, folder)
            )
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
            #expect(
                await operationError { _ = try await Self.cache("first", container, folder) }?.code == .internalError)
            try await Self.edit(cache, "a", "text", "one")
            let texts = try await Self.texts(cache)
            #expect(texts == ["a": "one"])
            // It has addresses of files, and is for its user alone.
            let attributes = try FileManager.default.attributesOfItem(
                atPath: folder.url.appending(path: "first.sqlite").path(percentEncoded: false))
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
    }

    /// The folder of an app's data may be missing at its first start.
    @Test func aFileThatCannotBeOpenedIsNamed() async throws {
        try await Self.withSaves({ _ in records(item("a", tag: "1")) }) { container, _, folder in
            let text = try folder.write(String(repeating: "no database ", count: 100), to: "text")
            for file in [folder.url.appending(path: "none/cache.sqlite"), text] {
                let error = await operationError {
                    _ = try await RecordCache(file, of: container.privateCloudDatabase)
                }
                #expect(error?.reason.contains(file.path(percentEncoded: false)) == true)
            }
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
            let results = try await container.privateCloudDatabase.modifyRecords(
                saving: [record, other], atomically: false
            ).saveResults
            #expect(throws: OperationError.self) { try results[record.recordID]?.get() }
            #expect(try results[other.recordID]?.get().recordChangeTag == "1")
        }
    }

    /// After a history that was skipped, nothing else would bring the record.
    @Test func aPrefetchTellsOfARecordThatCannotBeRead() async throws {
        let unreadable = #""recordName":"b","serverErrorCode":"INTERNAL_ERROR","reason":"lost""#
        try await Self.withSaves({ _ in records(item("a", tag: "1"), unreadable) }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            let error = await operationError { try await cache.prefetch(Query(recordType: "Item"), in: zone) }
            #expect(error?.code == .internalError)
            let names = try await cache.records(ofType: "Item", in: zone).map(\.recordID.recordName)
            #expect(names == ["a"])
        }
    }

    /// The cache could not be read again with it.
    @Test func aRecordThatCannotBeKeptIsRefused() async throws {
        try await Self.withSaves({ _ in records(item("b", tag: "1")) }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            for (what, record) in [
                ("name", Record(recordType: "Item", recordID: Self.recordID(""))),
                ("type", Record(recordType: "", recordID: Self.recordID("a"))),
                ("zone", Record(recordType: "Item", in: ZoneID(zoneName: "" as Name))),
            ] {
                let error = await operationError { try await cache.save(record) }
                #expect(error?.code == .invalidArguments && error?.reason.contains(what) == true)
            }
            var child = Record(recordType: "Item", recordID: Self.recordID("a"))
            child.setParent(RecordID(recordName: "p"))
            let orphan = child
            #expect(await operationError { try await cache.save(orphan) }?.code == .invalidArguments)
            // Its path would be that of a file here.
            var remote = Record(recordType: "Item", recordID: Self.recordID("a"))
            remote["file"] = AssetFile(fileURL: try #require(URL(string: "https://example.com/etc/hosts")))
            let record = remote
            #expect(await operationError { try await cache.save(record) }?.code == .assetFileNotFound)
            let kept = try await cache.records(ofType: "Item", in: zone)
            #expect(kept.isEmpty)
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
            try await BreakingProxy.run(to: server.port, arrives ? .stopBeforeAnswer(2) : .stopBeforeRequest(2)) {
                port, proxy in
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
            #expect(
                record?["text"] == "two" as String? && record?.hasChanges == false
                    && again.engine.state.pendingRecordZoneChanges.isEmpty)
            let versions = try await server.versions(of: Self.recordID("a"))
            #expect(versions == 2)
        }
    }

    /// The answer to a save is lost, and another device moves the record before somebody looks. The next save must not
    /// move it back.
    @Test func aMoveOfAnotherDeviceIsNoChangeHere() async throws {
        try await Self.withSaves({ request in
            if request.path.hasSuffix("records/lookup") {
                return records(item("a", tag: "3", text: "two") + #","parent":{"recordName":"p"}"#)
            }
            return request.body.contains("two") ? .close : records(item("a", tag: "1"))
        }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            try await Self.edit(cache, "a", "text", "two")
            try await cache.sync()
            let record = try await cache.record(for: Self.recordID("a"))
            #expect(record?.recordChangeTag == "3" && record?.parent == "p" && record?.hasChanges == false)
        }
    }

    @Test func recordsThatDoNotComeAgainAreGone() async throws {
        try await Self.live { server, container, folder in
            let (first, second) = (
                try await Self.cache("first", container, folder), try await Self.cache("second", container, folder)
            )
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
                request.body.contains(#""t""#)
                    ? .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
                    : .json(#"{"zones":[{"zoneID":{"zoneName":"Items"}}],"syncToken":"t","moreComing":false}"#)
            case "changes/zone":
                request.body.contains(#""z""#)
                    ? .json(
                        #"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[],"syncToken":"z","moreComing":false}]}"#)
                    : .json(
                        #"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[{\#(item("a", tag: "1", text: "one"))}],"syncToken":"z","moreComing":false}]}"#
                    )
            default:
                request.body.contains("delete")
                    ? .json(
                        #"{"zones":[{"zoneID":{"zoneName":"Items"},"serverErrorCode":"ACCESS_DENIED","reason":"no"}]}"#)
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
            #expect(
                server.requests.contains { $0.path.hasSuffix("zones/modify") && $0.body.contains("delete") }
                    == isRefused)
        }
    }

    /// The deletion of the zone is taken back while its next page is on its way. That page must not hide that all of
    /// the zone has to come again.
    @Test(arguments: [true, false]) func aZoneThatIsNotDeletedComesAgainAlthoughAPageIsOnItsWay(isFirst: Bool)
        async throws
    {
        try await withScript({ request, _ in
            func zones(_ members: String) -> String { #"{"zones":[{"zoneID":{"zoneName":"Items"}\#(members)}]"# }
            switch request.path.split(separator: "/").suffix(2).joined(separator: "/") {
            case "users/caller": return .json(#"{"users":[{"userRecordName":"_a"}]}"#)
            case "changes/database":
                return request.body.contains(#""t2""#)
                    ? .json(#"{"zones":[],"syncToken":"t2","moreComing":false}"#)
                    : .json(
                        zones("")
                            + #","syncToken":"\#(request.body.contains(#""t1""#) ? "t2" : "t1")","moreComing":false}"#)
            case "changes/zone":
                // The first two requests ask for the user and for the zones. Held pages come with the request after
                // them.
                if request.body.contains(#""z1""#) {
                    return .json(zones(#","records":[],"syncToken":"z2","moreComing":false"#) + "}").after(requests: 6)
                }
                let page = ScriptedServer.Reply.json(
                    zones(#","records":[{\#(item("a", tag: "1", text: "one"))}],"syncToken":"z1","moreComing":false"#)
                        + "}")
                return isFirst ? page.after(requests: 4) : page
            default: return .json(zones("") + "}")
            }
        }) { container, server in
            let folder = try TemporaryFolder()
            let cache = try await Self.cache("first", container, folder)
            if !isFirst { try await cache.sync() }
            try await cache.change(.deleteZone(zone))
            let fetching = Task { try await cache.engine.fetchChanges() }
            try await eventually { server.requests.count == (isFirst ? 3 : 5) }
            try await cache.change(.saveZone(zone))
            _ = try await container.userRecordID()
            try await fetching.value
            try await cache.sync()
            let texts = try await Self.texts(cache)
            #expect(texts == ["a": "one"] && cache.engine.state.pendingDatabaseChanges.isEmpty)
        }
    }

    /// A server that knows the user and has no zones, and answers saves.
    static func withSaves(
        _ modify: @escaping @Sendable (ScriptedServer.Request) -> ScriptedServer.Reply,
        _ body: (Container, ScriptedServer, TemporaryFolder) async throws -> Void
    ) async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") {
                return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
            }
            return modify(request)
        }) { container, server in try await body(container, server, try TemporaryFolder()) }
    }

    /// A credential that is too old says nothing about who will sign in next.
    @Test func anOldCredentialLosesNothing() async throws {
        let isSignedIn = Mutex(true)
        try await withScript({ request, _ in
            guard isSignedIn.withLock({ $0 }) else { return .error("AUTHENTICATION_REQUIRED", status: 421) }
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") {
                return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
            }
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
            #expect(
                texts == ["a": "one", "b": "two"]
                    && cache.engine.state.pendingRecordZoneChanges == [.saveRecord(Self.recordID("b"))])
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

    /// The path is that of the file which was sent, and the bytes are others.
    @Test func aFileThatIsWrittenAnewDuringItsUploadIsSentToo() async throws {
        let uploads = Mutex(0)
        try await Self.withSaves({ request in
            if request.path.hasSuffix("assets/upload") {
                return .json(
                    #"{"tokens":[{"recordName":"p","fieldName":"file","url":"http://\#(request.headers["host"] ?? "")/up"}]}"#
                )
            }
            if request.path == "/up" {
                let number = uploads.withLock { uploads in
                    uploads += 1
                    return uploads
                }
                return .json(
                    #"{"singleFile":{"fileChecksum":"c\#(number)","size":\#(number),"receipt":"r\#(number)"}}"#)
            }
            // The first save is the fifth request: they ask for the user, for zones and for a slot, and upload. It is
            // held until another one comes.
            return records(item("p", tag: "\(uploads.withLock { $0 })")).after(requests: 6)
        }) { container, server, folder in
            let cache = try await Self.cache("first", container, folder)
            var record = Record(recordType: "Photo", recordID: Self.recordID("p"))
            record["file"] = AssetFile(fileURL: try folder.write([1], to: "photo"))
            try await cache.save(record)
            let syncing = Task { try await cache.sync() }
            try await eventually { server.requests.count == 5 }
            record["file"] = AssetFile(fileURL: try folder.write([1, 2], to: "photo"))
            try await cache.save(record)
            _ = try await container.userRecordID()
            try await syncing.value
            let saved = try await cache.record(for: Self.recordID("p"))
            let file: AssetFile? = saved?["file"]
            #expect(
                saved?.hasChanges == false && file?.asset?.fileChecksum == "c2"
                    && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }
}
