internal import CloudKitClient
public import RecordStore
public import Records

extension CloudKitDatabase {
    /// - Parameter addresses: not sent. CloudKit goes by the addresses that it knows of the user.
    public func resolve(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try await asking { try await client.resolveShares(shortGUIDs) }.map(resolved)
    }

    /// - Parameter addresses: as for ``resolve(_:by:)``.
    public func accept(_ shortGUIDs: [String], by addresses: LookupInfo) async throws -> [Result<ResolvedShare, RecordError>] {
        try checkWritable()
        return try await asking { try await client.acceptShares(shortGUIDs) }.map(resolved)
    }

    private func resolved(_ answer: Result<ReceivedShareMetadata, ServerError>) -> Result<ResolvedShare, RecordError> {
        switch answer {
        case .failure(let error): .failure(RecordError(error))
        case .success(let received): Result { try resolved(received) }.mapError { RecordError($0, at: connection) }
        }
    }

    private func resolved(_ received: ReceivedShareMetadata) throws -> ResolvedShare {
        var share = try stored(received.share)
        if let sharing = share.sharing, var top = sharing.share {
            // Only this answer tells the root.
            top.rootName = received.rootRecordName
            share.sharing = RecordSharing(shortGUID: sharing.shortGUID, share: top)
        }
        return ResolvedShare(
            shortGUID: received.shortGUID, share: share, root: try received.rootRecord.map { try stored($0) }, participant: received.participant,
            isOwner: received.databaseScope == .private)
    }
}

extension ReceivedShareMetadata {
    /// The user's part or invitation. Who came by the link and has not joined has none.
    fileprivate var participant: ShareParticipant? {
        if let own = share.currentUserParticipant { return own.participant }
        guard let role = participantType, let status = participantStatus, role != .publicUser || status == .accepted else { return nil }
        return ShareParticipant(participantID: "", role: role, status: status, permission: participantPermission ?? .none)
    }
}
