internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase: SchemaEditing {
    func schema() async throws -> Schema {
        try Self.schema(try await line.get("schema", of: .skylight))
    }

    func edit(_ edits: [SchemaEdit], because reason: SchemaHistoryEntry.Reason, waitingForIndexes: Bool) async throws -> Schema {
        let answer = try await line.post("schema/edit", of: .skylight, .saves) { writer in
            writer.name("edits")
            writer.array { writer in
                for edit in edits { writer.value(edit) }
            }
        }
        return try Self.schema(answer)
    }

    private static func schema(_ answer: Answer) throws -> Schema {
        guard let types = try answer.value("types"), let roles = try answer.value("roles") else { throw answer.unexpected("a schema") }
        return try Schema(["types": types, "roles": roles])
    }

    func indexBuilds() async throws -> [IndexBuildProgress] { [] }

    func deploy(_ development: Schema, waitingForIndexes: Bool) async throws -> Schema { throw RecordError(.badRequest, "not written yet") }

    func reset(to production: Schema) async throws -> Schema { throw RecordError(.badRequest, "not written yet") }

    func schemaHistory(before: Int64?, limit: Int) async throws -> [SchemaHistoryEntry] { [] }
}

extension RemoteDatabase: QueryExplaining {
    func explain(_ request: QueryRequest) async throws -> QueryExplanation { throw RecordError(.badRequest, "not written yet") }
}

extension RemoteDatabase: QueryStatisticsKeeping {
    func queryStatistics() async throws -> QueryStatistics { throw RecordError(.badRequest, "not written yet") }
}

extension RemoteDatabase: SchemaMeasuring {
    func usage(of recordType: Name) async throws -> TypeUsage { throw RecordError(.badRequest, "not written yet") }
}

extension RemoteDatabase: ZoneSharing {
    func share(_ zoneID: ZoneID, with participant: ZoneParticipant) async throws {
        _ = try await line.post("zones/share", of: .skylight, .saves) { writer in
            writer.member(zoneID: zoneID)
            writer.member("userRecordName", participant.userRecordName)
            writer.member("permission", participant.permission.rawValue)
        }
    }

    func stopSharing(_ zoneID: ZoneID, with userRecordName: Name) async throws {
        _ = try await line.post("zones/unshare", of: .skylight, .saves) { writer in
            writer.member(zoneID: zoneID)
            writer.member("userRecordName", userRecordName)
        }
    }

    func participants(of zoneID: ZoneID) async throws -> [ZoneParticipant] {
        try await line.post("zones/participants", of: .skylight, .reads) { $0.member(zoneID: zoneID) }.array("participants").map { try $0.participant() }
    }
}

extension RemoteDatabase: ZonePurging {
    func purge(_ zoneID: ZoneID) async throws {
        _ = try await line.post("zones/purge", of: .skylight, .saves) { $0.member(zoneID: zoneID) }
    }
}

extension RemoteDatabase: ReferenceTracing {
    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        let answer = try await line.post("records/referrers", of: .skylight, .reads) { writer in
            writer.member("recordName", recordID.recordName)
            writer.member(zoneID: recordID.zoneID)
            writer.member("resultsLimit", Int64(max(1, limit)))
        }
        return try answer.array("referrers").prefix(max(0, limit)).map { try $0.referrer() }
    }
}

extension RemoteDatabase: RecordCounting {
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        let answer = try await line.post("records/counts", of: .skylight, .reads) { $0.member(zoneID: zoneID) }
        return ZoneCounts(
            records: try answer.object("records").integers().mapValues { Int($0) }, deletions: Int(try answer.integer("deletions")))
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ edit: SchemaEdit) {
        object { writer in
            switch edit {
            case .addType(let type):
                writer.name("addType")
                writer.value(type)
            case .setIndexes(let indexes, let field, let recordType):
                writer.name("setIndexes")
                writer.value(indexes)
                writer.member("field", field.schemaName)
                writer.member("recordType", recordType)
            default: break
            }
        }
    }
}
