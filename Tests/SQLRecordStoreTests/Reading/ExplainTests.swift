import Foundation
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// Explanations must match the way SQLite was used, and the amount that was read.
@Suite struct ExplainTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func equal(_ field: Name, _ value: FieldValue) -> Query.Filter {
        Query.Filter(field, .equals, FieldInput(value))
    }

    private struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let filters: [Query.Filter]
        var sorts: [Query.Sort] = []
        /// The expected use by index.
        let uses: [String: QueryExplanation.IndexUse]
    }

    private static let berlin = Location(latitude: 52.5, longitude: 13.4)

    /// The store has 3,000 records: `author` is one of 3, `year` one of 1,500, `number` unique.
    private static let rows: [Row] = [
        Row(
            testDescription: "nothing asked", filters: [],
            uses: ["record names": .servesBoth, "recordName QUERYABLE": .servesFilter]),
        Row(
            testDescription: "one name",
            filters: [equal("recordName", .string("r0001")), equal("author", .string("a1"))],
            uses: [
                "recordName QUERYABLE": .servesFilter, "author QUERYABLE": .passedOver, "record names": .passedOver,
            ]),
        Row(
            testDescription: "one value", filters: [equal("author", .string("a1"))],
            uses: ["author QUERYABLE": .servesBoth, "author SORTABLE": .passedOver]),
        Row(
            testDescription: "two values", filters: [equal("author", .string("a1")), equal("year", .int64(7))],
            uses: ["year QUERYABLE": .servesBoth, "author QUERYABLE": .narrows]),
        Row(
            testDescription: "few and sorted", filters: [equal("year", .int64(7)), equal("author", .string("a1"))],
            sorts: [Query.Sort("number")],
            uses: [
                "year QUERYABLE": .servesFilter, "author QUERYABLE": .passedOver, "number SORTABLE": .passedOver,
            ]),
        Row(
            testDescription: "many and sorted", filters: [Query.Filter("number", .greaterThan, FieldInput(.int64(10)))],
            sorts: [Query.Sort("year", ascending: false)],
            uses: ["year SORTABLE": .servesSort, "number QUERYABLE": .passedOver, "number SORTABLE": .passedOver]),
        Row(
            testDescription: "words",
            filters: [Query.Filter("text", .containsAllTokens, FieldInput(.string("word 17")))],
            uses: ["text SEARCHABLE": .servesBoth, "text QUERYABLE": .passedOver]),
        Row(
            testDescription: "excluded", filters: [Query.Filter("author", .notEquals, FieldInput(.string("a1")))],
            uses: ["author QUERYABLE": .passedOver, "record names": .servesSort]),
        Row(
            testDescription: "nearest", filters: [], sorts: [Query.Sort("place", relativeLocation: berlin)],
            uses: ["place QUERYABLE": .servesSort, "recordName QUERYABLE": .servesFilter]),
        Row(
            testDescription: "farthest", filters: [],
            sorts: [Query.Sort("place", ascending: false, relativeLocation: berlin)],
            uses: ["place QUERYABLE": .passedOver, "record names": .servesFilter]),
        Row(
            testDescription: "second sort", filters: [], sorts: [Query.Sort("year"), Query.Sort("number")],
            uses: ["year SORTABLE": .servesSort, "number SORTABLE": .passedOver]),
    ]

    @Test func eachIndexHasItsUseAndReason() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        for row in Self.rows {
            let query = Query(recordType: "Item", filters: row.filters, sorts: row.sorts)
            let explanation = try await database.require(.explainQueries).explain(
                QueryRequest(query, limit: PageLimit(records: 20)))
            for (index, use) in row.uses {
                // An index may be a candidate for several clauses. The table names its most important one.
                let candidates = explanation.candidates.filter { $0.index.description == index }
                #expect(
                    candidates.contains { $0.use == use }, "\(row.testDescription): \(index) \(candidates)")
            }
            #expect(
                explanation.candidates.allSatisfy { !$0.reason.isEmpty && !$0.clause.isEmpty }, "\(row.testDescription)"
            )
            #expect(explanation.summary.hasSuffix("."), "\(row.testDescription)")
            #expect(
                !explanation.statements.isEmpty
                    && explanation.statements.allSatisfy { !$0.plan.isEmpty && !$0.text.contains("skylight_seen") })
            let page = try await database.query(QueryRequest(query, limit: PageLimit(records: 20)))
            #expect(explanation.recordsReturned == page.records.count, "\(row.testDescription)")
            // The query itself reports a short form of the same plan.
            let plan = try #require(page.plan, "\(row.testDescription)")
            let serving = explanation.candidates.filter {
                [.servesFilter, .servesSort, .servesBoth].contains($0.use)
            }
            #expect(serving.contains { $0.index == plan.index }, "\(row.testDescription): \(plan)")
            #expect(explanation.summary.hasPrefix(plan.summary), "\(row.testDescription): \(plan)")
        }
        await engine.close()
    }

    /// The reported number of reads equals the number of entries that SQLite visits.
    @Test func readsAreCountedHonestly() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        func explain(_ filters: [Query.Filter], _ sorts: [Query.Sort] = [], _ limit: Int = 20) async throws
            -> QueryExplanation
        {
            try await database.require(.explainQueries).explain(
                QueryRequest(
                    Query(recordType: "Item", filters: filters, sorts: sorts), limit: PageLimit(records: limit)))
        }
        // A page of 20, and one more record to detect the next page.
        var explanation = try await explain([])
        #expect(explanation.entriesRead == 21 && explanation.recordsRead == 21 && explanation.hasMore)
        // No other index could find fewer, so nothing is counted.
        explanation = try await explain([Self.equal("author", .string("a1"))])
        #expect(explanation.entriesRead == 21 && explanation.recordsRead == 21)
        // Both are counted. The two records of the year are read, and each is looked up under the author.
        explanation = try await explain([Self.equal("author", .string("a1")), Self.equal("year", .int64(7))])
        #expect((1000 + 2 + 2...1000 + 2 + 4).contains(explanation.entriesRead) && explanation.recordsRead <= 2)
        #expect(explanation.candidates.first { $0.index == .field(.custom("author"), .queryable) }?.entries == 1000)
        #expect(explanation.candidates.first { $0.index == .field(.custom("year"), .queryable) }?.entries == 2)
        // The two records of the year are counted, collected and sorted.
        explanation = try await explain([Self.equal("year", .int64(7))], [Query.Sort("number", ascending: false)])
        #expect(explanation.entriesRead == 4 && explanation.recordsRead == 2 && explanation.recordsReturned == 2)
        // The author has a third of the records, so two of three lookups per sort entry fail.
        explanation = try await explain([Self.equal("author", .string("a1"))], [Query.Sort("number")], 10)
        #expect(explanation.entriesRead >= 1000 && explanation.recordsRead <= 1000)
        await engine.close()
    }

    @Test(arguments: [true, false]) func compositeIndexReadsThePageAlone(ascending: Bool) async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine, authors: 2)
        let query = Query(
            recordType: "Item", filters: [Self.equal("author", .string("a1"))],
            sorts: [Query.Sort("number", ascending: ascending)])
        let before = try await database.require(.explainQueries).explain(
            QueryRequest(query, limit: PageLimit(records: 50)))
        let advised = CompositeIndex(filter: .custom("author"), sort: .custom("number"))
        #expect(before.advice == [advised] && before.entriesRead + before.recordsRead > 250)
        try await database.edit(.addCompositeIndex(advised, in: "Item"))
        var marker: String?
        for _ in 0..<5 {
            let request = QueryRequest(query, limit: PageLimit(records: 50), continuationMarker: marker)
            let after = try await database.require(.explainQueries).explain(request)
            #expect(
                after.recordsReturned == 50 && (51...54).contains(after.entriesRead)
                    && (51...52).contains(after.recordsRead))
            #expect(
                after.advice.isEmpty
                    && after.candidates.first { $0.index == .composite(advised) }?.use == .servesBoth)
            marker = try await database.query(request).continuationMarker
        }
        let uses = try await database.require(.keepQueryStatistics).queryStatistics().uses
        #expect(uses.first { $0.index == .composite(advised) }?.count == 1)
        // A more selective filter comes first.
        let fewer = Query(
            recordType: "Item", filters: query.filters + [Self.equal("year", .int64(7))], sorts: query.sorts)
        let explained = try await database.require(.explainQueries).explain(QueryRequest(fewer))
        #expect(explained.candidates.first { $0.index == .composite(advised) }?.use == .passedOver)
        #expect(
            explained.candidates.first { $0.index == .field(.custom("year"), .queryable) }?.use == .servesFilter)
        // A less selective filter only narrows the result.
        let narrowed = Query(
            recordType: "Item", filters: query.filters + [Self.equal("half", .int64(1))], sorts: query.sorts)
        let both = try await database.require(.explainQueries).explain(
            QueryRequest(narrowed, limit: PageLimit(records: 50)))
        #expect(both.candidates.first { $0.index == .composite(advised) }?.use == .servesBoth)
        #expect(both.candidates.first { $0.index == .field(.custom("half"), .queryable) }?.use == .narrows)
        await engine.close()
    }

    /// A composite index is unused and harmless until it is complete.
    @Test func compositeIndexServesWhenItIsComplete() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine, records: 6000)
        let query = Query(
            recordType: "Item", filters: [Self.equal("author", .string("a1"))],
            sorts: [Query.Sort("number", ascending: false)])
        let expected = try await database.all(query).map(\.recordID.recordName)
        let index = CompositeIndex(filter: .custom("author"), sort: .custom("number"))
        _ = try await database.require(.editSchema).edit(
            [.addCompositeIndex(index, in: "Item")], because: .edit, waitingForIndexes: false)
        var uses: Set<QueryExplanation.IndexUse> = []
        repeat {
            let isBuilding = try await !database.require(.showSchema).indexBuilds().isEmpty
            let explanation = try await database.require(.explainQueries).explain(
                QueryRequest(query, limit: PageLimit(records: 20)))
            let use = try #require(explanation.candidates.first { $0.index == .composite(index) }?.use)
            #expect(isBuilding || use == .servesBoth)
            uses.insert(use)
            #expect(try await database.all(query, pageSize: 100).map(\.recordID.recordName) == expected)
        } while !uses.contains(.servesBoth)
        #expect(uses.isSubset(of: [.beingBuilt, .servesBoth]))
        await engine.close()
    }

    /// Longitudes +180° and -180° are one, so the filter has two values, and a composite index answers one.
    @Test func aPlaceOfTwoLongitudesPassesACompositeIndexOver() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        try await database.edit(
            .addCompositeIndex(CompositeIndex(filter: .custom("place"), sort: .custom("number")), in: "Item"))
        let place = Self.equal("place", .location(Location(latitude: 10, longitude: 180)))
        let explanation = try await database.require(.explainQueries).explain(
            QueryRequest(Query(recordType: "Item", filters: [place], sorts: [Query.Sort("number")])))
        let composite = try #require(
            explanation.candidates.first { if case .composite = $0.index { true } else { false } })
        #expect(composite.use == .passedOver, "\(composite)")
        await engine.close()
    }

    @Test func allZonesAreExplainedTogether() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        _ = try await database.modifyZones([.create(notes), .create(ZoneID(zoneName: "Empty"))])
        try await database.save("a", in: notes, ["number": .int64(1)])
        try await database.save("b", ["number": .int64(1)])
        let query = Query(recordType: "Item", filters: [Self.equal("number", .int64(1))])
        let explanation = try await database.require(.explainQueries).explain(QueryRequest(query, in: .allZones))
        #expect(explanation.recordsReturned == 2 && explanation.recordsRead == 2 && explanation.entriesRead == 2)
        #expect(explanation.summary.contains("the zone '_defaultZone', the first of 3"))
        let nothing = try await engine.full(.public).require(.explainQueries).explain(QueryRequest(query))
        #expect(
            nothing.summary == "Nothing is saved there yet."
                && nothing.candidates.allSatisfy { $0.use == .passedOver })
        await engine.close()
    }

    /// Explaining does not affect its connection: queries before, between and after run the same statements.
    @Test func explainingAndQueryingTakeTurns() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<8 {
                group.addTask {
                    for number in 0..<20 {
                        let query = Query(
                            recordType: "Item", filters: [Self.equal("year", .int64(Int64(lane * 20 + number)))],
                            sorts: [Query.Sort("number")])
                        let explanation =
                            lane % 2 == 0
                            ? try await database.require(.explainQueries).explain(QueryRequest(query)) : nil
                        let page = try await database.query(QueryRequest(query))
                        #expect(
                            page.records.count == 2
                                && explanation.map { $0.entriesRead == 4 && $0.recordsRead == 2 } ?? true)
                    }
                }
            }
            try await group.waitForAll()
        }
        await engine.close()
    }

    @Test func spaceOfIndexesIsMeasured() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await Self.fill(engine)
        let composite = CompositeIndex(filter: .custom("author"), sort: .custom("year"))
        try await database.edit(
            .addCompositeIndex(composite, in: "Item"), .setIndexes([], of: .custom("half"), in: "Item"))
        let usage = try await database.require(.measureTypes).usage(of: "Item")
        func field(_ name: Name) throws -> TypeUsage.FieldUsage {
            try #require(usage.fields.first { $0.key.schemaName == name })
        }
        #expect(try field("author").entryBytes > 3000 * 10 && field("author").tokenBytes > 3000 * 10)
        #expect(try field("year").entryBytes > 3000 * 10 && field("year").tokenBytes == 0)
        #expect(try field("half").entryBytes == 0 && field("half").records == 3000 && field("half").distinctValues == 2)
        #expect(usage.compositeBytes[composite].map { $0 > 3000 * 15 } == true)
        #expect(try field("number").distinctValues == 3000 && field("year").distinctValues == 1500)
        await engine.close()
    }

    // MARK: Data

    private static func fill(_ engine: SQLRecordEngine, authors: Int = 3, records: Int = 3000) async throws
        -> any RecordDatabase
    {
        let database = try await engine.full(.private)
        try await database.edit(
            .addType(RecordType(name: "Item", systemIndexes: [.recordID: [.queryable, .sortable]])))
        for start in stride(from: 0, to: records, by: 200) {
            let operations = (start..<(start + 200)).map { operation($0, authors: authors) }
            for outcome in try await database.modify(ModifyRequest(operations)) { _ = try outcome.get() }
        }
        return database
    }

    private static func operation(_ number: Int, authors: Int) -> RecordOperation {
        var fields: [Name: FieldValue] = [
            "author": .string("a\(number % authors)"), "text": .string("word \(number % 100)"),
        ]
        fields["year"] = .int64(Int64(number * 7 % 1500))
        fields["number"] = .int64(Int64(number * 1009 % 3000))
        fields["half"] = .int64(Int64(number / 2 % 2))
        fields["place"] = .location(
            Location(latitude: Double(number % 170) - 85, longitude: Double(number % 350) - 175))
        return RecordOperation(
            .create, recordName: Name(String(format: "r%04d", number)), recordType: "Item",
            fields: fields.mapValues { FieldInput($0) })
    }
}
