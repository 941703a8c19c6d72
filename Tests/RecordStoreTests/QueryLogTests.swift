import Records
import Testing

@testable import RecordStore

/// The log of queries, which must stay small under any load.
@Suite struct QueryLogTests {
    private let log = QueryLog(since: Timestamp(milliseconds: 1))

    private static func query(_ type: Name, _ value: FieldValue = .int64(1)) -> Query {
        Query(recordType: type, filters: [Query.Filter("a", .equals, FieldInput(value))])
    }

    private func refuse(_ query: Query, _ problems: [QueryProblem] = [.unknownType("T")], at milliseconds: Int64) {
        log.refuse(query, because: problems, of: "_ada", at: Timestamp(milliseconds: milliseconds))
    }

    private func refusals(in schema: Schema = Schema()) -> [QueryStatistics.Refusal] {
        log.statistics(in: schema).refusals
    }

    @Test func theOldestShapeGoesFirst() {
        let limit = QueryStatistics.refusalLimit
        for number in 0..<(limit + 5) { refuse(Self.query(Name("T\(number)")), at: Int64(number)) }
        // It was asked again, so it is not among the oldest.
        refuse(Self.query("T5"), at: 1000)
        refuse(Self.query("New"), at: 1001)
        let found = refusals()
        #expect(found.count == limit)
        #expect(found.prefix(2).map(\.query.recordType) == ["New", "T5"] && found[1].count == 2)
        #expect(!found.contains { $0.query.recordType == "T6" } && found.contains { $0.query.recordType == "T7" })
    }

    @Test func queriesOfOneShapeAreOne() {
        refuse(Self.query("T", .int64(1)), at: 1)
        refuse(Self.query("T", .int64(2)), at: 2)
        var other = Self.query("T")
        other.filters[0].comparator = .notEquals
        refuse(other, at: 3)
        var sorted = Self.query("T")
        sorted.sorts = [Query.Sort("a")]
        refuse(sorted, at: 4)
        sorted.sorts[0].ascending = false
        refuse(sorted, at: 5)
        #expect(refusals().map(\.count) == [1, 1, 1, 2])
        #expect(refusals().last?.query.filters.first?.value == FieldInput(.int64(2)))
    }

    @Test func theLatestComesFirstDespiteTheClock() {
        for (type, moment) in [("A", 5), ("B", 5), ("C", 3)] as [(Name, Int64)] { refuse(Self.query(type), at: moment) }
        #expect(refusals().map(\.query.recordType) == ["C", "B", "A"])
    }

    @Test func largeQueriesAndThoseThatOnlyWaitAreNotRemembered() {
        refuse(Self.query("T", .string(String(repeating: "x", count: QueryLog.sizeLimit + 1))), at: 1)
        refuse(Self.query(Name(String(repeating: "T", count: QueryLog.sizeLimit + 1))), at: 2)
        refuse(Self.query("T", .list(Array(repeating: .string("0123456789"), count: 4000), of: .string)), at: 3)
        refuse(Self.query("T"), [.indexBeingBuilt(.custom("a"), .queryable, percent: 5)], at: 4)
        #expect(refusals().isEmpty)
    }

    @Test func whatWouldRunByNowIsLeftOut() {
        let missing = QueryProblem.missingIndex(.custom("a"), .queryable, word: "queryable")
        refuse(Self.query("T"), [missing], at: 1)
        func schema(_ indexes: Indexes) -> Schema {
            let fields: [Name: FieldDefinition] = [
                "a": FieldDefinition(type: .int64, indexes: indexes),
                "b": FieldDefinition(type: .int64, indexes: .queryable),
            ]
            return Schema(types: [RecordType(name: "T", fields: fields)])
        }
        #expect(refusals(in: schema([])).map(\.problems) == [[missing]])
        #expect(refusals(in: schema(.queryable)).isEmpty)
        let build = IndexBuildProgress(.building, of: .field(.custom("a"), .queryable), in: "T", done: 1, total: 4)
        let building = log.statistics(in: schema(.queryable), building: [build]).refusals.map(\.problems)
        #expect(building == [[.indexBeingBuilt(.custom("a"), .queryable, percent: 25)]])
    }

