import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Outlines of a zone with too many changes to count one by one.
@Suite struct OutlineTests {
    private static let zone = LargeStore.zone

    @Test func keptCountsSayWhereChangesLie() async throws {
        let folder = try TemporaryFolder()
        let engine = try await LargeStore.make(records: 12_000, in: folder.url)
        let database = try await engine.full(.private)
        let store = try #require(database as? SQLDatabase).store
        // Gaps, changes at the end, deletions that are kept, and some that are forgotten.
        for start in [3000, 7000] {
            let saves = (start..<(start + 150)).map {
                RecordOperation(.forceUpdate, recordName: Self.name($0), recordType: "Item")
            }
            try await database.apply(saves, in: Self.zone)
        }
        try await delete(100..<250, from: database)
        for zone in try await store.read({ db, _ in try DeletionPurge.zones(db) }) {
            while try await store.write({ db, state in
                try DeletionPurge.step(in: zone, before: Timestamp(milliseconds: .max), &state, db)
            }) {}
        }
        try await delete(5000..<5150, from: database)
        let rows = try await store.pool.read { db in
            try Row.fetchAll(
                db,
                sql:
                    "SELECT id, modifiedAt FROM records WHERE zone = (SELECT number FROM zones WHERE name = 'Large') ORDER BY id"
            )
            .map { (position: StoredRow.position(ofID: $0["id"]), moment: Timestamp(milliseconds: $0["modifiedAt"])) }
        }
        let latest = try #require(rows.last).position
        var widths: Set<Int64> = []
        for (after, through) in [
            (nil, nil), (1500, nil), (nil, 11_000), (1023, 11_263), (1024, 11_264), (2000, 10_999), (11_900, nil),
        ] as [(Int64?, Int64?)] {
            for parts in [1, 5, 60, 200] {
                let context: Comment = "after \(after ?? -1) through \(through ?? -1) in \(parts)"
                let outline = try await database.require(.outlineFeed).outline(
                    FeedOutlineRequest(Self.zone, after: after, through: through, stretches: parts))
                let stretches = outline.stretches
                #expect(
                    outline.position == latest && outline.floor > 0 && !stretches.isEmpty && stretches.count <= parts,
                    context)
                #expect(stretches.first.map { $0.after <= after ?? 0 } == true, context)
                #expect(stretches.last.map { $0.through >= through ?? latest && $0.through <= latest } == true, context)
                #expect(zip(stretches, stretches.dropFirst()).allSatisfy { $0.through == $1.after }, context)
                for stretch in stretches {
                    widths.insert(stretch.through - stretch.after)
                    let inside = rows.filter { $0.position > stretch.after && $0.position <= stretch.through }
                    #expect(stretch.changes == inside.count && stretch.began == inside.first?.moment, context)
                    guard let token = stretch.token else { continue }
                    let explained = try await database.require(.explainTokens).explain(token)
                    #expect(
                        explained.position <= stretch.after
                            && !rows.contains { $0.position > explained.position && $0.position <= stretch.after },
                        context)
                }
            }
        }
        #expect(widths.contains(1024) && widths.contains { $0 % 1024 != 0 }, "both ways of counting were taken")
        await engine.close()
    }

    private func delete(_ numbers: Range<Int>, from database: any RecordDatabase) async throws {
        let deletions = numbers.map { RecordOperation(.forceDelete, recordName: Self.name($0)) }
        try await database.apply(deletions, in: Self.zone)
    }

    private static func name(_ number: Int) -> Name { Name(String(format: "r%08d", number)) }
}
