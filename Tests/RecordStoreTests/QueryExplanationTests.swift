import RecordStore
import Records
import Testing

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
