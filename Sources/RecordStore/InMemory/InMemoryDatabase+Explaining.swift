internal import JSON
internal import Records

extension InMemoryDatabase: QueryExplaining {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation { throw RecordError(.badRequest, "not written yet") }
}

extension InMemoryDatabase: QueryStatisticsKeeping {
    func queryStatistics() async throws -> QueryStatistics { throw RecordError(.badRequest, "not written yet") }
}

extension InMemoryDatabase: SchemaMeasuring {
    func usage(of recordType: Name) async throws -> TypeUsage { throw RecordError(.badRequest, "not written yet") }
}
