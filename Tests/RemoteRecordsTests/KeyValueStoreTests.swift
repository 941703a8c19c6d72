import CloudKitClient
import Foundation
import Logging
import LoopbackServing
import RecordStore
import Records
import SkylightTesting
import TestSupport
import Testing

@testable import RemoteRecords

/// Key-value stores on devices, against a server within the test.
@Suite struct KeyValueStoreTests {
    private static func run(_ body: (SkylightServer, SkylightServer.User) async throws -> Void) async throws {
        try await SkylightServer.run(container: testContainer, keyValueStores: true) { skylight in
            try await body(skylight, try await skylight.makeUser("Anna"))
        }
    }

    /// A store on a new device.
    private static func store(_ skylight: SkylightServer, _ user: SkylightServer.User, file: URL? = nil) async throws
        -> KeyValueStore
    {
        try await KeyValueStore(skylight.device(of: user), file: file)
    }

    @Test func aStreamEndsWithItsStore() async throws {
        try await Self.run { skylight, anna in
            func changes() async throws -> AsyncStream<KeyValueStore.Change> {
                try await Self.store(skylight, anna).changes
            }
            for await _ in try await changes() { Issue.record("nothing has changed") }
        }
    }

    @Test func whatOneDeviceSetsAnotherOneReads() async throws {
        try await Self.run { skylight, anna in
            let (phone, tablet) = (try await Self.store(skylight, anna), try await Self.store(skylight, anna))
            let date = Date(timeIntervalSince1970: 1_700_000_000.125)
            try phone.set("Anna", forKey: "name")
            try phone.set(3, forKey: "count")
            try phone.set(0.5, forKey: "part")
            try phone.set(true, forKey: "flag")
            try phone.set(Data([1, 2]), forKey: "data")
            try phone.set(date, forKey: "date")
            try phone.set(["a", "b"], forKey: "list")
            try phone.set(["one": 1, "two": 2], forKey: "numbers")
            // Offline, the device has its own values at once.
            #expect(phone.string(forKey: "name") == "Anna" && tablet.object(forKey: "name") == nil)
            try await phone.synchronize()
            try await tablet.synchronize()
            #expect(
                tablet.dictionaryRepresentation == phone.dictionaryRepresentation
                    && tablet.dictionaryRepresentation.count == 8)
            #expect(
                tablet.longLong(forKey: "count") == 3 && tablet.double(forKey: "count") == 3
                    && tablet.double(forKey: "part") == 0.5)
            #expect(
                tablet.bool(forKey: "flag") && tablet.bool(forKey: "count") && !tablet.bool(forKey: "none")
                    && tablet.string(forKey: "count") == nil)
            #expect(tablet.data(forKey: "data") == Data([1, 2]) && tablet.date(forKey: "date") == date)
            #expect(
                tablet.value(forKey: "list") == ["a", "b"]
                    && tablet.dictionary(forKey: "numbers") == ["one": .integer(1), "two": .integer(2)])
            // Another spelling of the same letters is another value.
            try phone.set("Zoe\u{308}", forKey: "name")
            try await phone.synchronize()
            try phone.set("Zo\u{eb}", forKey: "name")
            try await phone.synchronize()
            try await tablet.synchronize()
            #expect(tablet.string(forKey: "name").map { Array($0.utf8) } == Array("Zo\u{eb}".utf8))
            tablet.removeObject(forKey: "flag")
            tablet.removeObject(forKey: "none")
            try await tablet.synchronize()
            try await phone.synchronize()
            #expect(phone.object(forKey: "flag") == nil && phone.dictionaryRepresentation.count == 7)
            // Another user has another store.
            let other = try await Self.store(skylight, try await skylight.makeUser("Ben"))
            try await other.synchronize()
            #expect(other.dictionaryRepresentation.isEmpty)
        }
    }

    @Test func changeNotesTellTheReasonAndTheKeys() async throws {
        try await Self.run { skylight, anna in
            let (phone, tablet) = (try await Self.store(skylight, anna), try await Self.store(skylight, anna))
            try phone.set(1, forKey: "a")
            try phone.set(1, forKey: "b")
            try await phone.synchronize()
            var notes = tablet.changes.makeAsyncIterator()
            // The server's values count more than those that a new device begins with, and the rest is sent.
            try tablet.set(2, forKey: "a")
            try tablet.set(2, forKey: "c")
            try await tablet.synchronize()
            #expect(await notes.next() == KeyValueStore.Change(reason: .initialSyncChange, changedKeys: ["a", "b"]))
            #expect(tablet.dictionaryRepresentation == ["a": .integer(1), "b": .integer(1), "c": .integer(2)])
            // A change of one's own is no note. Between two devices, the one that comes last wins.
            try tablet.set(3, forKey: "a")
            try await tablet.synchronize()
            try phone.set(4, forKey: "a")
            phone.removeObject(forKey: "b")
            try await phone.synchronize()
            #expect(phone.longLong(forKey: "a") == 4)
            try await tablet.synchronize()
            #expect(await notes.next() == KeyValueStore.Change(reason: .serverChange, changedKeys: ["a", "b"]))
            #expect(tablet.dictionaryRepresentation == ["a": .integer(4), "c": .integer(2)])
        }
    }

    @Test func aRunningStoreHearsOfChangesAndSendsThem() async throws {
        try await Self.run { skylight, anna in
            let (phone, tablet) = (try await Self.store(skylight, anna), try await Self.store(skylight, anna))
            var (onPhone, onTablet) = (phone.changes.makeAsyncIterator(), tablet.changes.makeAsyncIterator())
            let running = [phone, tablet].map { store in Task { try await store.run() } }
            try phone.set("x", forKey: "k")
            #expect(await onTablet.next()?.changedKeys == ["k"])
            #expect(tablet.string(forKey: "k") == "x")
            try tablet.set("y", forKey: "k")
            #expect(await onPhone.next() == KeyValueStore.Change(reason: .serverChange, changedKeys: ["k"]))
            #expect(phone.string(forKey: "k") == "y")
            for task in running {
                task.cancel()
                #expect(await operationError { try await task.value }?.code == .operationCancelled)
            }
        }
    }

    /// A device that sets the value it knows wins over one that set another value in between. Equal values are no note.
    @Test func aValueThatTheCopyHasIsSentToo() async throws {
        try await Self.run { skylight, anna in
            let (phone, tablet) = (try await Self.store(skylight, anna), try await Self.store(skylight, anna))
            try phone.set(1, forKey: "k")
            try await phone.synchronize()
            try await tablet.synchronize()
            try tablet.set(2, forKey: "k")
            try await tablet.synchronize()
            var notes = tablet.changes.makeAsyncIterator()
            try phone.set(1, forKey: "k")
            try await phone.synchronize()
            #expect(phone.longLong(forKey: "k") == 1)
            try await tablet.synchronize()
            #expect(await notes.next() == KeyValueStore.Change(reason: .serverChange, changedKeys: ["k"]))
            #expect(tablet.longLong(forKey: "k") == 1)
            try phone.set(1, forKey: "k")
            try phone.set(3, forKey: "l")
            try await phone.synchronize()
            try await tablet.synchronize()
            #expect(await notes.next() == KeyValueStore.Change(reason: .serverChange, changedKeys: ["l"]))
        }
    }

    /// Other devices filled the copy above the limit, so that smaller values have to be possible.
    @Test func aCopyAboveTheLimitTakesSmallerValues() throws {
        var copy = KeyValueCopy()
        func filler(_ size: Int) -> PropertyValue { .bytes([UInt8](repeating: 1, count: size)) }
        try copy.change("mine", to: filler(KeyValueLimits.bytes))
        let theirs = KeyValueChange("theirs", filler(100), modified: Timestamp(milliseconds: 0), position: 1)
        _ = copy.receive(
            KeyValueChanges([theirs], syncToken: ChangeToken(text: "AAAA"), usage: KeyValueUsage(keys: 1, bytes: 100)),
            isWhole: true)
        #expect(copy.values.count == 2)
        #expect(throws: RecordError.self) { try copy.change("theirs", to: filler(101)) }
        #expect(throws: RecordError.self) { try copy.change("new", to: filler(1)) }
        try copy.change("mine", to: filler(KeyValueLimits.bytes - 1))
        try copy.change("theirs", to: filler(50))
        #expect(copy.values == ["mine": filler(KeyValueLimits.bytes - 1), "theirs": filler(50)])
    }

    /// A request waits for less time than the connection may be silent, and not at all if that is too short.
    @Test(arguments: [(60, "55"), (30, "25"), (5, nil)] as [(Int64, String?)])
    func aRequestWaitsNoLongerThanItsConnection(idleTimeout: Int64, wait: String?) async throws {
        let (asked, asking) = AsyncStream.makeStream(of: Void.self)
        let answer = ScriptedServer.Reply.json(#"{"changes":[],"syncToken":"AAAA","keys":0,"bytes":0}"#)
        try await ScriptedServer.run({ _, number in
            if number == 3 { asking.finish() }
            return answer
        }) { address, server in
            var configuration = ClientConfiguration(address: address)
            configuration.idleTimeout = .seconds(idleTimeout)
            let client = try ContainerClient(
                container: try #require(ContainerID(testContainer)), environment: .development,
                credentials: .apiToken("a0b1c2d3e4f5a6b7"),
                configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
                pacing: VirtualClock().pacing)
            let store = try await KeyValueStore(Container(client))
            let running = Task {
                defer { asking.finish() }
                try await store.run()
            }
            for await _ in asked {}
            running.cancel()
            #expect(await operationError { try await running.value }?.code == .operationCancelled)
            let waits = server.requests.map { $0.body.firstMatch(of: /"wait":([0-9]+)/).map { String($0.output.1) } }
            #expect(Set(waits) == Set([nil, wait]), "\(waits)")
            await client.close()
        }
    }

    /// A program that is cancelled keeps what the server has already, and does not send it again.
    @Test func aCancelledTaskWritesTheFile() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "store.json")
        try await Self.run { skylight, anna in
            let phone = try await Self.store(skylight, anna, file: file)
            try phone.set(1, forKey: "k")
            let saving = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await phone.save()
            }
            try await saving.value
            let again = try await Self.store(skylight, anna, file: file)
            #expect(again.longLong(forKey: "k") == 1)
            let synchronizing = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await phone.synchronize()
            }
            #expect(await operationError { try await synchronizing.value }?.code == .operationCancelled)
        }
    }

    /// The file has what was set without a network, and the place to go on from.
    @Test func aFileKeepsTheCopy() async throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appending(path: "store.json")
        try await Self.run { skylight, anna in
            var phone = try await Self.store(skylight, anna, file: file)
            try phone.set(1, forKey: "sent")
            try await phone.synchronize()
            try skylight.inject(.throttled, count: 1000)
            try phone.set(2, forKey: "unsent")
            #expect(await operationError { try await phone.synchronize() }?.code == .requestRateLimited)
            skylight.stopFaults()
            phone = try await Self.store(skylight, anna, file: file)
            #expect(phone.dictionaryRepresentation == ["sent": .integer(1), "unsent": .integer(2)])
            let tablet = try await Self.store(skylight, anna)
            try await tablet.synchronize()
            #expect(tablet.object(forKey: "unsent") == nil)
            try await phone.synchronize()
            try await tablet.synchronize()
            #expect(tablet.dictionaryRepresentation == phone.dictionaryRepresentation)
            // Another user's values replace those of the file, and nothing of the first user is sent.
            try phone.set(3, forKey: "late")
            try skylight.inject(.throttled, count: 1000)
            #expect(await operationError { try await phone.synchronize() }?.code == .requestRateLimited)
            skylight.stopFaults()
            let ben = try await skylight.makeUser("Ben")
            let other = try await Self.store(skylight, ben)
            try other.set("Ben", forKey: "sent")
            try await other.synchronize()
            let switched = try await Self.store(skylight, ben, file: file)
            var notes = switched.changes.makeAsyncIterator()
            try await switched.synchronize()
            #expect(
                await notes.next()
                    == KeyValueStore.Change(reason: .accountChange, changedKeys: ["late", "sent", "unsent"]))
            #expect(switched.dictionaryRepresentation == ["sent": .string("Ben")])
            try await other.synchronize()
            #expect(other.dictionaryRepresentation == ["sent": .string("Ben")])
        }
    }

    @Test func aFullServerIsAQuotaViolation() async throws {
        try await Self.run { skylight, anna in
            let (phone, tablet) = (try await Self.store(skylight, anna), try await Self.store(skylight, anna))
            let most = Data(count: KeyValueLimits.bytes - 100)
            for store in [phone, tablet] { try await store.synchronize() }
            try phone.set(most, forKey: "phone")
            try await phone.synchronize()
            try tablet.set(most, forKey: "tablet")
            try tablet.set(true, forKey: "flag")
            var notes = tablet.changes.makeAsyncIterator()
            #expect(await operationError { try await tablet.synchronize() }?.code == .quotaExceeded)
            #expect(await notes.next() == KeyValueStore.Change(reason: .serverChange, changedKeys: ["phone"]))
            #expect(
                await notes.next()
                    == KeyValueStore.Change(reason: .quotaViolationChange, changedKeys: ["flag", "tablet"]))
            // The same is not sent again, and the values are still here.
            try await tablet.synchronize()
            #expect(tablet.data(forKey: "tablet") == most)
            tablet.removeObject(forKey: "phone")
            try await tablet.synchronize()
            try await phone.synchronize()
            #expect(
                phone.dictionaryRepresentation == tablet.dictionaryRepresentation && phone.bool(forKey: "flag")
                    && phone.data(forKey: "phone") == nil)
        }
    }

    @Test func aDeviceRefusesWhatNoStoreTakes() async throws {
        try await Self.run { skylight, anna in
            let phone = try await Self.store(skylight, anna)
            #expect(await operationError { try phone.set(1, forKey: "") }?.code == .invalidArguments)
            #expect(
                await operationError { try phone.set(1, forKey: String(repeating: "k", count: 65)) }?.code
                    == .invalidArguments)
            #expect(await operationError { try phone.set(Double.nan, forKey: "k") }?.code == .invalidArguments)
            #expect(
                await operationError { try phone.set(Data(count: KeyValueLimits.bytes + 1), forKey: "k") }?.code
                    == .quotaExceeded)
            try phone.set(Data(count: KeyValueLimits.bytes), forKey: "k")
            #expect(await operationError { try phone.set(1, forKey: "l") }?.code == .quotaExceeded)
            #expect(phone.dictionaryRepresentation.count == 1)
        }
    }

    /// After its tokens have expired, a device fetches all, and keeps what it has not sent.
    @Test func anExpiredTokenIsFollowedByTheWholeStore() async throws {
        try await Self.run { skylight, anna in
            let (phone, tablet) = (try await Self.store(skylight, anna), try await Self.store(skylight, anna))
            for key in ["a", "b"] { try phone.set(1, forKey: key) }
            try await phone.synchronize()
            try await tablet.synchronize()
            phone.removeObject(forKey: "a")
            try await phone.synchronize()
            try await skylight.trigger(.expireTokens, for: anna)
            try tablet.set(2, forKey: "c")
            var notes = tablet.changes.makeAsyncIterator()
            try await tablet.synchronize()
            #expect(await notes.next() == KeyValueStore.Change(reason: .serverChange, changedKeys: ["a"]))
            #expect(tablet.dictionaryRepresentation == ["b": .integer(1), "c": .integer(2)])
        }
    }

    @Test func aServerWithoutKeyValueStoresIsOneClearError() async throws {
        // A server with CloudKit's protocol alone, and one that knows no such service.
        try await SkylightServer.run(container: testContainer) { skylight in
            let store = try await KeyValueStore(skylight.device(of: skylight.makeUser("Anna")))
            try store.set(1, forKey: "k")
            let error = await operationError { try await store.synchronize() }
            #expect(
                error?.code == .serverRejectedRequest
                    && error?.reason.hasPrefix(OperationError.noKeyValueStores.reason) == true)
            #expect(store.longLong(forKey: "k") == 1)
        }
        let missing = ScriptedServer.Reply.json(
            #"{"serverErrorCode":"NOT_FOUND","reason":"No such container"}"#, status: 404)
        try await withAnswers(missing) { container, server in
            let store = try await KeyValueStore(container)
            let error = await operationError { try await store.synchronize() }
            #expect(
                error?.code == .serverRejectedRequest
                    && error?.reason == OperationError.noKeyValueStores.reason + ". It says: No such container")
            #expect(server.requests.count == 1)
        }
        // iCloud is not asked.
        let client = try ContainerClient(
            container: try #require(ContainerID(testContainer)), environment: .development,
            credentials: .apiToken("a0b1c2d3e4f5a6b7"),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let store = try await KeyValueStore(Container(client))
        #expect(
            await operationError { try await store.synchronize() }?.reason == OperationError.noKeyValueStores.reason)
        await client.close()
    }
}
