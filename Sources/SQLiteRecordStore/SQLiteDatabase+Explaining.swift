internal import GRDB
internal import JSON
internal import RecordStore
internal import Records

extension SQLiteDatabase: QueryExplaining {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation { throw RecordError(.badRequest, "not written yet") }
}

extension SQLiteDatabase: QueryStatisticsKeeping {
    func queryStatistics() async throws -> QueryStatistics { throw RecordError(.badRequest, "not written yet") }
}

extension SQLiteDatabase: SchemaMeasuring {
    func usage(of recordType: Name) async throws -> TypeUsage { throw RecordError(.badRequest, "not written yet") }
}
