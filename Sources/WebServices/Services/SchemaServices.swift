internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

// The schema belongs to the container's environment. It is the same for all its databases.

/// `schema`: returns the types, fields, indexes and grants of the container's environment.
struct SchemaRead: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        writer.value(try await call.database().require(.showSchema).schema())
    }
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

/// `schema/edit`: changes types, fields, indexes, grants and roles in one atomic change. By default it waits until new
/// indexes are complete.
struct SchemaEdits: Endpoint {
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let edits = try call.body.required("edits", "an array", call.body.objects("edits")).map { try $0.schemaEdit() }
        let reason = try call.body.historyReason()
        let waits = try call.body.waitsForIndexes()
        let database = try await call.database()
        let resolved = try await database.require(.showSchema).schema().resolvingNames(in: edits)
        let schema = try await database.require(.editSchema).edit(resolved, because: reason, waitingForIndexes: waits)
        let builds = try await database.require(.showSchema).indexBuilds()
        writer.object { writer in
            writer.members(of: schema)
            writer.members(of: builds)
        }
    }
}

/// `schema/builds`: returns the progress of indexes that are being built or removed.
struct SchemaBuilds: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let builds = try await call.database().require(.showSchema).indexBuilds()
        writer.object { $0.members(of: builds) }
    }
}

/// `schema/history`: lists the changes of the schema, the latest first.
struct SchemaHistory: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let before = try call.body.wholeNumber("before", from: 1).map { Int64($0) }
        let limit = try call.body.resultsLimit() ?? RequestObject.pageLimit
        let entries = try await call.database().require(.showSchema).schemaHistory(before: before, limit: limit)
        writer.object { writer in
            writer.name("entries")
            writer.array { writer in
                for entry in entries { writer.value(entry) }
            }
            // Only full pages get a position to continue from.
            if entries.count == limit, let last = entries.last { writer.member("before", last.number) }
        }
    }
}

/// `schema/usage`: returns the values in the records of a type, and the size of its indexes.
struct SchemaUsage: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let recordType = try call.body.required("recordType", "a string", call.body.name("recordType"))
        let database = try await call.database()
        writer.value(try await database.require(.measureTypes).usage(of: recordType))
    }
}

/// `schema/counts`: counts the records of a type, and the records with a value in the given fields.
struct SchemaCounts: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let recordType = try call.body.required("recordType", "a string", call.body.name("recordType"))
        let fields = try call.body.names("fields") ?? []
        let database = try await call.database()
        writer.value(try await database.require(.measureTypes).valueCounts(of: Set(fields), in: recordType))
    }
}

extension RequestObject {
    /// True if the answer must wait until new indexes are complete.
    func waitsForIndexes() throws -> Bool { try bool("wait") ?? true }

    /// The reason of a change in the history.
    fileprivate func historyReason() throws -> SchemaHistoryEntry.Reason {
        guard let name = try string("reason") else { return .edit }
        // Clients cannot give the other reasons, which the server records itself.
        let known: [SchemaHistoryEntry.Reason] = [.edit, .schemaImport, .data]
        guard let reason = known.first(where: { $0.rawValue == name }) else {
            throw RecordError.unexpectedInput(
                "Unknown reason '\(name)'; known are \(known.map(\.rawValue).joined(separator: ", "))")
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

// MARK: - Edits in requests

extension RequestObject {
    private static let editNames: [Name] = [
        "addType", "removeType", "removeField", "setIndexes", "addIndexes", "dropIndexes", "setGrants", "addGrants",
        "addRole", "removeRole",
        "addCompositeIndex", "removeCompositeIndex",
    ]

    /// A schema edit: an object with exactly one member, which names the kind of edit (docs/services.md).
    func schemaEdit() throws -> SchemaEdit {
        let found = Self.editNames.filter { value($0) != nil }
        guard let name = found.first, found.count == 1 else {
            let what = found.isEmpty ? "none" : found.map(\.string).joined(separator: ", ")
            throw RecordError.unexpectedInput(
                "Expected '\(place)' to have one of \(Self.editNames.map(\.string).joined(separator: ", ")), found \(what)"
            )
        }
        switch name {
        case "addType": return .addType(try RecordType(try value(name, "an object")))
        case "removeType": return .removeType(try self.name(name, "a string"))
        case "removeField": return .removeField(try self.name(name, "a string"), in: try recordType())
        case "setIndexes": return .setIndexes(try indexes(name), of: try field(), in: try recordType())
        case "addIndexes": return .addIndexes(try indexes(name), of: try field(), in: try recordType())
        case "dropIndexes": return .dropIndexes(try indexes(name), of: try field(), in: try recordType())
        case "setGrants": return .setGrants(try grants(name), of: try recordType())
        case "addGrants": return .addGrants(try grants(name), of: try recordType())
        case "addRole": return .addRole(try self.name(name, "a string"))
        case "removeRole": return .removeRole(try self.name(name, "a string"))
        case "addCompositeIndex":
            return .addCompositeIndex(try CompositeIndex(try value(name, "an object")), in: try recordType())
        default: return .removeCompositeIndex(try CompositeIndex(try value(name, "an object")), in: try recordType())
        }
    }

    private func indexes(_ name: Name) throws -> Indexes {
        try Indexes(names: try required(name, "an array", names(name)))
    }

    private func grants(_ name: Name) throws -> [Grant] {
        try required(name, "an array", objects(name)).map { try Grant(.object($0.members)) }
    }

    private func field() throws -> FieldKey { FieldKey(schemaName: try name("field", "a string")) }

    private func recordType() throws -> Name { try name("recordType", "a string") }

    private func name(_ name: Name, _ kind: String) throws -> Name { try required(name, kind, self.name(name)) }

    private func value(_ name: Name, _ kind: String) throws -> JSONValue { try required(name, kind, value(name)) }
}
