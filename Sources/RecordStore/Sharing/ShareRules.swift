internal import Foundation
public import Records

extension Share {
    /// The share of a zone that some users have accepted. Replaces the zone's sharing in earlier versions, in which
    /// shares were not records.
    public static func accepted(by guests: [ZoneParticipant], ofZoneOf owner: Name, at now: Timestamp) -> Share {
        let participants = guests.sorted { $0.userRecordName < $1.userRecordName }.map { guest in
            ShareParticipant(
                participantID: UUID().uuidString, userRecordName: guest.userRecordName,
                lookupInfo: LookupInfo(userRecordName: guest.userRecordName),
                status: .accepted, permission: SharePermission(guest.permission), accepted: now)
        }
        return Share(
            rootName: nil, shortGUID: ShareRules.newShortGUID(),
            participants: [ShareRules.owner(owner, at: now)] + participants)
    }
}

/// The rules of shares that need no store, and the texts of their errors. CloudKit's own texts are used where they are
/// known (docs/sharing.md).
enum ShareRules {
    static let noRoot = RecordError(known: .noRootToShare)
    static let alreadyShared = RecordError(.badRequest, "The record is already shared, and can't be in two shares")
    static let publicUsersRight = RecordError(
        .badRequest,
        "The permission of a participant of the type \(ShareParticipant.Role.publicUser.rawValue) is the publicPermission of the share: change that, or give "
            + "the user another right as \(ShareParticipant.Role.user.rawValue) with a new participantId")
    static let otherRoot = RecordError(.badRequest, "The zone has a share of this name, which shares another record")
    static let zoneAlreadyShared = RecordError(
        .badRequest,
        "The zone or a part of it is already shared: a zone has one share of all of it, or shares of hierarchies")
    static let tooManyParticipants = RecordError(
        .badRequest, "A share can't have more than \(Share.participantLimit) participants, with its owner")
    static let ownersOnly = RecordError(
        .accessDenied, "Only the owner or an administrator can change the participants and permissions of a share")
    static let notInvited = RecordError(
        .accessDenied, "The user is not invited to the share, and it is not open to everybody with the link")
    static let ownShare = RecordError(.badRequest, "The owner of a share can't accept it")
    static let unknownLink = RecordError(.notFound, "There is no share of this shortGUID")
    static let writingRefused = RecordError(known: .notPermitted, Grant.Permission.write.rawValue)
    static let creatingRefused = RecordError(known: .notPermitted, Grant.Permission.create.rawValue)

    /// Checks that members of shares occur only in records of shares, and that shares are saved only in custom zones
    /// of private databases.
    static func check(_ operation: RecordOperation, type: Name, in zone: TransactionZone, of database: DatabaseScope)
        throws
    {
        guard type == Share.recordType else {
            if operation.share.isEmpty { return }
            throw RecordError(
                .badRequest,
                "'forRecord', 'publicPermission' and 'participants' belong to records of type '\(Share.recordType)', not '\(type)'"
            )
        }
        if let root = operation.share.root, let zoneID = root.zoneID, !zoneID.isSame(as: zone.zoneID) {
            throw RecordError(
                .badRequest,
                "'forRecord' names the record '\(root.recordName)' in the zone '\(zoneID.zoneName)'; a share is in the zone of its root: save it there"
            )
        }
        if database == .public || zone.zoneID.isDefault {
            throw RecordError(.badRequest, "Only records in custom zones of a private database can be shared")
        }
        if case .record = operation.parent { throw RecordError(.badRequest, "A share can't have a parent") }
    }

