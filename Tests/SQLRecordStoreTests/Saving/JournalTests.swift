import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// The contents of a file's journal, and its limits.
@Suite struct JournalTests {
    private let clock = TestClock()
    private let folder: TemporaryFolder
    private let day: Int64 = 86_400_000

    init() throws { folder = try TemporaryFolder() }

    private func open(_ limits: JournalLimits = .standard, tokenLifetime: Duration? = nil) throws -> SQLRecordEngine {
        try StoreUnderTest.engine(
            folder: folder.url, tokenLifetime: tokenLifetime, journal: limits, clock: { [clock] in clock.now() })
    }

    /// A file from a version that did not count bytes.
    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func aFileOfBeforeCountsItsBytesNow() async throws
    {
        var engine = try open()
        var database = try await engine.withZone()
        let asset = try await engine.upload(7, for: "f", at: clock.now())
        try await database.save("f", in: notes, ["file": .asset(asset)])
        for name in ["a", "b", "gone"] as [Name] {
            try await database.save(name, in: notes, ["text": .string("text of \(name)")])
        }
        try await database.save("o", type: "Other", ["text": .string("text")])
        try await database.delete("gone", in: notes)
        let before = try await database.require(.measureStorage).storage(limit: 10)
        #expect(before.zones.first?.types["Item"]?.assetBytes == 70)
        await engine.close()
        let file = folder.url.appending(path: "iCloud.com.example.Test/development.sqlite").path(percentEncoded: false)
        let queue = try DatabaseQueue(path: file)
        try await queue.write { db in
            try db.execute(
                sql: """
                    ALTER TABLE typeCounts DROP COLUMN bytes; ALTER TABLE typeCounts DROP COLUMN assetBytes;
                    DELETE FROM grdb_migrations WHERE identifier = '6';
                    """)
        }
        try queue.close()
        engine = try open()
        database = try await engine.full(.private)
        #expect(try await database.require(.measureStorage).storage(limit: 10) == before)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    /// With another order, SQLite would have to load all fields into memory.
    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func bytesAreCountedInTheOrderOfTheFile()
        async throws
    {
        let engine = try open()
        let store = try await #require(engine.withZone() as? SQLDatabase).store
        for sql in [StoreMigrations.recordSizes, StoreMigrations.assetSizes] {
            let plan = try await store.pool.read { db in
                try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN " + sql).map { $0["detail"] as String }
            }
            #expect(
                !plan.isEmpty && !plan.contains { $0.contains("TEMP B-TREE") || $0.contains("AUTOMATIC") }, "\(plan)")
            // A scan in another order than that of the rows would jump through the whole file.
            #expect(!plan.contains { $0.hasPrefix("SCAN records USING") || $0.hasPrefix("SCAN r ") }, "\(plan)")
        }
        await engine.close()
    }

    private func rows(_ database: any RecordDatabase, _ sql: String = "SELECT count(*) FROM journal") async throws
        -> Int
    {
        try await #require(database as? SQLDatabase).store.look { db in try Int.fetchOne(db, sql: sql) ?? 0 }
    }

    private func journal(_ name: Name, _ database: any RecordDatabase) async throws -> [RecordJournalEntry] {
        try await database.require(.keepJournal).journal(
            RecordJournalRequest(RecordID(recordName: name, zoneID: notes))
        ).entries
    }

