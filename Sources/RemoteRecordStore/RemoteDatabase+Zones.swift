internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
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

    func purge(_ zoneID: ZoneID) async throws {
        _ = try await line.post("zones/purge", of: .skylight, .saves) { $0.member(zoneID: zoneID) }
    }

    func referrers(to recordID: RecordID, limit: Int) async throws -> [Referrer] {
        let answer = try await line.post("records/referrers", of: .skylight, .reads) { writer in
            writer.member("recordName", recordID.recordName)
            writer.member(zoneID: recordID.zoneID)
            writer.member("resultsLimit", Int64(max(1, limit)))
        }
        return try answer.array("referrers").prefix(max(0, limit)).map { try $0.referrer() }
    }

    func counts(in zoneID: ZoneID) async throws -> ZoneCounts {
        let answer = try await line.post("records/counts", of: .skylight, .reads) { $0.member(zoneID: zoneID) }
        return ZoneCounts(
            records: try answer.object("records").integers().mapValues { Int($0) }, deletions: Int(try answer.integer("deletions")))
    }
}
