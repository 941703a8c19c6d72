import CloudKitClient
import Foundation
import LoopbackServing
import Records
import SkylightTesting
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

// Several users of one file, one after another.

extension CacheTests {
    /// A server with a zone for Anna and for Ben, and a container of each.
    private static func twoUsers(_ body: @Sendable ([Container], TemporaryFolder) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        try await LiveServer.run { server in
            try await server.device(of: 0) { anna in
                try await server.device(of: 1) { ben in
                    let containers = [Container(anna), Container(ben)]
                    for container in containers { try await container.privateCloudDatabase.save(zone) }
                    try await body(containers, folder)
                }
            }
        }
    }

    /// A saved change, a new record and a deletion wait until their user is back, and are sent then.
    @Test func unsentChangesComeBackWithTheirUser() async throws {
        try await Self.twoUsers { containers, folder in
            var users: [RecordID] = []
            for container in containers { users.append(try await container.userRecordID()) }
            do {
                let anna = try await Self.cache("file", containers[0], folder)
                for name in ["a", "b", "c"] as [Name] { try await Self.edit(anna, name, "text", "old") }
                try await anna.sync()
                try await Self.edit(anna, "a", "text", "new")
                try await anna.delete(Self.recordID("b"))
                try await Self.edit(anna, "d", "text", "new")
                try await anna.change(.saveZone(ZoneID(zoneName: "More")))
            }
            do {
                let ben = try await Self.cache("file", containers[1], folder)
                try await ben.sync()
                let texts = try await Self.texts(ben)
                #expect(texts.isEmpty && ben.engine.state.isEmpty)
                let aside = try await ben.changesSetAside()
                #expect(
                    aside == [
                        users[0]: [
                            .saveRecord(Self.recordID("a")), .deleteRecord(Self.recordID("b")),
                            .saveRecord(Self.recordID("d")),
                        ]
                    ])
                try await Self.edit(ben, "a", "text", "Ben's")
                try await ben.sync()
                try await Self.edit(ben, "a", "text", "Ben's later")
            }
            // Another device of Anna's changes the record meanwhile.
            let other = try await Self.cache("other", containers[0], folder)
            try await other.sync()
            try await Self.edit(other, "a", "more", "theirs")
            try await other.sync()

            let anna = try await Self.cache("file", containers[0], folder)
            try await anna.sync()
            #expect(try await anna.changesSetAside().keys.map { $0 } == [users[1]])
            #expect(anna.engine.state.isEmpty)
            try await other.sync()
            for cache in [anna, other] {
                let (texts, more) = (try await Self.texts(cache), try await Self.texts(cache, "more"))
                #expect(texts == ["a": "new", "c": "old", "d": "new"] && more == ["a": "theirs"])
            }
            let zones = try await containers[0].privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName)
            #expect(zones.contains("More"))
            let bens = try await containers[1].privateCloudDatabase.record(for: Self.recordID("a"))
            #expect(bens["text"] == "Ben's" as String?)
        }
    }

    /// What was refused is still known when the user is back.
    @Test func refusalsComeBackWithTheirUser() async throws {
        let user = Mutex("_a")
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") {
                return .json(#"{"users":[{"userRecordName":"\#(user.withLock { $0 })"}]}"#)
            }
            if request.path.hasSuffix("changes/database") {
                return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
            }
            return records(#""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"no""#)
        }) { container, _ in
            let folder = try TemporaryFolder()
            for (name, count) in [("_a", 1), ("_b", 0), ("_a", 1)] {
                user.withLock { $0 = name }
                let cache = try await Self.cache("file", container, folder)
                if name == "_a", try await cache.changesSetAside().isEmpty {
                    try await Self.edit(cache, "a", "text", "one")
                }
                try await cache.sync()
                let (refusals, texts) = (try await cache.refusals(), try await Self.texts(cache))
                #expect(refusals.count == count && texts.count == count)
            }
        }
    }

    /// The app knows when another user is there, and may discard what the one before left.
    @Test func listenersLearnOfAnotherUser() async throws {
        try await Self.twoUsers { containers, folder in
            let users = (try await containers[0].userRecordID(), try await containers[1].userRecordID())
            try await Self.edit(Self.cache("file", containers[0], folder), "a", "text", "nobody's")
            do {
                let anna = try await Self.cache("file", containers[0], folder)
                try await anna.engine.fetchChanges()
                try await Self.edit(anna, "a", "text", "Anna's")
            }
            let ben = try await Self.cache("file", containers[1], folder)
            var events = ben.events().makeAsyncIterator()
            try await ben.sync()
            var words: [String] = []
            while let event = await events.next() {
                if case .accountChange(let change) = event {
                    #expect(change.changeType == .switchAccounts(previousUser: users.0, currentUser: users.1))
                    let texts = try await Self.texts(ben)
                    #expect(texts.isEmpty)
                }
                words.append(event.words ?? "")
                if case .didSendChanges = event { break }
            }
            #expect(words.first == "switch accounts" && words.contains("will fetch"))
            #expect(words.suffix(3) == ["did fetch", "will send", "did send"])
            let others = try await ben.changesSetAside()
            #expect(others == [users.0: [.saveRecord(Self.recordID("a"))]])
            try await ben.discardChangesSetAside(of: users.0)
            #expect(try await ben.changesSetAside().isEmpty)
        }
    }

    /// The app changes a record while the engine learns of another user: it belongs to one of the two.
    @Test func aChangeDuringAnAccountChangeIsKept() async throws {
        let user = Mutex("_a")
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") {
                return .json(#"{"users":[{"userRecordName":"\#(user.withLock { $0 })"}]}"#)
            }
            return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
        }) { container, _ in
            let folder = try TemporaryFolder()
            do {
                let first = try await Self.cache("file", container, folder)
                try await first.engine.fetchChanges()
            }
            user.withLock { $0 = "_b" }
            let cache = try await Self.cache("file", container, folder)
            let fetching = Task { try await cache.engine.fetchChanges() }
            for number in 0..<100 { try await Self.edit(cache, Name("r\(number)"), "text", "one") }
            try await fetching.value
            let aside = try await cache.changesSetAside().values.flatMap { $0 }
            let pending = cache.engine.state.pendingRecordZoneChanges
            #expect(Set(aside + pending).count == 100 && aside.count + pending.count == 100)
            let texts = try await Self.texts(cache)
            #expect(Set(texts.keys) == Set(pending.map(\.recordID.recordName)))
        }
    }

    /// An app that knows its user need not ask the server, nor wait for a network.
    @Test func aFileIsOpenedForAUser() async throws {
        try await Self.twoUsers { containers, folder in
            let users = (try await containers[0].userRecordID(), try await containers[1].userRecordID())
            func opened(_ number: Int, _ user: RecordID) async throws -> RecordCache {
                try await RecordCache(
                    folder.url.appending(path: "file"), of: containers[number].privateCloudDatabase, user: user)
            }
            try await Self.edit(opened(0, users.0), "a", "text", "Anna's")
            do {
                let ben = try await opened(1, users.1)
                var texts = try await Self.texts(ben)
                #expect(texts.isEmpty && ben.engine.state.isEmpty)
                try await Self.edit(ben, "a", "text", "Ben's")
                try await ben.sync()
                texts = try await Self.texts(ben)
                #expect(texts == ["a": "Ben's"])
                try await Self.edit(ben, "b", "text", "Ben's")
            }
            let anna = try await opened(0, users.0)
            try await Self.edit(anna, "b", "text", "Anna's")
            try await anna.sync()
            let texts = try await Self.texts(anna)
            let aside = try await anna.changesSetAside()
            #expect(texts == ["a": "Anna's", "b": "Anna's"] && anna.engine.state.isEmpty)
            #expect(aside == [users.1: [.saveRecord(Self.recordID("b"))]])
        }
    }

    /// Signing out drops nothing that was not sent.
    @Test func unsentChangesOutliveASignOut() async throws {
        try await Self.twoUsers { containers, folder in
            let cache = try await Self.cache("file", containers[0], folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            try await Self.edit(cache, "a", "text", "two")
            try await cache.engine.signOut()
            var texts = try await Self.texts(cache)
            #expect(texts.isEmpty && cache.engine.state.isEmpty)
            // Nobody is signed in, and the app changes the same record.
            try await Self.edit(cache, "a", "more", "three")
            try await cache.sync()
            let more = try await Self.texts(cache, "more")
            texts = try await Self.texts(cache)
            #expect(texts == ["a": "two"] && more == ["a": "three"] && cache.engine.state.isEmpty)
        }
    }

    /// The program may end at any moment of an account change, and begins anew with its file.
    @Test(arguments: 0..<8) func aProgramThatEndsDuringAnAccountChangeLosesNothing(events: Int) async throws {
        try await Self.twoUsers { containers, folder in
            func opened(_ user: Int) async throws -> RecordCache {
                try await RecordCache(
                    folder.url.appending(path: "file"), of: containers[user].privateCloudDatabase,
                    resolver: RecordCache.mergingKeys
                ) { MortalApp($0) }
            }
            func end(_ cache: RecordCache) async throws {
                try #require(cache.engine.delegate as? MortalApp).kill(afterEvents: events, sendsMore: true)
                _ = await Task { try await cache.sync() }.result
            }
            do {
                let anna = try await opened(0)
                try await Self.edit(anna, "a", "text", "old")
                try await anna.sync()
                try await Self.edit(anna, "a", "text", "new")
                try await Self.edit(anna, "b", "text", "new")
            }
            try await end(opened(1))
            try await end(opened(0))
            try await end(opened(1))
            let anna = try await opened(0)
            try await anna.sync()
            let texts = try await Self.texts(anna)
            #expect(texts == ["a": "new", "b": "new"] && anna.engine.state.isEmpty)
            for name in ["a", "b"] as [Name] {
                let record = try await containers[0].privateCloudDatabase.record(for: Self.recordID(name))
                #expect(record["text"] == "new" as String?)
            }
        }
    }
}
