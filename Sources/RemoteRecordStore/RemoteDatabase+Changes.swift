internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        let answer = try await line.post("changes/zones", of: .skylight, .reads) { writer in
            try writer.member(since: request.since)
            writer.member("includesGoneZones", request.includesGoneZones)
            writer.member("resultsLimit", Int64(request.limit))
        }
        return DatabaseChangesPage(
            changes: try answer.array("zones").map { try $0.zoneChange() }, syncToken: try answer.token(), moreComing: try answer.bool("moreComing"))
    }

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let answer = try await line.post("changes/page", of: .skylight, .reads) { writer in
            writer.member(zoneID: request.zoneID)
            try writer.member(since: request.since)
            writer.members(of: request.limit)
            writer.member("desiredKeys", request.desiredKeys)
            writer.member("desiredRecordTypes", request.desiredRecordTypes)
            writer.member("reverse", request.reverse)
        }
        return ZoneChangesPage(
            zoneID: try answer.zoneID(), changes: try answer.array("changes").map { try $0.change() }, syncToken: try answer.token(),
            moreComing: try answer.bool("moreComing"))
    }

    func currentToken() async throws -> ChangeToken {
        try await line.get("token/current", of: .skylight).token()
    }

    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        guard !token.bytes.isEmpty else { throw TokenCodec.foreign }
        return try await line.get("token/explain", of: .skylight, parameters: ["token": token.text]).explanation()
    }

    func expireTokens() async throws {
        _ = try await line.post("tokens/expire", of: .skylight, .saves) { _ in }
    }

    func list(_ request: RecordListRequest) async throws -> RecordListPage {
        let answer = try await line.post("records/list", of: .skylight, .reads) { writer in
            writer.member(zoneID: request.zoneID)
            if let after = request.after { writer.member("after", after) }
            writer.member("recordTypes", request.recordTypes)
            writer.members(of: request.limit)
        }
        return RecordListPage(
            records: try answer.array("records").map { try $0.record() }, last: try answer.optionalString("last").map { Name($0) })
    }
}
