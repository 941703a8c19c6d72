internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await follow(shortGUIDs, "records/resolve", .reads, addresses)
    }

    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await follow(shortGUIDs, "records/accept", .saves, addresses)
    }

    /// - Parameter addresses: only to recognize the invitation in the answer. The server goes by the addresses that it knows of the caller.
    private func follow(
        _ shortGUIDs: [String], _ action: String, _ purpose: ServerClient.Purpose, _ addresses: LookupInfo
    ) async throws -> [Result<ResolvedShare, RecordError>] {
        try await inParts(shortGUIDs) { part in
            let answer = try await line.post(action, of: .database, purpose) { writer in
                writer.name("shortGUIDs")
                writer.array { writer in
                    for shortGUID in part { writer.object { $0.member("value", shortGUID) } }
                }
            }
            return try answer.results("results") { item in
                let record = try item.object("share").record()
                guard let share = record.sharing?.share else { throw item.unexpected("a share") }
                let participant = share.participant(caller.userRecordName)
                    ?? share.participants.first { $0.status == .invited && $0.userRecordName == nil && $0.lookupInfo.matches(addresses) }
                return ResolvedShare(
                    shortGUID: share.shortGUID, share: record, root: try item.optionalObject("rootRecord")?.record(), participant: participant,
                    isOwner: try item.string("databaseScope") == "PRIVATE")
            }
        }
    }
}
