import CloudKitClient
import Records
import Testing

@testable import RemoteRecords

/// Changes that wait to be sent, and records that wait to be callbacks.
@Suite struct PendingChangesTests {
    private static func recordID(_ name: String) -> RecordID { RecordID(recordName: Name(name), zoneID: zone) }
    private static func names(_ changes: [PendingRecordZoneChange]) -> [Name] { changes.map(\.recordID.recordName) }

    private static func pending(_ names: String..., tracksChanges: Bool = false) -> PendingChanges {
        let entries = names.enumerated().map { place, name in
            PendingChanges.Entry(number: Int64(place) + 1, change: .saveRecord(recordID(name)), mayBeMade: false)
        }
        return PendingChanges(entries, tracksChanges: tracksChanges)
    }

    @Test func manyChangesOfARecordAreOne() {
        var pending = Self.pending("a", "b")
        pending.add(.saveRecord(Self.recordID("a")))
        #expect(Self.names(pending.all) == ["a", "b"])
        pending.add(.deleteRecord(Self.recordID("a")))
        #expect(pending.all == [.saveRecord(Self.recordID("b")), .deleteRecord(Self.recordID("a"))])
        #expect(pending[Self.recordID("a")] == .deleteRecord(Self.recordID("a")) && pending[Self.recordID("c")] == nil)
        pending.removeAll(in: [zone])
        #expect(pending.all.isEmpty && pending.first(1).isEmpty)
    }

