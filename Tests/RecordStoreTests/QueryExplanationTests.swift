import JSON
import RecordStore
import Records
import Testing

/// What an explanation says of a query that does not run.
@Suite struct QueryExplanationTests {
    private static let schema = Schema(types: [
        RecordType(
            name: "Item",
            fields: ["author": FieldDefinition(type: .string), "genre": FieldDefinition(type: .string), "year": FieldDefinition(type: .int64)])
    ])

    private func summary(filters: [Name], sorts: [Name] = []) -> String {
        let query = Query(
            recordType: "Item", filters: filters.map { Query.Filter($0, .equals, FieldInput(.string("a"))) }, sorts: sorts.map { Query.Sort($0) })
        return QueryExplanation(of: query, in: Self.schema, problems: IndexRules.problems(of: query, in: Self.schema)).summary
    }

    /// A type without any index is one problem to the web services; what it hides is counted here.
    @Test func everythingThatIsMissingIsCounted() {
        #expect(summary(filters: ["author"]) == "The query does not run: it lacks one thing.")
        #expect(summary(filters: ["author", "genre"], sorts: ["year"]) == "The query does not run: 3 things stand in its way.")
    }
}
