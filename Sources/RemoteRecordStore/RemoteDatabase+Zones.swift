internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
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
