import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Large trees that are shared and moved: a request and each step in the background move a bounded number of records,
/// and saves come in between.
@Suite struct HierarchyWalkTests {
    private static let size = 10_000
    private static let inRequest = 400
    private static let inStep = 500

    @Test func savesComeBetweenTheSteps() async throws {
        let folder = try TemporaryFolder()
        let gate = WorkGate()
        var limits = CascadeLimits(recordsInRequest: Self.inRequest, recordsInStep: Self.inStep, step: .seconds(600))
        limits.beforeStep = { await gate.wait() }
        let engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), cascadeLimits: limits, clock: Timestamp.now)
        let owner = try await engine.withZone()
        for name in ["root", "top"] as [Name] {
            try await owner.save(name, in: notes, parent: name == "top" ? .record("root") : .unchanged)
        }
        // Each record has ten children.
        for start in stride(from: 0, to: Self.size, by: 200) {
            let operations = (start..<start + 200).map { number in
                RecordOperation(
                    .create, recordName: Name("r\(number)"), recordType: "Item",
                    parent: .record(number < 10 ? "top" : Name("r\(number / 10 - 1)")))
            }
            #expect(try await owner.outcomes(operations, in: notes).allSatisfy { $0 == nil })
        }
        let stage = Stage(owner: owner, guest: try await engine.full(.shared, as: grace), gate: gate)

        var operation = RecordOperation(.create, recordName: "share", recordType: Share.recordType)
        operation.share = ShareInput(root: .init(recordName: "root", recordChangeTag: nil), publicPermission: .readOnly)
        guard case .saved(let share)? = try await owner.modify(ModifyRequest([operation], zoneID: notes)).first?.get()
        else {
            throw RecordError(.internalError, "not shared")
        }
        #expect(try await stage.shown() == 0)
        #expect(try await stage.moved() <= Self.inRequest + 3)
        _ = try await engine.full(.public, as: grace).require(.shareRecords).accept(
            [share.sharing?.shortGUID ?? ""], by: LookupInfo())[0]
            .get()
        // Each record is looked at for its hierarchy and for the guest, whose copy counts too.
        #expect(try await stage.finish() <= 3 * Self.size / Self.inStep + 10)
        #expect(try await stage.shown() == Self.size + 3)

        try await owner.save("top", in: notes, parent: .cleared)
        #expect(try await stage.moved() >= Self.size - Self.inRequest)
        let refused = await refusal { _ = try await stage.guest.pull(SharingStage.seen) }
        #expect(refused?.code == .zoneBusy)
        #expect(try await stage.finish() <= 2 * Self.size / Self.inStep + 5)
        #expect(try await stage.shown() == 2)
        #expect(try await stage.moved() == 2)
        #expect(try await StoreRecount.problems(of: owner) == [])
        gate.open()
        await engine.close()
    }

    @Test func aViewThatEndsInTheBackgroundIsSwept() async throws {
        let folder = try TemporaryFolder()
        let limits = CascadeLimits(recordsInRequest: 1)
        let engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), cascadeLimits: limits, clock: Timestamp.now)
        let stage = try await SharingStage(on: engine)
        try await stage.accept(try await stage.share(publicPermission: .readOnly), as: grace)
        for (name, target) in [("first", nil), ("second", "first"), ("third", "second"), ("list", "third")]
            as [(Name, Name?)]
        {
            let reference = target.map { FieldValue.reference(Reference(recordName: $0, action: .deleteSelf)) }
            try await stage.owner.save(name, in: notes, reference.map { ["on": $0] } ?? [:])
        }
        try await stage.owner.delete("first", in: notes)
        try await StoreRecount.settleCascades(stage.owner)
        #expect(try await stage.shared(grace).zones().isEmpty)
        try await eventually { try await StoreRecount.hasSwept(stage.owner) }
        let store = try #require(stage.owner as? SQLDatabase).store
        let copies = try await store.look { db in
            try Int.fetchOne(
                db, sql: "SELECT count(*) FROM records WHERE zone IN (SELECT number FROM zones WHERE base IS NOT NULL)")
        }
        #expect(copies == 0)
        await engine.close()
    }

    enum Meanwhile: CaseIterable { case aGuestComes, aGuestGoes, theTreeMovesInside, theTreeMovesInsideAndTheGuestGoes }

    /// A guest comes or goes, and a tree moves before the walks after that are finished.
    @Test(arguments: Meanwhile.allCases) func guestsComeAndGoWhileATreeIsOnItsWay(_ meanwhile: Meanwhile) async throws {
        let folder = try TemporaryFolder()
        let gate = WorkGate()
        let engine = try Self.engine(folder, gate, CascadeLimits(recordsInRequest: 3, recordsInStep: 3))
        let stage = try await SharingStage(on: engine)
        let tree = ["big"] + (0..<10).map { Name("leaf\($0)") } + (0..<10).map { Name("tip\($0)") }
        for name in tree {
            let parent: Name =
                name == "big" ? "bread" : name.string.hasPrefix("leaf") ? "big" : Name("leaf\(name.string.suffix(1))")
            try await stage.owner.save(name, in: notes, parent: .record(parent))
        }
        let share = try await stage.share(with: [SharingStage.invitation(grace)])
        let other = try await stage.share("diary", as: "other", with: [SharingStage.invitation(grace)])
        func dismiss() async throws {
            try await stage.save(
                "share", tag: try await stage.current("share").recordChangeTag, ShareInput(participants: []))
        }
        func move(to parent: Name?) async throws {
            try await stage.owner.save("big", in: notes, parent: parent.map { .record($0) } ?? .cleared)
        }
        try await stage.accept(other, as: grace)
        if meanwhile == .aGuestGoes || meanwhile == .theTreeMovesInsideAndTheGuestGoes {
            try await stage.accept(share, as: grace)
        }
        try await Self.settle(stage, gate)
        switch meanwhile {
        case .aGuestComes:
            try await move(to: nil)
            try await stage.accept(share, as: grace)
            try await move(to: "bread")
        case .aGuestGoes:
            try await move(to: nil)
            try await dismiss()
            try await move(to: "bread")
        case .theTreeMovesInside:
            try await stage.accept(share, as: grace)
            try await move(to: "milk")
        case .theTreeMovesInsideAndTheGuestGoes:
            try await dismiss()
            try await move(to: "milk")
        }
        try await Self.settle(stage, gate)
        let list: [Name] = ["list", "share", "milk", "brand", "bread"] + tree
        let seen: [Name] = meanwhile == .aGuestComes || meanwhile == .theTreeMovesInside ? list : []
        #expect(try await stage.visible(to: grace, of: ["diary", "other"] + list) == ["diary", "other"] + seen)
        #expect(try await StoreRecount.problems(of: stage.owner) == [])
        gate.open()
        await engine.close()
    }

    /// A guest comes and goes, or goes and comes again, and a record moves each time to where the walk has been.
    @Test(arguments: [true, false]) func aGuestComesAndGoesWhileRecordsMove(comesFirst: Bool) async throws {
        let folder = try TemporaryFolder()
        let gate = WorkGate()
        let engine = try Self.engine(folder, gate, CascadeLimits(recordsInRequest: 2, recordsInStep: 1))
        let stage = try await SharingStage(on: engine)
        let tree: [(name: Name, parent: Name?)] = [
            ("root", nil), ("a1", "root"), ("a2", "root"), ("c", "a1"), ("d", "a1"), ("z", "root"),
        ]
        for (name, parent) in tree {
            try await stage.owner.save(name, in: notes, parent: parent.map { .record($0) } ?? .unchanged)
        }
        let share = try await stage.share("root", with: [SharingStage.invitation(grace)])
        let other = try await stage.share("diary", as: "other", with: [SharingStage.invitation(grace)])
        try await stage.accept(other, as: grace)
        if !comesFirst { try await stage.accept(share, as: grace) }
        try await Self.settle(stage, gate)
        func invite(_ participants: [ShareParticipant]) async throws -> StoredRecord {
            try await stage.save(
                "share", tag: try await stage.current("share").recordChangeTag, ShareInput(participants: participants))
        }
        func come() async throws {
            try await stage.accept(try await invite([SharingStage.invitation(grace)]), as: grace)
        }
        func go() async throws { _ = try await invite([]) }
        // Until z is next.
        try await comesFirst ? come() : go()
        try await gate.allow(2)
        try await stage.owner.save("c", in: notes, parent: .record("z"))
        try await comesFirst ? go() : come()
        try await gate.allow(1)
        try await stage.owner.save("z", in: notes, parent: .record("a2"))
        try await Self.settle(stage, gate)
        let names: [Name] = ["diary", "other", "root", "share", "a1", "a2", "c", "d", "z"]
        #expect(try await stage.visible(to: grace, of: names) == (comesFirst ? Array(names.prefix(2)) : names))
        gate.open()
        await engine.close()
    }

    /// Such records are in no hierarchy.
    @Test func aWalkEndsAmongRecordsThatAreTheirOwnAncestors() async throws {
        let folder = try TemporaryFolder()
        let gate = WorkGate()
        let engine = try Self.engine(folder, gate, CascadeLimits(recordsInRequest: 1, recordsInStep: 1))
        let stage = try await SharingStage(on: engine)
        for (name, parent) in [("x", "list"), ("y", "x")] as [(Name, Name)] {
            try await stage.owner.save(name, in: notes, parent: .record(parent))
        }
        let share = try await stage.share(publicPermission: .readOnly)
        try await Self.settle(stage, gate)
        try await stage.accept(share, as: grace)
        // "x" is shown, and "y" is next.
        try await gate.allow(3)
        try await stage.owner.save("x", in: notes, parent: .cleared)
        try await gate.allow(1)
        #expect(try await stage.current("y").sharing?.hierarchy == nil)
        let circle = RecordOperation(
            .forceUpdate, recordName: "x", recordType: "Item", parent: .record("y"), provenance: SharingStage.provenance
        )
        #expect(try await stage.owner.outcomes([circle], in: notes) == [nil])
        try await Self.settle(stage, gate)
        let list: [Name] = ["list", "share", "milk", "brand", "bread"]
        #expect(try await stage.visible(to: grace, of: list + ["x", "y"]) == list)
        gate.open()
        await engine.close()
    }

    private static func engine(_ folder: TemporaryFolder, _ gate: WorkGate, _ limits: CascadeLimits) throws
        -> SQLRecordEngine
    {
        var limits = limits
        limits.beforeStep = { await gate.wait() }
        return try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), cascadeLimits: limits, clock: Timestamp.now)
    }

    private static func settle(_ stage: SharingStage, _ gate: WorkGate) async throws {
        gate.open()
        let store = try #require(stage.owner as? SQLDatabase).store
        try await eventually { try await store.look { try HierarchyWalkRows.isEmpty($0) } }
        gate.close()
    }

    private struct Stage {
        let owner: any RecordDatabase
        let guest: any RecordDatabase
        let gate: WorkGate

        private func read<Value: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Value) async throws
            -> Value
        {
            guard let store = (owner as? SQLDatabase)?.store else {
                throw RecordError(.internalError, "not a SQLite store")
            }
            return try await store.look(body)
        }

        private func isSettled() async throws -> Bool { try await read { try HierarchyWalkRows.isEmpty($0) } }

        /// The owner's records that are in the hierarchy.
        func moved() async throws -> Int {
            let sql =
                "SELECT count(*) FROM records r JOIN zones z ON z.number = r.zone WHERE r.hierarchy IS NOT NULL AND r.state & 1 = 0 AND z.base IS NULL"
            return try await read { try Int.fetchOne($0, sql: sql) ?? 0 }
        }

        /// The records that the guest sees.
        func shown() async throws -> Int {
            try await guest.zones().isEmpty
                ? 0 : try await guest.pull(SharingStage.seen).changes.count { $0.kind != .deleted }
        }

        /// Allows one step after the other, and saves in between.
        /// - Returns: the number of steps.
        func finish() async throws -> Int {
            var steps = 0
            while try await !isSettled() {
                let before = try await moved()
                try await gate.allow(1) { try await isSettled() }
                steps += 1
                #expect(abs(try await moved() - before) <= HierarchyWalkTests.inStep)
                try await owner.save("other", in: notes)
            }
            gate.close()
            return steps
        }
    }
}
