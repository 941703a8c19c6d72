import Foundation
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import Testing

@testable import TestStores

/// Deletions that are forgotten after a time, and the tokens that expire with them.
@Suite struct TokenLifetimeTests {
    private let clock = TestClock()
    private let folder: TemporaryFolder
    private let day: Int64 = 86_400_000

    init() throws { folder = try TemporaryFolder() }

    /// The store, opened with a lifetime of 30 days.
    private func open() throws -> SQLRecordEngine {
        try StoreUnderTest.engine(
            folder: folder.url, tokenLifetime: .seconds(30 * 86_400), clock: { [clock] in clock.now() })
    }

    @Test func oldDeletionsAreForgottenAndOlderTokensExpire() async throws {
        var engine = try open()
        var database = try await engine.withZone()
        try await database.save("kept", in: notes)
        try await database.save("early", in: notes)
        let beforeEarly = try await database.pull(notes).token
        try await database.delete("early", in: notes)
        let afterEarly = try await database.pull(notes).token
        clock.advance(31 * day)
        try await database.save("late", in: notes)
        let beforeLate = try await database.pull(notes).token
        try await database.delete("late", in: notes)
        await engine.close()

        engine = try open()
        database = try await engine.full(.private)
        try await eventually { try await database.require(.countRecords).counts(in: notes).deletions == 1 }
        let refused = await refusal { _ = try await database.pull(notes, since: beforeEarly) }
        #expect(refused == TokenCodec.expired)
        let explained = try await database.require(.explainTokens).explain(beforeEarly)
        #expect(explained.validity == .expired(why: "deletions after it were purged") && explained.changesAfter == nil)
        let names = try await [afterEarly, beforeLate].mapAsync {
            try await database.pull(notes, since: $0).changes.map(\.recordID.recordName)
        }
        #expect(names == [["late"], ["late"]])
        let explainedLater = try await database.require(.explainTokens).explain(afterEarly)
        #expect(explainedLater.validity == .good && explainedLater.changesAfter == 1)
        let all = try await database.pull(notes).changes.map(\.recordID.recordName)
        #expect(all == ["kept"])
        // All tokens of the outline are accepted.
        let outline = try await database.require(.outlineFeed).outline(FeedOutlineRequest(notes, stretches: 1000))
        #expect(outline.floor == explainedLater.position && outline.stretches.filter { $0.changes > 0 }.count == 2)
        for stretch in outline.stretches {
            if let token = stretch.token { _ = try await database.pull(notes, since: token) }
            if stretch.after < outline.floor { #expect(stretch.token == nil) }
        }
        await engine.close()
    }

    @Test func withoutALifetimeDeletionsStay() async throws {
        let clock = clock
        var engine = try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() })
        var database = try await engine.withZone()
        try await database.save("r", in: notes)
        let token = try await database.pull(notes).token
        try await database.delete("r", in: notes)
        clock.advance(10_000 * day)
        await engine.close()
        engine = try StoreUnderTest.engine(folder: folder.url, clock: { clock.now() })
        database = try await engine.full(.private)
        #expect(try await database.pull(notes, since: token).changes.map(\.kind) == [.deleted])
        await engine.close()
    }

    @Test func aPullUnderWayGoesOn() async throws {
        var engine = try open()
        var database = try await engine.withZone()
        for index in 0..<6 { try await database.save(Name("r\(index)"), in: notes) }
        try await database.delete("r5", in: notes)
        // A first pull skips earlier deletions, so their removal does not affect it.
        let page = try await database.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 2)))
        #expect(page.moreComing)
        clock.advance(31 * day)
        await engine.close()
        engine = try open()
        database = try await engine.full(.private)
        try await eventually { try await database.require(.countRecords).counts(in: notes).deletions == 0 }
        let rest = try await database.pull(notes, since: page.syncToken)
        #expect(rest.changes.map(\.recordID.recordName) == ["r2", "r3", "r4"])
        await engine.close()
    }
}

extension Array {
    fileprivate func mapAsync<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
