import CloudKitClient
import Foundation
import LoopbackServing
import Records
import Synchronization
import TestSupport
import Testing

@testable import RemoteRecords

// Changes that meet those of other devices, and changes that the server refuses.

extension CacheTests {
    /// Each side changed another key: both changes stay, whoever is first.
    @Test(arguments: [true, false]) func keysAreMerged(fetchesFirst: Bool) async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (
                try await Self.cache("first", container, folder), try await Self.cache("second", container, folder)
            )
            try await Self.edit(first, "a", "text", "old")
            try await first.sync()
            try await second.sync()
            try await Self.edit(first, "a", "text", "new")
            try await Self.edit(second, "a", "more", "mine")
            try await first.sync()
            if fetchesFirst {
                try await second.engine.fetchChanges()
            } else {
                #expect(await operationError { try await second.engine.sendChanges() }?.code == .partialFailure)
            }
            try await second.engine.sendChanges()
            try await second.engine.fetchChanges()
            try await first.sync()
            for cache in [first, second] {
                let record = try await cache.record(for: Self.recordID("a"))
                #expect(
                    record?["text"] == "new" as String? && record?["more"] == "mine" as String?
                        && record?.hasChanges == false)
            }
        }
    }

    /// There is nothing left to send, and nothing to ask the resolver for.
    @Test func twoDevicesThatMakeTheSameChangeMakeOneVersion() async throws {
        try await Self.live { server, container, folder in
            let first = try await Self.cache("first", container, folder)
            let second = try await RecordCache(
                folder.url.appending(path: "second.sqlite"), of: container.privateCloudDatabase
            ) { meeting in
                Issue.record("asked for nothing")
                return RecordCache.mergingKeys(meeting)
            }
            try await Self.edit(first, "a", "text", "old")
            try await first.sync()
            try await second.sync()
            for cache in [first, second] { try await Self.edit(cache, "a", "text", "new") }
            try await first.sync()
            // It does not fetch first, so that the server finds a conflict.
            #expect(await operationError { try await second.engine.sendChanges() }?.code == .partialFailure)
            let record = try await second.record(for: Self.recordID("a"))
            #expect(record?.hasChanges == false && second.engine.state.pendingRecordZoneChanges.isEmpty)
            #expect(try await server.versions(of: Self.recordID("a")) == 2)
        }
    }

    /// Records that the server had go with their zone. New ones stay if the zone is made anew.
    @Test func newRecordsOutliveAZoneThatAnotherDeviceDeleted() async throws {
        try await Self.live { _, container, folder in
            let (first, second) = (
                try await Self.cache("first", container, folder), try await Self.cache("second", container, folder)
            )
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
                #expect(texts == ["b": "new"] && cache.engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    @Test func changesOfRecordsThatWereDeletedAreGivenUpOrKept() async throws {
        try await Self.live { _, container, folder in
            let first = try await Self.cache("first", container, folder)
            let keeping = try await RecordCache(
                folder.url.appending(path: "keeping.sqlite"), of: container.privateCloudDatabase
            ) { meeting in
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

    /// It is put on the server's version, or made anew. A resolver that is asked more often has been refused for the
    /// same reason.
    @Test(arguments: [true, false]) func aResolverMayReturnTheRecordThatItWasGiven(isDeleted: Bool) async throws {
        try await Self.live { _, container, folder in
            let first = try await Self.cache("first", container, folder)
            let calls = Mutex(0)
            let second = try await RecordCache(
                folder.url.appending(path: "second.sqlite"), of: container.privateCloudDatabase
            ) { meeting in
                guard
                    calls.withLock({ calls in
                        calls += 1
                        return calls <= 3
                    })
                else { return nil }
                switch meeting {
                case .changed(let conflict): return conflict.clientRecord
                case .deleted(let mine): return mine
                }
            }
            try await Self.edit(first, "a", "text", "old")
            try await Self.edit(first, "a", "more", "old")
            try await first.sync()
            try await second.sync()
            if isDeleted {
                try await first.delete(Self.recordID("a"))
            } else {
                try await Self.edit(first, "a", "more", "new")
            }
            try await first.sync()
            try await Self.edit(second, "a", "text", "mine")
            #expect(await operationError { try await second.engine.sendChanges() }?.code == .partialFailure)
            try await second.engine.sendChanges()
            try await first.sync()
            let (texts, more) = (try await Self.texts(first), try await Self.texts(first, "more"))
            #expect(texts == ["a": "mine"] && more == ["a": isDeleted ? "old" : "new"] && calls.withLock { $0 } == 1)
        }
    }

    @Test func refusedChangesAreKnown() async throws {
        try await withScript({ request, _ in
            if request.path.hasSuffix("users/caller") { return .json(#"{"users":[{"userRecordName":"_a"}]}"#) }
            if request.path.hasSuffix("changes/database") {
                return .json(#"{"zones":[],"syncToken":"t","moreComing":false}"#)
            }
            return records(
                #""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted""#)
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
                return .json(
                    #"{"zones":[{"zoneID":{"zoneName":"Items"},"records":[{\#(record)}],"syncToken":"z\#(current ?? 0)","moreComing":false}]}"#
                )
            }
            return request.body.contains("refused")
                ? records(
                    #""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted""#)
                : records(item("a", tag: "1"))
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
            #expect(
                Array(refusals.keys) == [Self.recordID("bad")] && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// The user may not write in one of two zones any more. The server says so of the request, not of the records, also
    /// when it is asked what became of an earlier one.
    @Test func aRequestThatIsRefusedKeepsNothingBack() async throws {
        let isBusy = Mutex(true)
        try await Self.withSaves({ request in
            if isBusy.withLock({ $0 }) { return .error("TRY_AGAIN_LATER", status: 503) }
            if request.body.contains(#""Closed""#) { return .error("ACCESS_DENIED", status: 403) }
            return records(item("b", tag: "1"))
        }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            let closed = RecordID(recordName: "a", zoneID: ZoneID(zoneName: "Closed"))
            try await cache.save([
                Record(recordType: "Item", recordID: closed), Record(recordType: "Item", recordID: Self.recordID("b")),
            ])
            #expect(await operationError { try await cache.sync() }?.code == .serviceUnavailable)
            #expect(cache.engine.state.pendingRecordZoneChanges.count == 2)
            isBusy.withLock { $0 = false }
            try await cache.sync()
            let (refusals, saved) = (try await cache.refusals(), try await cache.record(for: Self.recordID("b")))
            #expect(
                Array(refusals.keys) == [closed] && saved?.recordChangeTag == "1"
                    && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// A server at fault, and the page of a hotel's network, say nothing of the changes.
    @Test(arguments: [true, false]) func anAnswerThatIsNotAboutTheChangesRefusesNone(isOfServer: Bool) async throws {
        try await Self.withSaves({ _ in isOfServer ? .error("INTERNAL_ERROR", status: 500) : .raw("<html>", status: 403)
        }) { container, _, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            #expect(
                await operationError { try await cache.sync() }?.code
                    == (isOfServer ? .internalError : .serverRejectedRequest))
            let refusals = try await cache.refusals()
            #expect(
                refusals.isEmpty && cache.engine.state.pendingRecordZoneChanges == [.saveRecord(Self.recordID("a"))])
        }
    }

    /// Otherwise the record would be gone here, and stay there.
    @Test func aRefusedDeletionBringsTheRecordBack() async throws {
        try await Self.withSaves({ request in
            request.body.contains("forceDelete")
                ? records(
                    #""recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"WRITE operation not permitted""#)
                : records(item("a", tag: "1"))
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
            #expect(
                back == ["a": "one"] && refusals.keys.first == Self.recordID("a")
                    && again.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// A copy that was read earlier does not take back what was changed since.
    @Test func twoEditsOfOneVersionAreBothKept() async throws {
        try await Self.withSaves({ _ in records(item("a", tag: "1")) }) { container, server, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            var (first, second) = (
                try #require(try await cache.record(for: Self.recordID("a"))),
                try #require(try await cache.record(for: Self.recordID("a")))
            )
            first["text"] = "two"
            second["more"] = "three"
            try await cache.save(first)
            try await cache.save(second)
            let record = try await cache.record(for: Self.recordID("a"))
            #expect(
                record?["text"] == "two" as String? && record?["more"] == "three" as String?
                    && record?.changedKeys == ["text", "more"])
            try await cache.sync()
            #expect(server.requests.filter { $0.path.hasSuffix("records/modify") }.count == 2)
        }
    }

    /// One part of a program changes a record while another has a copy of it, or its own value that it never read back.
    /// A sync comes in between.
    @Test(arguments: [true, false]) func anEditOfAnOlderCopyKeepsUnsentChanges(wasRead: Bool) async throws {
        try await Self.live { _, container, folder in
            let (cache, other) = (
                try await Self.cache("first", container, folder), try await Self.cache("other", container, folder)
            )
            var copy = Record(recordType: "Item", recordID: Self.recordID("a"))
            copy["text"] = "one"
            try await cache.save(copy)
            try await cache.sync()
            if wasRead { copy = try #require(try await cache.record(for: Self.recordID("a"))) }
            try await other.sync()
            try await Self.edit(cache, "a", "more", "unsent")
            try await Self.edit(other, "a", "third", "theirs")
            try await other.sync()
            try await cache.engine.fetchChanges()
            copy["text"] = "two"
            try await cache.save(copy)
            let waiting = try await cache.record(for: Self.recordID("a"))
            #expect(waiting?["text"] == "two" as String? && waiting?["more"] == "unsent" as String?)
            try await cache.sync()
            try await other.sync()
            for cache in [cache, other] {
                let record = try await cache.record(for: Self.recordID("a"))
                let values = ["text", "more", "third"].map { record?[$0] as String? }
                #expect(
                    values == ["two", "unsent", "theirs"] && record?.hasChanges == false
                        && cache.engine.state.pendingRecordZoneChanges.isEmpty)
            }
        }
    }

    /// It would be here and nowhere else until the record changes again.
    @Test func aCopyWithoutChangesDoesNotBringAnOlderVersionBack() async throws {
        try await Self.live { _, container, folder in
            let (cache, other) = (
                try await Self.cache("first", container, folder), try await Self.cache("other", container, folder)
            )
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            let copy = try #require(try await cache.record(for: Self.recordID("a")))
            try await other.sync()
            try await Self.edit(other, "a", "text", "two")
            try await other.sync()
            try await cache.sync()
            try await cache.save(copy)
            try await cache.sync()
            let texts = try await Self.texts(cache)
            #expect(texts == ["a": "two"] && cache.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// The server would refuse the copy, as its record is gone, and the new one with it.
    @Test func anEditOfADeletedRecordKeepsTheOneThatWasMadeAnew() async throws {
        try await Self.live { _, container, folder in
            let cache = try await Self.cache("first", container, folder)
            try await Self.edit(cache, "a", "text", "one")
            try await cache.sync()
            var copy = try #require(try await cache.record(for: Self.recordID("a")))
            try await cache.delete(Self.recordID("a"))
            try await cache.sync()
            try await Self.edit(cache, "a", "more", "anew")
            copy["text"] = "two"
            try await cache.save(copy)
            try await cache.sync()
            let record = try await cache.record(for: Self.recordID("a"))
            #expect(
                record?["text"] == "two" as String? && record?["more"] == "anew" as String?
                    && record?.hasChanges == false)
        }
    }
}
