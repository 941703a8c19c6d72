public import Records

/// The rules of records/resolve and records/accept, shared by all engines: finding the share of a link, and joining
/// it.
public struct ShareAcceptance {
    private let transaction: any RecordTransaction
    private let caller: Caller
    private let now: Timestamp
    /// The addresses by which the caller may have been invited.
    private let addresses: LookupInfo
    private let walkLimit: Int

    /// - Parameter walkLimit: maximum number of records that an acceptance adds to the guest's view at once. The rest
    ///   is added after the commit.
    public init(
        _ transaction: any RecordTransaction, caller: Caller, addresses: LookupInfo, now: Timestamp,
        walkLimit: Int = BatchModifier.cascadeLimit
    ) {
        self.transaction = transaction
        self.caller = caller
        self.addresses = addresses
        self.now = now
        self.walkLimit = walkLimit
    }

    /// The share with the given link, without regard to the caller's rights.
    /// - Throws: `RecordError` NOT_FOUND if no share has this link.
    public func share(linkedBy shortGUID: String) throws -> ResolvedShare {
        let (hierarchy, record, share) = try find(shortGUID)
        return try resolved(record, share, hierarchy)
    }

    /// The share with the given link.
    /// - Returns: the share. For a caller who is not invited, the owner is its only participant.
    /// - Throws: `RecordError` NOT_FOUND if no share has this link; ACCESS_DENIED if the caller is not invited and the
    ///   share is not open to everybody with the link.
    public func resolve(_ shortGUID: String) throws -> ResolvedShare {
        let (hierarchy, record, share) = try find(shortGUID)
        var resolved = try resolved(record, share, hierarchy)
        if resolved.isOwner { return resolved }
        let permission = resolved.participant.map { share.permission(of: $0) } ?? share.publicPermission
        if permission == .none { throw ShareRules.notInvited }
        if resolved.participant == nil {
            var shown = share
            shown.participants.removeAll { $0.role != .owner }
            resolved.share.sharing = RecordSharing(
                shortGUID: share.shortGUID, share: shown, hierarchy: hierarchy.number)
        }
        return resolved
    }

    /// Adds the caller to the participants of a share. A second acceptance changes nothing, unless another invitation
    /// gives a higher permission.
    /// - Throws: the errors of ``resolve(_:)``; BAD_REQUEST for the owner of the share, or if there are too many
    ///   participants; AUTHENTICATION_REQUIRED for an anonymous caller.
    public func accept(_ shortGUID: String) throws -> ResolvedShare {
        if caller.access == .anonymous { throw GrantRules.signInNeeded }
        let (hierarchy, record, share) = try find(shortGUID)
        let accepted = try ShareRules.accept(share, as: caller.userRecordName, addresses, at: now)
        if accepted == share { return try resolved(record, share, hierarchy) }
        let signature = Signature(timestamp: now, userRecordName: caller.userRecordName, deviceID: caller.deviceID)
        let sharing = RecordSharing(shortGUID: share.shortGUID, share: accepted, hierarchy: hierarchy.number)
        let saved = try transaction.save(
            RecordDraft(
                of: record, replacing: record, modified: record.modified, recordChangeTag: nil, sharing: sharing),
            replacing: record, in: hierarchy.zone)
        let view = try transaction.admit(
            caller.userRecordName, to: hierarchy, accepted.permission(of: caller.userRecordName))
        if let rootName = hierarchy.rootName {
            try transaction.update(saved, in: hierarchy.zone, wasElsewhere: false, by: signature)
            if let root = try transaction.record(named: rootName, in: hierarchy.zone) {
                try transaction.show(root, in: view)
            }
            var walk = HierarchyWalk([
                HierarchyWalk.Item(zone: hierarchy.zone, name: rootName, view: view, hides: false, signature: signature)
            ])
            let isFinished = try walk.run(in: transaction) { [transaction, walkLimit] in
                $0 < walkLimit && !transaction.hasWorkedLong
            }
            if !isFinished { try transaction.enqueue(walk.items) }
        }
        return try resolved(saved, accepted, hierarchy)
    }

    private func find(_ shortGUID: String) throws -> (Hierarchy, StoredRecord, Share) {
        guard let hierarchy = try transaction.hierarchy(shortGUID: shortGUID),
            let record = try transaction.record(named: hierarchy.shareName, in: hierarchy.zone),
            let share = record.sharing?.share
        else { throw ShareRules.unknownLink }
        return (hierarchy, record, share)
    }

    private func resolved(_ record: StoredRecord, _ share: Share, _ hierarchy: Hierarchy) throws -> ResolvedShare {
        let user = caller.userRecordName
        let participant =
            share.invitation(of: user, addresses).map { share.participants[$0] } ?? share.participant(user)
        return ResolvedShare(
            shortGUID: share.shortGUID, share: record,
            root: try hierarchy.rootName.flatMap { try transaction.record(named: $0, in: hierarchy.zone) },
            participant: participant, isOwner: share.owner?.userRecordName == user)
    }
}

/// The share to which a link leads.
public struct ResolvedShare: Sendable, Hashable {
    public var shortGUID: String
    /// The record that contains the share.
    public var share: StoredRecord
    /// The record at the top of the hierarchy; `nil` if the whole zone is shared.
    public var root: StoredRecord?
    /// The participant that the caller is, or the caller's invitation; `nil` for a caller who may only join by the
    /// link.
    public var participant: ShareParticipant?
    public var isOwner: Bool

    public init(
        shortGUID: String, share: StoredRecord, root: StoredRecord?, participant: ShareParticipant?, isOwner: Bool
    ) {
        self.shortGUID = shortGUID
        self.share = share
        self.root = root
        self.participant = participant
        self.isOwner = isOwner
    }
}
