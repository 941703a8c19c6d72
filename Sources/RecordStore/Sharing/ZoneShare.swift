internal import Foundation
public import Records

/// A share that has not ended, as seen by the owner of its zone or by one of its guests.
public struct ZoneShare: Sendable, Hashable {
    /// The record that contains the share. Its zone is the shared zone, or the one with the shared records.
    public var record: StoredRecord
    public var share: Share
    /// The number in the records that guests see through this share (``Records/RecordSharing/hierarchy``). If the zone
    /// is shared as a whole, only the record of the share contains it. Later shares have higher numbers.
    public var hierarchy: Int64

    public var zoneID: ZoneID { record.recordID.zoneID }
    /// Name of the record at the top; `nil` if the whole zone is shared.
    public var rootName: Name? { share.rootName }
    /// The title set in the record; `nil` if there is none.
    public var givenTitle: String? { text(of: Share.titleField) }
    /// The title set in the record, or else the name of the root or of the zone.
    public var title: String { givenTitle ?? (rootName ?? zoneID.zoneName).string }
    /// The uniform type identifier of the shared content, as set by the app; `nil` if there is none.
    public var givenType: String? { text(of: Share.typeField) }

    private func text(of field: Name) -> String? {
        guard case .string(let text)? = (try? record.fields.values(of: [field]))?[field], !text.isEmpty else {
            return nil
        }
        return text
    }

    /// - Returns: `nil` for a record that contains no share.
    public init?(_ record: StoredRecord) {
        guard let share = record.sharing?.share, let hierarchy = record.sharing?.hierarchy else { return nil }
        (self.record, self.share, self.hierarchy) = (record, share, hierarchy)
    }
}

/// All records of a zone with their parents and hierarchies, without their fields.
public struct ZoneTree: Sendable, Hashable {
    /// A record in the tree.
    public struct Node: Sendable, Hashable {
        public var recordName: Name
        public var recordType: Name
        public var parent: Name?
        /// Number of the hierarchy through which guests see the record; `nil` if there is none. The share of the
        /// hierarchy may have ended.
        public var hierarchy: Int64?

        public init(recordName: Name, recordType: Name, parent: Name?, hierarchy: Int64?) {
            self.recordName = recordName
            self.recordType = recordType
            self.parent = parent
            self.hierarchy = hierarchy
        }
    }

    /// Ordered by the records' latest changes.
    public var nodes: [Node]
    /// False if the zone has more records.
    public var isComplete: Bool

    public init(nodes: [Node], isComplete: Bool) {
        self.nodes = nodes
        self.isComplete = isComplete
    }
}

extension RecordDatabase {
    /// The share through which guests see a record; `nil` if there is none. A share of the whole zone covers all its
    /// records.
    public func share(showing record: StoredRecord) async throws -> ZoneShare? {
        let zoneID = record.recordID.zoneID
        let listing = try require(.listShares)
        if let number = record.sharing?.hierarchy,
            let share = try await listing.shares(in: zoneID, after: number - 1, limit: 1).first,
            share.hierarchy == number
        {
            return share
        }
        return try await listing.shares(in: zoneID, after: nil, limit: 1).first { $0.rootName == nil }
    }
}

// MARK: - Zones shared with one user

/// A user with whom a zone is shared.
public struct ZoneParticipant: Sendable, Hashable {
    public enum Permission: String, Sendable, Hashable, CaseIterable {
        case readOnly = "READ_ONLY"
        case readWrite = "READ_WRITE"
    }

    public var userRecordName: Name
    public var permission: Permission

    public init(userRecordName: Name, permission: Permission) {
        self.userRecordName = userRecordName
        self.permission = permission
    }
}

extension ZoneParticipant.Permission: JSONWord {}

extension ZoneParticipant: JSONObjectCoded {
    package static let form = JSONForm(
        ZoneParticipant.init(userRecordName:permission:), JSONPart("userRecordName", \.userRecordName),
        JSONPart("permission", \.permission))
}

extension SharePermission {
    public init(_ permission: ZoneParticipant.Permission) {
        self = permission == .readWrite ? .readWrite : .readOnly
    }
}

extension ZoneParticipant.Permission {
    /// The permission of a participant. `.none` becomes read-only: participation requires the right to read.
    public init(_ permission: SharePermission) {
        self = permission == .readWrite ? .readWrite : .readOnly
    }
}

// Sharing a whole zone with one user, who needs no link. A shortcut for saving the record `cloudkit.zoneshare` and
// accepting the share as that user.

extension RecordDatabase {
    /// Maximum number of attempts to change a share, because other callers may save it at the same time.
    private var attempts: Int { 16 }

    /// The users with whom the whole zone is shared and who have accepted, ordered by name, without the owner.
    /// ``Capability/shareRecords``.
    public func participants(of zoneID: ZoneID) async throws -> [ZoneParticipant] {
        try require(.shareRecords)
        guard let share = try await zoneShare(of: zoneID)?.sharing?.share else { return [] }
        return share.guests.sorted().map { user in
            ZoneParticipant(userRecordName: user, permission: ZoneParticipant.Permission(share.permission(of: user)))
        }
    }

