internal import JSON
internal import RecordStore
internal import Records

/// `records/explain`: explains how a page of a query is read, or why the query cannot run. Takes the same body as `records/query`.
struct RecordsExplain: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let request = try RecordsQuery.request(call.body, limit: call.body.widePageLimit())
        let database = try await call.database()
        let explanation = try await database.explain(request)
        let remedy = explanation.problems.isEmpty ? nil : try await Self.remedy(of: explanation.problems, request.query, in: database)
        writer.object { writer in
            writer.members(of: explanation)
            guard let remedy else { return }
            writer.name("remedy")
            writer.array { writer in
                for edit in remedy { writer.value(edit) }
            }
        }
    }

    /// The schema edits that let the query run; `nil` if there is no such record type.
    private static func remedy(of problems: [QueryProblem], _ query: Query, in database: any RecordDatabase) async throws -> [SchemaEdit]? {
        guard database.can(.showSchema), let type = try await database.schema().types[query.recordType] else { return nil }
        return IndexNeeds(problems, of: query, type: type).edits(of: type.name)
    }
}

/// `query/statistics`: returns the indexes that the queries of the environment used and lacked.
struct QueryStatisticsRead: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let database = try await call.database()
        writer.value(try await database.queryStatistics())
    }
}
