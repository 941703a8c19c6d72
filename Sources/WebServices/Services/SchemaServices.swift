internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

/// The services of the schema. It belongs to the container's environment, and is the same for all its databases.
enum SchemaServices {
    private typealias Rows = DatabaseServices

    static let rows: [DatabaseService] = [
        Rows.schema.serve { call, _ in try await call.database().require(.showSchema).schema() },
        // By default it waits until new indexes are complete.
        Rows.editSchema.serve { call, request in
            let (edits, reason, waits) = request
            let database = try await call.database()
            let resolved = try await database.require(.showSchema).schema().resolvingNames(in: edits)
            let schema = try await database.require(.editSchema).edit(
                resolved, because: reason, waitingForIndexes: waits)
            return (schema, try await database.require(.showSchema).indexBuilds())
        },
        Rows.indexBuilds.serve { call, _ in try await call.database().require(.showSchema).indexBuilds() },
        Rows.schemaHistory.serve { call, request in
            let (before, limit) = request
            let entries = try await call.database().require(.showSchema).schemaHistory(before: before, limit: limit)
            return (entries, entries.count == limit ? entries.last?.number : nil)
        },
        Rows.usage.serve { call, recordType in
            try await call.database().require(.measureTypes).usage(of: recordType)
        },
        Rows.valueCounts.serve { call, request in
            let (recordType, fields) = request
            return try await call.database().require(.measureTypes).valueCounts(of: Set(fields), in: recordType)
        },
        Rows.queryStatistics.serve { call, _ in
            try await call.database().require(.keepQueryStatistics).queryStatistics()
        },
    ]
}

/// `schema/text`: returns the schema as a file in CloudKit's schema language.
enum SchemaTextService {
    @Sendable static func answer(_ request: FeedRequest) async throws -> Response {
        let address = request.database.address
        var response = Response.text(try await request.database.require(.showSchema).schema().text)
        response.headers[.contentDisposition] =
            "attachment; filename=\"\(address.container)-\(address.environment.rawValue).ckdb\""
        return response
    }
}