    /// Shares a zone of a private database with a user. The zone appears at once in the user's shared database, under
    /// its owner. Sharing it again changes the permission. ``Capability/shareRecords``.
    /// - Parameter engine: opens the database in which the user accepts the share.
    /// - Throws: `RecordError` BAD_REQUEST if hierarchies of the zone are shared; TRY_AGAIN_LATER if other callers
    ///   keep changing the share.
    public func share(_ zoneID: ZoneID, with participant: ZoneParticipant, on engine: any RecordEngine) async throws {
        let user = participant.userRecordName
        try ZoneRules.checkSharing(zoneID, in: address, with: user, as: caller)
        let saved = try await changeShare(of: zoneID) { record in
            let before = record?.sharing?.share
            let permission = SharePermission(participant.permission)
            var participants = before?.participants ?? []
            if let index = participants.firstIndex(where: {
                $0.isGuest(user) && $0.status != .removed && $0.role != .publicUser
            }) {
                participants[index].permission = permission
            } else {
                participants.removeAll { $0.isGuest(user) }
                participants.append(
                    ShareParticipant(
                        participantID: UUID().uuidString, userRecordName: user,
                        lookupInfo: LookupInfo(userRecordName: user),
                        permission: permission))
            }
            return participants == before?.participants ? nil : .saving(participants, replacing: record)
        }
        guard let share = saved?.sharing?.share, share.participant(user)?.status != .accepted else { return }
        var theirs = address
        theirs.scope = .public
        let database = try await engine.database(theirs, as: Caller(userRecordName: user))
        for result in try await database.require(.shareRecords).accept(
            [share.shortGUID], by: LookupInfo(userRecordName: user))
        {
            _ = try result.get()
        }
    }

    /// Stops sharing a zone with a user, whose shared database then reports the zone as deleted. The share ends with
    /// its last guest, unless another user is invited or it is open to everybody with the link.
    /// ``Capability/shareRecords``.
    /// - Throws: `RecordError` NOT_FOUND if the zone is not shared with the user; TRY_AGAIN_LATER if other callers
    ///   keep changing the share.
    public func stopSharing(_ zoneID: ZoneID, with userRecordName: Name) async throws {
        try ZoneRules.checkSharing(zoneID, in: address, with: userRecordName, as: caller)
        try await changeShare(of: zoneID) { record in
            guard let record, let share = record.sharing?.share,
                share.participants.contains(where: { $0.isGuest(userRecordName) && $0.status != .removed })
            else { throw ZoneRules.notShared }
            let rest = share.participants.filter { !$0.isGuest(userRecordName) }
            let isOver =
                share.publicPermission == .none && rest.allSatisfy { $0.role == .owner || $0.status == .removed }
            return isOver ? .ending(record) : .saving(rest, replacing: record)
        }
    }

    private func zoneShare(of zoneID: ZoneID) async throws -> StoredRecord? {
        let results = try await fetch([RecordID(recordName: Share.zoneWideName, zoneID: zoneID)], desiredKeys: [])
        guard case .failure(let error)? = results.first else { return try results.first?.get() }
        if error.code == .notFound { return nil }
        throw error
    }

    /// Saves or deletes the share of a zone. If the share has changed since it was read, reads it again and repeats
    /// the change.
    /// - Parameter change: returns the operation for the present share; `nil` to change nothing.
    /// - Returns: the share afterwards; `nil` if there is none.
    @discardableResult
    private func changeShare(of zoneID: ZoneID, _ change: (StoredRecord?) throws -> RecordOperation?) async throws
        -> StoredRecord?
    {
        try require(.shareRecords)
        for _ in 0..<attempts {
            let before = try await zoneShare(of: zoneID)
            guard let operation = try change(before) else { return before }
            switch try await modify(ModifyRequest([operation], zoneID: zoneID)).first {
            case .success(.saved(let record))?: return record
            case .success(.deleted)?, nil: return nil
            case .failure(let error)?:
                let hasChanged = error.code == .conflict || before != nil && error.code == .notFound
                if !hasChanged { throw error }
            }
        }
        throw RecordError(
            .tryAgainLater, "Others are changing the share of the zone at the same time; try again", retryAfter: 1)
    }
}

extension ShareParticipant {
    /// True if the participant is a user other than the owner.
    fileprivate func isGuest(_ user: Name) -> Bool {
        role != .owner && self.user == user
    }
}

extension RecordOperation {
    /// - Parameter record: the present record of the share; `nil` to create it.
    fileprivate static func saving(_ participants: [ShareParticipant], replacing record: StoredRecord?)
        -> RecordOperation
    {
        var operation = RecordOperation(
            record == nil ? .create : .update, recordName: Share.zoneWideName, recordType: Share.recordType,
            recordChangeTag: record?.recordChangeTag)
        operation.share.participants = participants
        return operation
    }

    fileprivate static func ending(_ share: StoredRecord) -> RecordOperation {
        RecordOperation(.delete, recordName: Share.zoneWideName, recordChangeTag: share.recordChangeTag)
    }
}
