import Records
import RecordStore
import Testing

/// Declared indexes that are not complete yet.
@Suite struct IndexRulesTests {
    private static let schema = Schema(types: [
        RecordType(
            name: "Item",
            fields: [
                "text": FieldDefinition(type: .string, indexes: [.queryable, .sortable, .searchable]),
                "number": FieldDefinition(type: .int64, indexes: [.queryable]), "bare": FieldDefinition(type: .int64),
                "place": FieldDefinition(type: .location, indexes: .queryable),
            ], systemIndexes: [.recordID: .queryable, .modTime: .sortable])
    ])
    private static let entries = IndexBuildProgress(
        .building, of: .field(.custom("text"), [.queryable, .sortable]), in: "Item", done: 30, total: 100)
    private static let words = IndexBuildProgress(
        .building, of: .field(.custom("text"), .searchable), in: "Item", done: 1, total: 3)

    private func problems(
        _ filters: [Query.Filter] = [], sorts: [Query.Sort] = [], _ builds: [IndexBuildProgress] = [entries, words]
    ) -> [QueryProblem] {
        IndexRules.problems(
            of: Query(recordType: "Item", filters: filters, sorts: sorts), in: Self.schema, building: builds)
    }

    private func text(_ comparator: Records.Comparator) -> Query.Filter {
        Query.Filter("text", comparator, FieldInput(.string("x")))
    }

    @Test func aQueryWaitsForTheIndexThatItNeeds() {
        #expect(problems([text(.equals)]) == [.indexBeingBuilt(.custom("text"), .queryable, percent: 30)])
        #expect(
            problems([text(.greaterThan)]) == [.indexBeingBuilt(.custom("text"), [.queryable, .sortable], percent: 30)])
        #expect(problems([text(.containsAllTokens)]) == [.indexBeingBuilt(.custom("text"), .searchable, percent: 33)])
        #expect(problems(sorts: [Query.Sort("text")]) == [.indexBeingBuilt(.custom("text"), .sortable, percent: 30)])
        #expect(problems([text(.containsAllTokens)], [Self.entries]).isEmpty)
        #expect(problems([text(.equals)], [Self.words]).isEmpty)
    }

    @Test func whatIsDroppedOrOfAnotherTypeIsInNobodysWay() {
        var dropping = Self.entries
        dropping.work = .dropping
        #expect(problems([text(.equals)], [dropping]).isEmpty)
        let other = IndexBuildProgress(
            .building, of: .field(.custom("text"), .queryable), in: "Other", done: 0, total: 9)
        #expect(problems([text(.equals)], [other]).isEmpty)
        let composite = IndexBuildProgress(
            .building, of: .composite(CompositeIndex(filter: .custom("text"), sort: .custom("number"))), in: "Item",
            done: 0, total: 9)
        #expect(problems([text(.equals)], [composite]).isEmpty)
    }

    @Test func allProblemsAreReportedInOrder() {
        let place = IndexBuildProgress(
            .building, of: .field(.custom("place"), .queryable), in: "Item", done: 0, total: 0)
        let found = problems(
            [text(.equals), Query.Filter("bare", .equals, FieldInput(.int64(1)))],
            sorts: [Query.Sort("number"), Query.Sort("place", relativeLocation: Location(latitude: 0, longitude: 0))],
            [Self.entries, place])
        #expect(
            found == [
                .indexBeingBuilt(.custom("text"), .queryable, percent: 30),
                .missingIndex(.custom("bare"), .queryable, word: "queryable"),
                .missingIndex(.custom("number"), .sortable, word: "sortable"),
                .indexBeingBuilt(.custom("place"), .queryable, percent: 0),
            ])
        let error = found[0].error
        #expect(error.code == .tryAgainLater && error.retryAfter == 1)
    }

    /// An invalid query would stay invalid when the index is complete.
    @Test func invalidQueriesAreReportedBeforeIndexBuilds() {
        let filter = Query.Filter("text", .equals, FieldInput(.int64(1)))
        guard case .invalid? = problems([filter]).first else {
            Issue.record("\(problems([filter]))")
            return
        }
    }
}

/// The summary of a query that cannot run.
@Suite struct QueryExplanationTests {
    private static let schema = Schema(types: [
        RecordType(
            name: "Item",
            fields: [
                "author": FieldDefinition(type: .string), "genre": FieldDefinition(type: .string),
                "year": FieldDefinition(type: .int64),
            ])
    ])

    private func summary(filters: [Name], sorts: [Name] = []) -> String {
        let query = Query(
            recordType: "Item", filters: filters.map { Query.Filter($0, .equals, FieldInput(.string("a"))) },
            sorts: sorts.map { Query.Sort($0) })
        return QueryExplanation(of: query, in: Self.schema, problems: IndexRules.problems(of: query, in: Self.schema))
            .summary
    }

    /// For the web services, a type without any index is a single problem. The explanation counts the problems that it
    /// hides.
    @Test func everythingThatIsMissingIsCounted() {
        #expect(summary(filters: ["author"]) == "The query can't run: it has one problem.")
        #expect(summary(filters: ["author", "genre"], sorts: ["year"]) == "The query can't run: it has 3 problems.")
    }
}
