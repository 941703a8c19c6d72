import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore

/// Operations whose cost must not grow with the store, measured in steps instead of time.
@Suite(.serialized) struct SpeedLawTests {
    /// The number of records in the large store.
    private static let large = Chance.times(100_000)
    private static let limit = 1.15

    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private struct Subject {
        let engine: SQLRecordEngine
        let database: any RecordDatabase
        let meter: ReadMeter
        var zone = LargeStore.zone
        /// The zone as guests name it.
        var seen: ZoneID { ZoneID(zoneName: zone.zoneName, ownerRecordName: ada.userRecordName) }
    }

    private func subject(records: Int) async throws -> Subject {
        let engine = try await LargeStore.make(records: records, in: folder.url.appending(path: "\(records)"))
        let database = try await engine.full(.private)
        guard let store = (database as? SQLDatabase)?.store else {
            throw RecordError(.internalError, "not a SQLite store")
        }
        return Subject(engine: engine, database: database, meter: try await ReadMeter(store))
    }

    @Test func sizeAndDepthCostNothing() async throws {
        let (large, small, one) = (
            try await subject(records: Self.large), try await subject(records: 1000), try await subject(records: 1)
        )
        #expect(try await large.database.require(.countRecords).counts(in: LargeStore.zone).total == Self.large)
        #expect(try await StoreRecount.problems(of: small.database) == [])

        try await compare("current token", large, one) { subject in
            { _ = try await subject.database.fetchZones([LargeStore.zone]) }
        }
        try await compare("ten changes since a token", large, small) { subject in
            let token = try await subject.database.fetchZones([LargeStore.zone])[0].get().syncToken
            for number in 0..<10 {
                try await subject.database.save(
                    "r0000010\(number)" as Name, in: LargeStore.zone, ["number": .int64(Int64(100 + number))])
            }
            return {
                let page = try await subject.database.zoneChanges(ZoneChangesRequest(LargeStore.zone, since: token))
                #expect(page.changes.count == 10 && !page.moreComing)
            }
        }
        // The cost of an outline depends on its stretches, and on the stored counts per thousand positions.
        let outline = try await large.database.require(.outlineFeed).outline(FeedOutlineRequest(LargeStore.zone))
        #expect(
            outline.stretches.reduce(0) { $0 + $1.changes } == Self.large && (2...80).contains(outline.stretches.count))
        let outlined = try await large.meter.cost {
            _ = try await large.database.require(.outlineFeed).outline(FeedOutlineRequest(LargeStore.zone))
        }
        #expect(outlined.steps < Self.large / 20 && outlined.pages < 1500, "outline: \(outlined)")
        try await large.database.edit(.setIndexes(.queryable, of: .system(.recordID), in: "Item"))
        let (up, down) = ([Query.Sort("number", ascending: true)], [Query.Sort("number", ascending: false)])
        let text = [Query.Filter("text", .equals, FieldInput(LargeStore.text))]
        // Queries with a filter use the composite index.
        for (filters, sorts) in [([], []), ([], up), ([], down), (text, up), (text, down)] {
            let query = Query(recordType: "Item", filters: filters, sorts: sorts)
            let deep = try await page(of: large, at: 0.9, query)
            let first = try await page(of: large, at: 0, query)
            expect(
                "page at 90 % depth, \(query)", try await large.meter.cost(of: deep),
                try await large.meter.cost(of: first))
        }
        for subject in [large, small, one] {
            subject.meter.end()
            await subject.engine.close()
        }
    }

    /// A page as of 1,000 changes back reads what did not change through the index, as now, and each change once.
    @Test func anEarlierPageCostsItsChanges() async throws {
        let changes = 1000
        let (large, small) = (try await subject(records: Self.large), try await subject(records: Self.large / 20))
        var positions: [Int64] = []
        for subject in [large, small] {
            try await subject.database.edit(.setIndexes(.queryable, of: .system(.recordID), in: "Item"))
            let token = try await subject.database.currentToken(of: LargeStore.zone)
            positions.append(try await subject.database.require(.explainTokens).explain(token).position)
            // They were the first of the zone by name and by number, and are the last by number.
            for start in stride(from: 1, through: changes, by: 200) {
                let operations = (start..<start + 200).map { number in
                    RecordOperation(
                        .forceUpdate, recordName: Name(String(format: "r%08d", number)), recordType: "Item",
                        fields: ["number": FieldInput(.int64(Int64(1_000_000_000 + number)))])
                }
                try await subject.database.apply(operations, in: LargeStore.zone)
            }
        }
        let text = [Query.Filter("text", .equals, FieldInput(LargeStore.text))]
        let (up, down) = ([Query.Sort("number", ascending: true)], [Query.Sort("number", ascending: false)])
        for (filters, sorts) in [([], []), ([], up), ([], down), (text, up)] {
            let query = Query(recordType: "Item", filters: filters, sorts: sorts)
            let request = QueryRequest(query, in: .zone(LargeStore.zone), limit: PageLimit(records: 50))
            var costs: [ReadMeter.Cost] = []
            for (subject, position) in zip([large, small], positions) {
                let then = try await subject.database.require(.readEarlierStates).database(asOf: .position(position))
                costs.append(
                    try await subject.meter.cost {
                        let page = try await then.query(request)
                        #expect(page.records.count == 50 && page.continuationMarker != nil && page.notKnown.isEmpty)
                    })
            }
            expect("first page as of \(changes) changes back, \(query)", costs[0], costs[1])
            let now = try await large.meter.cost { _ = try await large.database.query(request) }
            #expect(costs[0].steps - now.steps < 100 * changes, "\(costs[0]) against \(now)")
        }
        for subject in [large, small] {
            subject.meter.end()
            await subject.engine.close()
        }
    }

    /// A hierarchy of 100 records costs its guests the same in a zone with a million others as in a zone with these
    /// 100. Both are in one store: in another one, the trees of its file would have fewer levels, whatever the zones
    /// hold.
    @Test func guestsPayForWhatTheySee() async throws {
        let large = try await subject(records: Self.large)
        var small = large
        small.zone = ZoneID(zoneName: "Small")
        try await large.database.edit(.setIndexes(.queryable, of: .system(.recordID), in: "Item"))
        for result in try await large.database.modifyZones([.create(small.zone)]) { _ = try result.get() }
        for subject in [large, small] {
            try await subject.database.save("root", in: subject.zone, ["number": .int64(0), "text": LargeStore.text])
            for number in 1..<100 {
                let fields: [Name: FieldValue] = ["number": .int64(Int64(number)), "text": LargeStore.text]
                try await subject.database.save(
                    Name("child\(number)"), in: subject.zone, fields, parent: .record(number < 50 ? "root" : "child1"))
            }
            var operation = RecordOperation(.create, recordName: "share", recordType: Share.recordType)
            operation.share = ShareInput(
                root: .init(recordName: "root", recordChangeTag: nil), publicPermission: .readOnly)
            guard
                case .saved(let share)? = try await subject.database.modify(
                    ModifyRequest([operation], zoneID: subject.zone)
                ).first?.get()
            else {
                throw RecordError(.internalError, "not shared")
            }
            _ = try await subject.engine.full(.public, as: grace).require(.shareRecords).accept(
                [share.sharing?.shortGUID ?? ""], by: LookupInfo())[0].get()
        }
        try await compare("a guest's first pull", large, small) { subject in
            let guest = try await subject.engine.full(.shared, as: grace)
            return {
                let page = try await guest.zoneChanges(ZoneChangesRequest(subject.seen))
                #expect(page.changes.count == 101 && !page.moreComing)
            }
        }
        try await compare("a guest's pull of ten changes", large, small) { subject in
            let guest = try await subject.engine.full(.shared, as: grace)
            let token = try await guest.fetchZones([subject.seen])[0].get().syncToken
            for number in 0..<10 {
                try await subject.database.save(Name("child9\(number)"), in: subject.zone, ["number": .int64(-1)])
            }
            return {
                let page = try await guest.zoneChanges(ZoneChangesRequest(subject.seen, since: token))
                #expect(page.changes.count == 10 && !page.moreComing)
            }
        }
        for (filters, sorts) in [
            ([], []),
            ([Query.Filter("text", .equals, FieldInput(LargeStore.text))], [Query.Sort("number", ascending: true)]),
        ] {
            let query = Query(recordType: "Item", filters: filters, sorts: sorts)
            try await compare("a guest's query, \(query)", large, small) { subject in
                let guest = try await subject.engine.full(.shared, as: grace)
                return {
                    let page = try await guest.query(
                        QueryRequest(query, in: .zone(subject.seen), limit: PageLimit(records: 50)))
                    #expect(page.records.count == 50)
                }
            }
        }
        large.meter.end()
        await large.engine.close()
    }

    private func compare(
        _ what: String, _ large: Subject, _ small: Subject, _ read: (Subject) async throws -> () async throws -> Void
    ) async throws {
        let (left, right) = (try await read(large), try await read(small))
        expect(what, try await large.meter.cost(of: left), try await small.meter.cost(of: right))
    }

    private func expect(_ what: String, _ large: ReadMeter.Cost, _ small: ReadMeter.Cost) {
        print("\(what): \(large.steps) steps and \(large.pages) pages, against \(small.steps) and \(small.pages)")
        #expect(small.steps > 10 && small.pages > 3, "\(what): nothing was measured")
        #expect(Double(large.steps) <= Double(small.steps) * Self.limit, "\(what): \(large) against \(small)")
        #expect(Double(large.pages) <= Double(small.pages) * Self.limit, "\(what): \(large) against \(small)")
    }

    /// Reads a page of 50 that begins at a fraction of the whole.
    private func page(of subject: Subject, at depth: Double, _ query: Query) async throws -> () async throws -> Void {
        let zoneID = try await subject.database.fetchZones([LargeStore.zone])[0].get().zoneID
        let resolved = try ResolvedQuery(query, in: try await subject.database.require(.showSchema).schema())
        let rank = Int(Double(Self.large) * depth)
        let number = query.sorts.first?.ascending == false ? Self.large - rank : rank
        let place = QueryPosition(
            values: query.sorts.map { _ in .int64(Int64(number)) }, recordName: Name(String(format: "r%08d", number)),
            zoneID: zoneID)
        let marker = depth == 0 ? nil : ContinuationMarker.text(after: place, of: resolved, in: .zone(zoneID))
        return {
            let page = try await subject.database.query(
                QueryRequest(
                    query, in: .zone(LargeStore.zone), limit: PageLimit(records: 50), continuationMarker: marker))
            #expect(page.records.count == 50 && page.continuationMarker != nil)
        }
    }
}