    @Test func changesWithoutAnswerComeBackInTheirOrder() {
        var pending = Self.pending("a", "b", "c", "d")
        #expect(
            pending.begin([
                .saveRecord(Self.recordID("a")), .saveRecord(Self.recordID("b")), .saveRecord(Self.recordID("c")),
            ]).isEmpty)
        #expect(Self.names(pending.all) == ["d"] && pending.toKeep.map(\.mayBeMade) == [true, true, true, false])
        // The app changes one of them meanwhile.
        pending.add(.deleteRecord(Self.recordID("b")))
        pending.end(known: [Self.recordID("c")])
        #expect(
            pending.all == [
                .saveRecord(Self.recordID("a")), .saveRecord(Self.recordID("d")), .deleteRecord(Self.recordID("b")),
            ])
        // Both may have been made.
        #expect(pending.begin(pending.all) == [Self.recordID("a"), Self.recordID("b")])
        pending.end(known: Set(["a", "b", "d"].map { Self.recordID($0) }))
        #expect(pending.all.isEmpty && pending.toKeep.isEmpty)
    }

    /// A record may change between the question for it and the request.
    @Test func changesAfterTheQuestionStay() {
        var pending = Self.pending("a", "b", "c", "d")
        let asked = pending.moment
        pending.add(.saveRecord(Self.recordID("a")))
        pending.add(.deleteRecord(Self.recordID("b")))
        pending.add(.saveRecord(Self.recordID("d")))
        pending.removeSaves(of: [Self.recordID("d")], addedUntil: asked)
        _ = pending.begin(["a", "b", "c"].map { .saveRecord(Self.recordID($0)) }, askedAt: asked)
        pending.end(known: Set(["a", "b", "c"].map { Self.recordID($0) }))
        #expect(
            pending.all == [
                .saveRecord(Self.recordID("d")), .saveRecord(Self.recordID("a")), .deleteRecord(Self.recordID("b")),
            ])
        pending.removeSaves(of: [Self.recordID("d")], addedUntil: pending.moment)
        #expect(pending.all == [.saveRecord(Self.recordID("a")), .deleteRecord(Self.recordID("b"))])
    }

    /// Those that wait for others are before the changes that were made since, which are sent later.
    @Test func changesThatAreSentAgainComeBeforeLaterOnes() {
        var pending = Self.pending("a", "b", "c", tracksChanges: true)
        let last = pending.lastNumber
        _ = pending.begin(pending.first(2))
        pending.add(.saveRecord(Self.recordID("later")))
        pending.end(known: [Self.recordID("a"), Self.recordID("b")])
        let again = pending.addAgain([.saveRecord(Self.recordID("a"))], after: last)
        #expect(Self.names(pending.all) == ["c", "a", "later"])
        let numbers = ["c", "a", "later"].compactMap { pending.number(of: Self.recordID($0)) }
        #expect(numbers.map { $0 <= again } == [true, true, false] && numbers.sorted() == numbers)
        #expect(Set(pending.takeTouched().map(\.recordID.recordName)) == ["a", "b", "later"])
    }

    @Test func thousandsOfChangesKeepTheirOrder() {
        var pending = PendingChanges()
        for number in 0..<5000 { pending.add(.saveRecord(Self.recordID("r\(number)"))) }
        for number in 0..<5000 where number % 3 > 0 { pending.remove(Self.recordID("r\(number)")) }
        var sent: [Name] = []
        while case let next = pending.first(200), !next.isEmpty {
            _ = pending.begin(next)
            pending.end(known: Set(next.map(\.recordID)))
            sent += Self.names(next)
        }
        #expect(sent == (0..<5000).filter { $0 % 3 == 0 }.map { Name("r\($0)") })
    }

    /// A store that keeps each change by itself ends with what a store of the whole has.
    @Test func touchedChangesAreTheOnesToKeep() {
        var pending = Self.pending("a", "b", tracksChanges: true)
        var rows: [RecordID: PendingChanges.Entry] = [:]
        for entry in pending.toKeep { rows[entry.change.recordID] = entry }
        func keep() {
            for (recordID, entry) in pending.takeTouched() { rows[recordID] = entry }
            #expect(rows.values.sorted { $0.number < $1.number } == pending.toKeep)
        }
        keep()
        pending.add(.saveRecord(Self.recordID("c")))
        _ = pending.begin([.saveRecord(Self.recordID("a")), .deleteRecord(Self.recordID("x"))])
        keep()
        pending.add(.deleteRecord(Self.recordID("a")))
        keep()
        pending.end(known: [Self.recordID("x")])
        keep()
        pending.remove(Self.recordID("b"))
        keep()
        #expect(rows.count == 2 && pending.takeTouched().isEmpty)
    }

    @Test func aStateComesBackAsItWas() throws {
        var state = SyncState()
        state.userRecordName = "_a"
        state.add(.saveZone(zone))
        state.pending = Self.pending("a", "b", "c")
        _ = state.pending.begin([.saveRecord(Self.recordID("a"))])
        state.pending.add(.deleteRecord(Self.recordID("c")))
        let again = try SyncState(state.bytes)
        #expect(again.userRecordName == "_a" && again.pendingDatabaseChanges == [.saveZone(zone)])
        #expect(
            again.pending.all == [
                .saveRecord(Self.recordID("a")), .saveRecord(Self.recordID("b")), .deleteRecord(Self.recordID("c")),
            ])
        #expect(again.pending.toKeep.map(\.mayBeMade) == [true, false, false])
    }

    // MARK: Order of what was fetched

    private static func page(_ records: [Record], deleting deletions: [String] = []) -> Database.RecordZoneChanges {
        Database.RecordZoneChanges(
            modifications: records.map { ($0.recordID, .success($0)) },
            deletions: deletions.map { (recordID($0), nil) }, changeToken: SyncToken("t"),
            moreComing: false)
    }

    private static func record(_ name: String, parent: String? = nil, item: String? = nil) -> Record {
        var record = Record(recordType: "Item", recordID: recordID(name))
        record.parent = parent.map { Name($0) }
        record["items"] = item.map { [Reference(recordName: Name($0))] }
        return record
    }

    @Test func parentsComeFirst() throws {
        var changes = FetchedChanges()
        try changes.add(
            Self.page([
                Self.record("leaf", parent: "branch"), Self.record("other"),
                Self.record("branch", parent: "root", item: "other"),
            ]))
        try changes.add(Self.page([Self.record("root"), Self.record("gone")]))
        try changes.add(Self.page([Self.record("leaf", parent: "root")], deleting: ["gone"]))
        #expect(changes.parentsFirst.map(\.recordID.recordName) == ["root", "leaf", "other", "branch"])
        #expect(changes.count == 5 && changes.deletions.map(\.recordID.recordName) == ["gone"])
    }

    /// A record may be deleted on one page, and made anew on the next.
    @Test func aRecordThatIsThereAgainIsNotDeleted() throws {
        var changes = FetchedChanges()
        try changes.add(Self.page([Self.record("a")], deleting: ["b"]))
        try changes.add(Self.page([Self.record("b")], deleting: ["a"]))
        #expect(
            changes.records.map(\.recordID.recordName) == ["b"] && changes.deletions.map(\.recordID.recordName) == ["a"]
        )
    }

    @Test func circlesAndLongChainsComeToAnEnd() throws {
        var changes = FetchedChanges()
        try changes.add(Self.page([Self.record("a", parent: "b"), Self.record("b", parent: "a")]))
        #expect(Set(changes.parentsFirst.map(\.recordID.recordName)) == ["a", "b"])
        var chain = FetchedChanges()
        try chain.add(Self.page((0..<9000).map { Self.record("r\($0)", parent: "r\($0 + 1)") }))
        #expect(chain.parentsFirst.map(\.recordID.recordName) == (0..<9000).reversed().map { Name("r\($0)") })
    }
}