    @Test func usesOfWhatIsGoneAreForgotten() throws {
        func schema(_ indexes: Indexes, composites: Set<CompositeIndex> = []) -> Schema {
            Schema(types: [
                RecordType(
                    name: "T", fields: ["a": FieldDefinition(type: .int64, indexes: indexes)],
                    compositeIndexes: composites)
            ])
        }
        let composite = CompositeIndex(filter: .custom("a"), sort: .system(.modTime))
        let full = schema(.queryable, composites: [composite])
        let type = try #require(full.types["T"])
        log.note(
            try ResolvedQuery(Self.query("T"), in: full), in: type, servedBy: composite, at: Timestamp(milliseconds: 2))
        #expect(log.statistics(in: full).uses.map(\.count) == [1, 1])
        #expect(log.statistics(in: schema(.queryable)).uses.map(\.index) == [.field(.custom("a"), .queryable)])
        #expect(log.statistics(in: schema(.sortable)).uses.isEmpty)
        // An index that comes back starts with a count of 0.
        #expect(log.statistics(in: full).uses.isEmpty)
        log.note(try ResolvedQuery(Self.query("T"), in: full), in: type, at: Timestamp(milliseconds: 3))
        #expect(log.statistics(in: full).uses.map(\.count) == [1])
        #expect(log.statistics(in: Schema()).uses.isEmpty)
    }

    @Test func everyIndexThatAQueryNeedsIsUsed() throws {
        let all: Indexes = [.queryable, .sortable, .searchable]
        let type = RecordType(
            name: "T",
            fields: [
                "a": FieldDefinition(type: .string, indexes: all),
                "b": FieldDefinition(type: .int64, indexes: .sortable),
                "place": FieldDefinition(type: .location, indexes: .queryable),
            ], systemIndexes: [.recordID: .queryable],
            compositeIndexes: [CompositeIndex(filter: .custom("a"), sort: .custom("b"))])
        let schema = Schema(types: [type])
        func used(_ query: Query, _ composite: CompositeIndex? = nil) throws -> Set<String> {
            let log = QueryLog(since: Timestamp(milliseconds: 0))
            log.note(
                try ResolvedQuery(query, in: schema), in: type, servedBy: composite, at: Timestamp(milliseconds: 1))
            #expect(log.statistics(in: schema).queries == 1, "it is one query, however many indexes it uses")
            return Set(log.statistics(in: schema).uses.map(\.index.description))
        }
        func filter(_ field: Name, _ comparator: Comparator, _ value: FieldValue) -> Query {
            Query(recordType: "T", filters: [Query.Filter(field, comparator, FieldInput(value))])
        }
        #expect(try used(Query(recordType: "T")) == ["recordName QUERYABLE"])
        #expect(try used(filter("a", .notEquals, .string("x"))) == ["a QUERYABLE"])
        #expect(try used(filter("a", .containsAnyTokens, .string("x"))) == ["a SEARCHABLE"])
        // Either index would serve, so both count as used.
        #expect(try used(filter("a", .beginsWith, .string("x"))) == ["a QUERYABLE", "a SORTABLE"])
        #expect(try used(filter("b", .greaterThan, .int64(1))) == ["b SORTABLE"])
        var query = filter("a", .equals, .string("x"))
        query.sorts = [Query.Sort("b"), Query.Sort("place", relativeLocation: Location(latitude: 0, longitude: 0))]
        let composite = CompositeIndex(filter: .custom("a"), sort: .custom("b"))
        #expect(try used(query, composite) == ["a QUERYABLE", "b SORTABLE", "place QUERYABLE", "a + b"])
    }
}
