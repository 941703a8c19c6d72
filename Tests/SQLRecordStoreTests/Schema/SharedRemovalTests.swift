import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Removing a type or a field of records that guests see: all at once, and in steps.
@Suite struct SharedRemovalTests {
    private let folder: TemporaryFolder
    private let clock = TestClock()

    init() throws { folder = try TemporaryFolder() }

    /// A shelf with 30 books, each with a file and a page, that Ada shares with Grace and Mary.
    private func filled(_ engine: SQLRecordEngine) async throws -> SharingStage {
        let stage = try await SharingStage(on: engine)
        try await stage.owner.save("shelf", type: "Shelf", in: notes)
        for number in 0..<30 {
            let (book, page) = (Name("book\(number)"), Name("page\(number)"))
            let file = try await engine.upload(UInt8(number + 1), for: book, type: "Book", in: notes, at: clock.now())
            let fields: [Name: FieldValue] = ["file": .asset(file), "text": .string("word\(number) here")]
            try await stage.owner.save(book, type: "Book", in: notes, fields, parent: .record("shelf"))
            try await stage.owner.save(page, type: "Page", in: notes, parent: .record(book))
        }
        let share = try await stage.share("shelf", with: [grace, mary].map { SharingStage.invitation($0, .readOnly) })
        for guest in [grace, mary] { try await stage.accept(share, as: guest) }
        return stage
    }

    private func check(_ stage: SharingStage) async throws {
        #expect(try await IndexRecount.problems(of: stage.owner) == [])
        #expect(try await StoreRecount.problems(of: stage.owner) == [])
        guard let database = stage.owner as? SQLDatabase else { return }
        let remains = try await database.store.look { db in
            try Int.fetchOne(
                db,
                sql: """
                    SELECT count(*) FROM records WHERE zone IN (SELECT number FROM zones WHERE state = 0) AND (
                    state & 1 = 1 AND (hierarchy IS NOT NULL OR sharing IS NOT NULL OR tag IS NOT NULL)
                    OR type NOT IN (SELECT number FROM types WHERE removed = 0) AND state & 1 = 0)
                    """)
        }
        #expect(remains == 0)
    }

    @Test(arguments: [IndexLimits(), IndexLimits(recordsAtOnce: 0, rowsInStep: 7)])
    func countsStayRight(limits: IndexLimits) async throws {
        let clock = clock
        let engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), indexLimits: limits, clock: { clock.now() })
        let stage = try await filled(engine)
        let books = (0..<30).map { Name("book\($0)") }
        try await check(stage)
        try await stage.owner.edit(.removeField("file", in: "Book"), .removeField("text", in: "Book"))
        try await settle(stage)
        try await check(stage)
        // A refused removal has not begun.
        let refused = await refusal {
            try await stage.owner.edit(.removeType("Book"), .removeType("Shelf"))
        }
        #expect(refused?.code == .badRequest)
        #expect(try await stage.owner.names(in: notes, of: books) == books)
        let tokens = [
            try await stage.shared(grace).pull(SharingStage.seen).token,
            try await stage.shared(mary).pull(SharingStage.seen).token,
        ]
        try await stage.owner.edit(.removeType("Book"))
        try await settle(stage)
        for (guest, token) in zip([grace, mary], tokens) {
            let changes = try await stage.shared(guest).pull(SharingStage.seen, since: token).changes
            #expect(changes.count == 60 && changes.allSatisfy { $0.kind == .deleted })
            #expect(
                try await stage.shared(guest).require(.countRecords).counts(in: SharingStage.seen).records == [
                    "Shelf": 1, Share.recordType: 1,
                ])
        }
        #expect(try await stage.owner.require(.countRecords).counts(in: notes).records["Page"] == 30)
        try await check(stage)
        await engine.close()
    }

    @Test func stepsAreNoLongerThanTheyMayBe() async throws {
        let gate = WorkGate()
        var cascadeLimits = CascadeLimits()
        cascadeLimits.beforeStep = { await gate.wait() }
        let clock = clock
        let engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(),
            indexLimits: IndexLimits(recordsAtOnce: 0, rowsInStep: 1), cascadeLimits: cascadeLimits,
            clock: { clock.now() })
        let stage = try await SharingStage(on: engine)
        try await stage.owner.save("shelf", type: "Shelf", in: notes)
        try await stage.owner.save("book", type: "Book", in: notes, parent: .record("shelf"))
        let pages = (0..<20).map { Name("page\($0)") }
        for page in pages { try await stage.owner.save(page, type: "Page", in: notes, parent: .record("book")) }
        try await stage.accept(try await stage.share("shelf", publicPermission: .readOnly), as: grace)
        try await stage.owner.edit(.removeType("Book"))
        let store = try #require(stage.owner as? SQLDatabase).store
        let moved = try await store.look { db in
            try Int.fetchOne(
                db,
                sql:
                    "SELECT count(*) FROM records r JOIN zones z ON z.number = r.zone WHERE z.base IS NULL AND r.name LIKE 'page%' AND r.hierarchy IS NULL"
            )
        }
        #expect(moved == 1, "the rest is left to the background")
        gate.open()
        try await settle(stage)
        #expect(try await stage.shared(grace).names(in: SharingStage.seen, of: pages + ["shelf"]) == ["shelf"])
        try await check(stage)
        await engine.close()
    }

    /// Returns when no walk and no rows of removed indexes are left.
    private func settle(_ stage: SharingStage) async throws {
        guard let database = stage.owner as? SQLDatabase else { return }
        try await eventually {
            try await database.store.look { try HierarchyWalkRows.isEmpty($0) && !RetiredIndexRows.isDue($0) }
        }
    }
}