    /// A new short GUID for a link: 26 characters, of which CloudKit uses the first three as a routing key.
    static func newShortGUID() -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        return "000" + String(decoding: (0..<23).compactMap { _ in letters.randomElement() }, as: UTF8.self)
    }

    static func owner(_ userRecordName: Name, at now: Timestamp) -> ShareParticipant {
        ShareParticipant(
            participantID: UUID().uuidString, userRecordName: userRecordName,
            lookupInfo: LookupInfo(userRecordName: userRecordName), role: .owner,
            status: .accepted, permission: .readWrite, accepted: now)
    }

    /// The share after a save by its owner or an administrator.
    ///
    /// The given participants replace the present ones. A participant keeps the members that only the server sets: the
    /// status, the user, and the role of the owner. New participants are invited; so are those who have left. If a
    /// participant is the same person as another one, the other one is updated, so that nobody participates twice.
    static func apply(_ input: ShareInput, to share: Share) throws -> Share {
        var after = share
        after.publicPermission = input.publicPermission ?? share.publicPermission
        if let given = input.participants {
            try check(given, replacing: share)
            after.participants = share.owner.map { [$0] } ?? []
            for participant in given where participant.role != .owner {
                let known = share.participants.first {
                    $0.participantID == participant.participantID && $0.role != .owner
                        && !participant.participantID.isEmpty
                }
                var next = known ?? participant
                if let known, known.role == .publicUser,
                    ![known.permission, after.publicPermission, .none].contains(participant.permission)
                {
                    throw publicUsersRight
                }
                (next.permission, next.role) = (participant.permission, role(participant, known))
                if next.status == .removed, participant.status == .invited {
                    (next.status, next.accepted) = (.invited, nil)
                }
                if known == nil {
                    if next.participantID.isEmpty { next.participantID = UUID().uuidString }
                    next.status = .invited
                    next.accepted = nil
                    // The same person with a new id, as when a share is closed to everybody but its participants.
                    let former = share.participants.first {
                        $0.role != .owner && $0.status == .accepted && $0.isSamePerson(as: participant)
                    }
                    if let former {
                        (next.userRecordName, next.status, next.accepted) = (
                            former.userRecordName, .accepted, former.accepted
                        )
                    }
                }
                if let index = after.participants.firstIndex(where: {
                    $0.role != .owner && ($0.participantID == next.participantID || $0.isSamePerson(as: next))
                }) {
                    let other = after.participants[index]
                    // Of two entries for one user, the one with the higher permission remains.
                    if other.status == .removed
                        || next.status == .accepted && (other.status == .invited || other.role == .publicUser)
                    {
                        after.participants[index] = next
                    } else if next.status != .removed, next.role != .publicUser {
                        after.participants[index].permission = next.permission
                    }
                } else {
                    after.participants.append(next)
                }
            }
        }
        return try admissible(after, replacing: share)
    }

    /// The share after a save that restores it: with the participants as in the copy, but with its owner here.
    static func restore(_ input: ShareInput, over share: Share) throws -> Share {
        var after = share
        after.publicPermission = input.publicPermission ?? share.publicPermission
        guard let given = input.participants else { return try admissible(after, replacing: share) }
        try check(given, replacing: share)
        after.participants = share.owner.map { [$0] } ?? []
        let owner = share.owner?.userRecordName
        if let copied = given.first(where: { $0.role == .owner && $0.userRecordName == owner }) {
            after.participants = [copied]
        }
        for var participant in given where participant.role != .owner {
            // The owner here may have been invited to the original share.
            if participant.user == owner { continue }
            if let user = participant.userRecordName {
                if participant.status != .removed, after.participant(user) != nil { continue }
            } else if participant.status == .accepted {
                participant.status = .invited
            }
            if participant.participantID.isEmpty
                || after.participants.contains(where: { $0.participantID == participant.participantID })
            {
                participant.participantID = UUID().uuidString
            }
            after.participants.append(participant)
        }
        return try admissible(after, replacing: share)
    }

    /// Limits the participants in a request.
    /// - Throws: `RecordError` BAD_REQUEST if there are too many participants, or a participant contains a text that
    ///   is too long or invalid.
    private static func check(_ given: [ShareParticipant], replacing share: Share) throws {
        // Two entries for one person become one, so twice the number is accepted here.
        if given.count > 2 * max(Share.participantLimit, share.participants.count) { throw tooManyParticipants }
        for participant in given {
            let address = participant.lookupInfo
            let texts = [
                ("participantId", participant.participantID.isEmpty ? nil : participant.participantID),
                ("emailAddress", address.emailAddress),
                ("phoneNumber", address.phoneNumber), ("userRecordName", participant.userRecordName?.string),
                ("userRecordName", address.userRecordName?.string),
            ]
            for case (let member, let text?) in texts {
                try NameRules.check(Name(text), what: "'\(member)' of a participant", limit: RecordID.nameLimit)
            }
        }
    }

    /// - Throws: `RecordError` BAD_REQUEST for too many participants.
    private static func admissible(_ share: Share, replacing former: Share) throws -> Share {
        var share = share
        if share.publicPermission == .none { share.participants.removeAll { $0.role == .publicUser } }
        share.alignPublicUsers()
        // A zone that was shared before this limit existed may have more participants.
        if share.participants.count > max(Share.participantLimit, former.participants.count) {
            throw tooManyParticipants
        }
        return share
    }

    /// The role of a given participant. Only joining by the link makes a public user.
    private static func role(_ given: ShareParticipant, _ known: ShareParticipant?) -> ShareParticipant.Role {
        if known?.role == .publicUser { return .publicUser }
        return given.role == .administrator ? .administrator : .user
    }

    /// The share after a user accepted it. If the user participates already, the permission becomes that of another
    /// invitation if that is higher; otherwise nothing changes.
    /// - Parameter addresses: the addresses by which the user may have been invited.
    static func accept(_ share: Share, as user: Name, _ addresses: LookupInfo, at now: Timestamp) throws -> Share {
        if share.owner?.userRecordName == user { throw ownShare }
        var after = share
        if let index = share.invitation(of: user, addresses) {
            after.participants[index].userRecordName = user
            after.participants[index].status = .accepted
            after.participants[index].accepted = now
            let accepted = after.participants[index]
            // The user may be invited by several addresses, and may have participated before.
            after.participants.removeAll { other in
                let isSame =
                    other.isSamePerson(as: accepted)
                    || other.userRecordName == nil && other.lookupInfo.matches(addresses)
                return isSame && other.role != .owner && other.participantID != accepted.participantID
            }
            return after
        }
        if share.permission(of: user) != .none { return share }
        if share.publicPermission == .none { throw notInvited }
        after.participants.removeAll { $0.role != .owner && $0.user == user }
        after.participants.append(
            ShareParticipant(
                participantID: UUID().uuidString, userRecordName: user, lookupInfo: LookupInfo(userRecordName: user),
                role: .publicUser, status: .accepted,
                permission: share.publicPermission, accepted: now))
        if after.participants.count > Share.participantLimit { throw tooManyParticipants }
        return after
    }
}
