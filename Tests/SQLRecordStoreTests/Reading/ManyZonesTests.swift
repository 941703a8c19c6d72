import InMemoryRecordStore
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Queries over all zones of a database with many zones.
@Suite struct ManyZonesTests {
    private static let zones = (0..<60).map { ZoneID(zoneName: Name("Zone \($0 * 37 % 60)")) }
    private static let recordsInZone = 30

    /// The same records for any engine.
    private static func fill(_ engine: any RecordEngine) async throws -> any RecordDatabase {
        let database = try await engine.full(.private)
        try await database.edit(
            .addType(RecordType(name: "Item", systemIndexes: [.recordID: [.queryable, .sortable]])))
        for result in try await database.modifyZones(zones.map { .create($0) }) { _ = try result.get() }
        var random = SeededRandom(seed: 60)
        var operations: [RecordOperation] = []
        for zoneID in zones {
            for number in 0..<recordsInZone {
                var fields: [Name: FieldInput] = [
                    "number": FieldInput(.int64(Int64.random(in: 0..<40, using: &random))),
                    "text": FieldInput(.string(String(repeating: "x", count: 900))),
                ]
                if number % 7 != 0 { fields["place"] = FieldInput(.location(QueryMaker.location(using: &random))) }
                if number % 5 != 0 {
                    fields["rank"] = FieldInput(.int64(Int64.random(in: 0..<100_000, using: &random)))
                }
                // Names that also exist in other zones.
                let name = Name("r\(Int.random(in: 0..<20, using: &random) * 100 + number)")
                operations.append(
                    RecordOperation(.create, recordName: name, zoneID: zoneID, recordType: "Item", fields: fields))
            }
        }
        for start in stride(from: 0, to: operations.count, by: 200) {
            let batch = ModifyRequest(Array(operations[start..<min(start + 200, operations.count)]), atomic: false)
            for result in try await database.modify(batch) { _ = try result.get() }
        }
        return database
    }

    private static let place = Location(latitude: 47.6, longitude: 179.99)

    private static let queries = [
        Query(recordType: "Item"),
        Query(recordType: "Item", sorts: [Query.Sort("recordName", ascending: false)]),
        Query(recordType: "Item", sorts: [Query.Sort("rank")]),
        Query(recordType: "Item", sorts: [Query.Sort("rank", ascending: false)]),
        Query(recordType: "Item", sorts: [Query.Sort("number", ascending: false), Query.Sort("rank")]),
        Query(recordType: "Item", sorts: [Query.Sort("place", relativeLocation: place)]),
        Query(recordType: "Item", sorts: [Query.Sort("place", ascending: false, relativeLocation: place)]),
        Query(recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64(7)))]),
        Query(
            recordType: "Item", filters: [Query.Filter("number", .greaterThan, FieldInput(.int64(20)))],
            sorts: [Query.Sort("rank", ascending: false)]),
        Query(
            recordType: "Item",
            filters: [
                Query.Filter("recordName", .in, FieldInput(.list([.string("r100"), .string("r101")], of: .string)))
            ]),
    ]

    @Test("Pages are those of the engine in memory, and markers of either lead on in the other")
    func samePages() async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        let reference = try await Self.fill(InMemoryRecordEngine())
        for query in Self.queries {
            var marker: String?
            var count = 0
            repeat {
                let limit = PageLimit(records: [7, 100, 33][count % 3], bytes: [20_000, 8 << 20][count % 2])
                let request = QueryRequest(query, in: .allZones, limit: limit, continuationMarker: marker)
                let (page, expected) = try await (database.query(request), reference.query(request))
                #expect(page.records.map(\.recordID) == expected.records.map(\.recordID), "\(query), page \(count)")
                #expect((page.continuationMarker == nil) == (expected.continuationMarker == nil))
                marker = count % 2 == 0 ? page.continuationMarker : expected.continuationMarker
                count += 1
            } while marker != nil && count < 200
            #expect(marker == nil)
        }
        await engine.close()
    }

    /// Reading a zone stops as soon as it can contribute nothing to the page that earlier zones filled.
    @Test(arguments: queries.prefix(4)) func onlyWhatThePageNeedsIsRead(query: Query) async throws {
        let folder = try TemporaryFolder()
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        let explanation = try await database.require(.explainQueries).explain(
            QueryRequest(query, in: .allZones, limit: PageLimit(records: 20)))
        #expect(explanation.recordsReturned == 20)
        #expect(
            explanation.summary.contains("This describes the zone '")
                && explanation.summary.contains("', the first of "), "\(explanation.summary)")
        // A full page per zone would be 60 times 21 records. In random order, the k-th
        // zone contributes about 1/k of a page, plus one record to detect the end.
        #expect(explanation.recordsRead < 400, "\(explanation.recordsRead)")
        await engine.close()
    }

    @Test("A query holds at most two pages and a record in memory")
    func bytesHeld() throws {
        let limit = PageLimit(records: 200, bytes: 50_000)
        let schema = Schema(types: [RecordType(name: "Item", systemIndexes: [.recordID: .queryable])])
        let query = try ResolvedQuery(Query(recordType: "Item"), in: schema)
        let signature = Signature(timestamp: Timestamp(milliseconds: 0), userRecordName: "_u", deviceID: "")
        var random = SeededRandom(seed: 3)
        var top = TopRecords(query, limit: limit)
        var most = 0
        for zone in 0..<50 {
            for number in 0..<200 {
                let size = Int.random(in: 1...5000, using: &random)
                let id = RecordID(
                    recordName: Name("\(Int.random(in: 0...1_000_000, using: &random))-\(number)"),
                    zoneID: ZoneID(zoneName: Name("\(zone)")))
                let record = StoredRecord(
                    recordID: id, recordType: "Item", recordChangeTag: "1", created: signature, modified: signature,
                    fields: FieldsText(bytes: Array(repeating: 0, count: size)))
                top.offer((QueryPosition(values: [], recordName: id.recordName, zoneID: id.zoneID), record))
                most = max(most, top.keptBytes)
            }
        }
        #expect(most <= 2 * limit.bytes + 5000)
        let found = top.finish()
        #expect(found.dropLast().reduce(0) { $0 + $1.record.fields.bytes.count } <= limit.bytes)
        #expect(zip(found, found.dropFirst()).allSatisfy { query.precedes($0.place, $1.place) })
    }
}