    @Test func anEntryNamesItsRequest() async throws {
        let engine = try open()
        let database = try await engine.withZone()
        let requests = [
            "0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0", nil, "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "by hand é",
        ]
        for requestID in requests {
            let operation = RecordOperation(.forceUpdate, recordName: "r", recordType: "Item")
            for outcome in try await database.modify(ModifyRequest([operation], zoneID: notes, requestID: requestID)) {
                _ = try outcome.get()
            }
        }
        let delete = ModifyRequest([RecordOperation(.forceDelete, recordName: "r")], zoneID: notes, requestID: "last")
        for outcome in try await database.modify(delete) { _ = try outcome.get() }
        #expect(try await journal("r", database).map(\.requestID) == ["last"] + requests.reversed())
        // Request identifiers of servers take 16 bytes.
        if StoreUnderTest.isSQLite {
            #expect(
                try await rows(database, "SELECT length(request) FROM journal WHERE typeof(request) = 'blob'") == 16)
        }
        await engine.close()
    }

    @Test func aSaveOfANewRecordWritesNothingIntoIt() async throws {
        let engine = try open()
        let database = try await engine.withZone()
        for number in 0..<10 { try await database.save(Name("r\(number)"), in: notes) }
        #expect(try await rows(database) == 0)
        try await database.save("r1", in: notes)
        #expect(try await rows(database) == 1)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func switchedOffItKeepsNothingAndForgetsWhatItHad() async throws {
        var engine = try open()
        var database = try await engine.withZone()
        for _ in 0..<3 { try await database.save("r", in: notes) }
        #expect(try await journal("r", database).count == 3)
        await engine.close()

        engine = try open(JournalLimits(days: 0))
        database = try await engine.full(.private)
        try await eventually { try await rows(database) == 0 }
        try await database.save("r", in: notes)
        try await database.delete("r", in: notes)
        let page = try await database.require(.keepJournal).journal(
            RecordJournalRequest(RecordID(recordName: "r", zoneID: notes)))
        #expect(page.entries.map(\.kind) == [.deleted] && page.limits.isOff && page.before == nil)
        #expect(try await rows(database) == 0)
        let refused = await refusal {
            _ = try await database.require(.keepJournal).revert(
                RecordReversion(RecordID(recordName: "r", zoneID: notes), to: 1, recordChangeTag: nil))
        }
        #expect(refused?.reason.contains("keeps no earlier versions") == true)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func itTakesNoMoreThanItsBytes() async throws {
        let engine = try open(JournalLimits(days: 30, bytes: 20_000))
        let database = try await engine.withZone()
        let text = FieldValue.string(String(repeating: "x", count: 1000))
        for round in 0..<40 {
            for name in ["a", "b", "c"] as [Name] {
                try await database.save(name, in: notes, ["text": text, "round": .int64(Int64(round))])
            }
            #expect(try await rows(database, "SELECT sum(journalBytes) FROM zones") <= 20_000)
        }
        // The latest versions of all records exist.
        for name in ["a", "b", "c"] as [Name] { #expect(try await journal(name, database).count >= 5) }
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func aRemovedTypeTakesNoMoreThanTheBytesEither() async throws {
        let engine = try open(JournalLimits(days: 30, bytes: 20_000))
        let database = try await engine.withZone()
        let text = FieldValue.string(String(repeating: "x", count: 1000))
        for _ in 0..<3 { try await database.save("other", type: "Other", in: notes, ["text": text]) }
        for number in 0..<40 { try await database.save(Name("r\(number)"), in: notes, ["text": text]) }
        // The last record already has history, which must not become unreachable.
        try await database.save("r9", in: notes, ["text": text])
        try await database.edit(.removeType("Item"))
        let bytes = try await rows(database, "SELECT sum(journalBytes) FROM zones")
        #expect(bytes <= 20_000 && bytes > 15_000)
        #expect(try await StoreRecount.problems(of: database) == [])
        #expect(try await journal("other", database).count == 3, "the past of others stays")
        #expect(try await journal("r0", database).map(\.kind) == [.deleted, .created])
        #expect(try await journal("r9", database).map(\.kind) == [.deleted])
        let state = try await #require(database as? SQLDatabase).store.write { _, state in state.journalBytes }
        #expect(state == Int64(bytes))
        await engine.close()
    }

    /// Saves wait during a step of the sweep.
    @Test func largeVersionsAreSweptFewAtATime() async throws {
        let engine = try open()
        let database = try await engine.withZone()
        let data = FieldValue.bytes([UInt8](repeating: 7, count: 700_000))
        for round in 0..<16 { try await database.save("r", in: notes, ["data": data, "round": .int64(Int64(round))]) }
        let store = try #require(database as? SQLDatabase).store
        let isLeft = try await store.write { db, state in
            try JournalRows.sweep(before: Timestamp(milliseconds: .max), &state, db)
        }
        #expect(isLeft)
        let left = try await rows(database)
        #expect(left > 0 && left < 15)
        #expect(try await StoreRecount.problems(of: database) == [])
        let rest = try await store.write { db, state in
            try JournalRows.sweep(before: Timestamp(milliseconds: .max), &state, db)
        }
        #expect(!rest)
        #expect(try await rows(database) == 0)
        await engine.close()
    }

    @Test func aRecordSavedOverAndOverKeepsItsLatestVersions() async throws {
        let engine = try open(JournalLimits(days: 30, versions: 10))
        let database = try await engine.withZone()
        for round in 0..<200 { try await database.save("r", in: notes, ["round": .int64(Int64(round))]) }
        #expect(try await journal("r", database).count == 11)
        #expect(try await rows(database) <= 12)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func oldVersionsAreSweptWhenTheFileIsOpened() async throws {
        var engine = try open()
        var database = try await engine.withZone()
        for name in ["a", "b"] as [Name] {
            for _ in 0..<3 { try await database.save(name, in: notes) }
        }
        clock.advance(29 * day)
        try await database.save("a", in: notes)
        clock.advance(2 * day)
        await engine.close()
        engine = try open()
        database = try await engine.full(.private)
        try await eventually { try await rows(database) == 1 }
        #expect(try await journal("a", database).count == 2)
        #expect(try await StoreRecount.problems(of: database) == [])
        // New versions are kept in addition to the remaining ones.
        try await database.save("b", in: notes)
        #expect(try await journal("b", database).map(\.kind) == [.modified, .modified])
        await engine.close()
    }

    @Test func whatIsForgottenHasNoPast() async throws {
        var engine = try open()
        var database = try await engine.withZone()
        for _ in 0..<3 { try await database.save("gone", in: notes) }
        try await database.delete("gone", in: notes)
        try await database.save("kept", in: notes)
        try await database.save("kept", in: notes)
        clock.advance(8 * day)
        await engine.close()
        // Deletions are forgotten after a week, while the journal would keep them for three more weeks.
        engine = try open(tokenLifetime: .seconds(7 * 86_400))
        database = try await engine.full(.private)
        try await eventually { try await rows(database) == 1 }
        #expect(try await journal("gone", database).isEmpty)
        #expect(try await journal("kept", database).count == 2)
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }

    @Test func aZoneThatEndedLeavesNoStates() async throws {
        let engine = try open()
        let database = try await engine.withZone()
        let other = ZoneID(zoneName: "Other")
        _ = try await database.modifyZones([.create(other)])
        for number in 0..<30 {
            for _ in 0..<3 { try await database.save(Name("r\(number)"), in: notes) }
        }
        try await database.save("r", in: other)
        try await database.save("r", in: other)
        try await database.require(.purgeZones).purge(notes)
        try await eventually { try await rows(database) == 1 }
        try await eventually { try await StoreRecount.hasSwept(database) }
        #expect(try await rows(database, "SELECT sum(journalBytes) FROM zones") == 102)
        #expect(try await StoreRecount.problems(of: database) == [])
        let state = try await #require(database as? SQLDatabase).store.write { _, state in state.journalBytes }
        #expect(state == 102)
        await engine.close()
    }

    /// A command that opens the folder after a server uses the server's setting.
    @Test func aFileRemembersForHowLongItKeeps() async throws {
        var engine = try open(JournalLimits(days: 365))
        var database = try await engine.withZone()
        for _ in 0..<3 { try await database.save("r", in: notes) }
        clock.advance(100 * day)
        await engine.close()
        engine = try StoreUnderTest.engine(folder: folder.url, clock: { [clock] in clock.now() })
        database = try await engine.full(.private)
        try await database.save("r", in: notes)
        let page = try await database.require(.keepJournal).journal(
            RecordJournalRequest(RecordID(recordName: "r", zoneID: notes)))
        #expect(page.entries.count == 4 && page.limits == JournalLimits(days: 365))
        await engine.close()
    }

    /// A file from a version without a journal.
    @Test(.enabled(if: StoreUnderTest.isSQLite, "it is about files")) func aFileOfBeforeBeginsItsJournalNow()
        async throws
    {
        var engine = try open()
        var database = try await engine.withZone()
        try await database.save("r", in: notes, ["a": .int64(1)])
        await engine.close()
        let file = folder.url.appending(path: "iCloud.com.example.Test/development.sqlite").path(percentEncoded: false)
        let queue = try DatabaseQueue(path: file)
        try await queue.write { db in
            try db.execute(
                sql: """
                    DROP TABLE unsentEdits; DROP TABLE mirrorMarks; DROP TABLE sightings; ALTER TABLE zones DROP COLUMN isMirror;
                    ALTER TABLE records DROP COLUMN tag; DELETE FROM grdb_migrations WHERE identifier = '10';
                    DROP TABLE journal; ALTER TABLE records DROP COLUMN request; ALTER TABLE records DROP COLUMN version;
                    ALTER TABLE zones DROP COLUMN journalBytes; DELETE FROM grdb_migrations WHERE identifier IN ('5', '18');
                    """)
        }
        try queue.close()
        engine = try open()
        database = try await engine.full(.private)
        #expect(try await journal("r", database).map(\.kind) == [.created])
        try await database.save("r", in: notes, ["a": .int64(2)])
        #expect(
            try await journal("r", database).map { try $0.fields.values(of: ["a"]) } == [
                ["a": .int64(2)], ["a": .int64(1)],
            ])
        #expect(try await StoreRecount.problems(of: database) == [])
        await engine.close()
    }
}
