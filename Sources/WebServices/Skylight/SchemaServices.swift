internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

// The schema belongs to the container's environment: through whichever of its databases it is asked for, it is the same.

/// `schema`: the types, fields, indexes and grants of the container's environment.
struct SchemaRead: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        writer.value(try await call.schemaEditing().schema())
    }
}

/// `schema/text`: the same in CloudKit's schema language, to be kept as a file.
enum SchemaTextService {
    @Sendable static func answer(_ request: FeedRequest) async throws -> Response {
        guard let editing = request.database as? any SchemaEditing else { throw request.unable("show its schema") }
        let address = editing.address
        var response = Response.text(try await editing.schema().text)
        response.headers[.contentDisposition] = "attachment; filename=\"\(address.container)-\(address.environment.rawValue).ckdb\""
        return response
    }
}

/// `schema/edit`: changes types, fields, indexes, grants and roles, all edits or none. Unless it says otherwise it answers when new indexes
/// are complete.
struct SchemaEdits: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let edits = try call.body.required("edits", "an array", call.body.objects("edits")).map { try $0.schemaEdit() }
        let reason = try call.body.historyReason()
        let waits = try call.body.waitsForIndexes()
        let editing = try await call.schemaEditing()
        let resolved = try await editing.schema().resolvingNames(in: edits)
        let schema = try await editing.edit(resolved, because: reason, waitingForIndexes: waits)
        let builds = try await editing.indexBuilds()
        writer.object { writer in
            writer.members(of: schema)
            writer.members(of: builds)
        }
    }
}

/// `schema/builds`: how far indexes are that are being built, or removed.
struct SchemaBuilds: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let builds = try await call.schemaEditing().indexBuilds()
        writer.object { $0.members(of: builds) }
    }
}

/// `schema/history`: what changed the schema, latest first.
struct SchemaHistory: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let before = try call.body.wholeNumber("before", from: 1).map { Int64($0) }
        let limit = try call.body.resultsLimit() ?? RequestObject.pageLimit
        let entries = try await call.schemaEditing().schemaHistory(before: before, limit: limit)
        writer.object { writer in
            writer.name("entries")
            writer.array { writer in
                for entry in entries { writer.value(entry) }
            }
            // A page that is not full is the last one.
            if entries.count == limit, let last = entries.last { writer.member("before", last.number) }
        }
    }
}

/// `schema/usage`: what the records of a type hold, and what its indexes take.
struct SchemaUsage: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let recordType = try call.body.required("recordType", "a string", call.body.name("recordType"))
        guard let database = try await call.database() as? any SchemaMeasuring else { throw call.unable("measure its types") }
        writer.value(try await database.usage(of: recordType))
    }
}

/// `schema/counts`: how many records a type has, and how many of them have a value in some fields.
struct SchemaCounts: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let recordType = try call.body.required("recordType", "a string", call.body.name("recordType"))
        let fields = try call.body.names("fields") ?? []
        guard let database = try await call.database() as? any SchemaMeasuring else { throw call.unable("measure its types") }
        writer.value(try await database.valueCounts(of: Set(fields), in: recordType))
    }
}

extension EndpointCall {
    func schemaEditing() async throws -> any SchemaEditing {
        guard let database = try await database() as? any SchemaEditing else { throw unable("show and change its schema") }
        return database
    }
}

extension RequestObject {
    /// Whether to answer only when new indexes are complete.
    func waitsForIndexes() throws -> Bool { try bool("wait") ?? true }

    /// What the history is to say of a change.
    fileprivate func historyReason() throws -> SchemaHistoryEntry.Reason {
        guard let name = try string("reason") else { return .edit }
        // The others say what the server itself saw.
        let known: [SchemaHistoryEntry.Reason] = [.edit, .schemaImport, .data]
        guard let reason = known.first(where: { $0.rawValue == name }) else {
            throw RecordError.unexpectedInput("Unknown reason '\(name)'; known are \(known.map(\.rawValue).joined(separator: ", "))")
        }
        return reason
    }
}

extension JSONWriter {
    mutating func members(of builds: [IndexBuildProgress]) {
        name("builds")
        array { writer in
            for build in builds { writer.value(build) }
        }
    }
}
