internal import JSON
internal import RecordStore
internal import Records

extension RemoteDatabase {
    func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: "records/resolve", .reads)
    }

    func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await following(shortGUIDs, by: "records/accept", .saves)
    }

    /// The server knows the addresses of the caller itself.
    private func following(
        _ shortGUIDs: [String], by action: String, _ purpose: ServerClient.Purpose
    ) async throws -> [Result<ResolvedShare, RecordError>] {
        try await inParts(shortGUIDs) { part in
            let answer = try await line.post(action, of: .database, purpose) { writer in
                writer.name("shortGUIDs")
                writer.array { writer in
                    for shortGUID in part {
                        writer.object { $0.member("value", shortGUID) }
                    }
                }
            }
            return try answer.results("results") { try $0.resolvedShare(for: caller.userRecordName) }
        }
    }
}

extension Answer {
    fileprivate func resolvedShare(for user: Name) throws -> ResolvedShare {
        let record = try object("share").record()
        guard let share = record.sharing?.share else { throw unexpected("a share") }
        let status = ShareParticipant.Status(rawValue: try string("participantStatus"))
        let participant = share.participant(user) ?? share.participants.first { $0.status == .invited && $0.status == status && $0.userRecordName == nil }
        return ResolvedShare(
            shortGUID: share.shortGUID, share: record, root: try optionalObject("rootRecord")?.record(), participant: participant,
            isOwner: try string("databaseScope") == "PRIVATE")
    }

    /// What a record in an answer says about sharing; `nil` if it says nothing.
    func sharing() throws -> RecordSharing? {
        guard let shortGUID = try optionalString("shortGUID") else { return nil }
        guard case .array(let participants)? = try value("participants") else {
            return RecordSharing(shortGUID: shortGUID, shareName: try optionalObject("share")?.name("recordName"))
        }
        guard let permission = SharePermission(rawValue: try string("publicPermission")) else { throw unexpected("a permission that is known") }
        let share = Share(rootName: nil, shortGUID: shortGUID, publicPermission: permission, participants: try participants.map { try ShareParticipant($0) })
        return RecordSharing(shortGUID: shortGUID, share: share)
    }
}
