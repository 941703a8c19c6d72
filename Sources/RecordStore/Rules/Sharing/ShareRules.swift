internal import Foundation
internal import JSON
internal import Records

/// The rules of shares that need no store, and the texts of their errors. CloudKit's own texts are used where they are known (docs/sharing.md).
enum ShareRules {
    static let noRoot = RecordError(.notFound, "Cannot share - no such record exists to share")
    static let alreadyShared = RecordError(.badRequest, "The record is already shared, and can't be in two shares")
    static let zoneAlreadyShared = RecordError(.badRequest, "The zone is already shared: a zone has one share, or shares of hierarchies")
    static let tooManyParticipants = RecordError(.badRequest, "A share can't have more than \(Share.participantLimit) participants, with its owner")
    static let ownersOnly = RecordError(.accessDenied, "Only the owner or an administrator can change the participants and permissions of a share")
    static let notInvited = RecordError(.accessDenied, "The user is not invited to the share, and it is not open to everybody with the link")
    static let ownShare = RecordError(.badRequest, "The owner of a share can't accept it")
    static let unknownLink = RecordError(.notFound, "There is no share of this shortGUID")
    static let writingRefused = RecordError(.accessDenied, "WRITE operation not permitted")
    static let creatingRefused = RecordError(.accessDenied, "CREATE operation not permitted")

    /// Checks that members of shares are used for shares, and shares only in custom zones of private databases.
    static func check(_ operation: RecordOperation, type: Name, in zone: TransactionZone, of database: DatabaseScope) throws {
        guard type == Share.recordType else {
            if operation.share.isEmpty { return }
            throw RecordError(
                .badRequest, "'forRecord', 'publicPermission' and 'participants' belong to records of type '\(Share.recordType)', not '\(type)'")
        }
        if database == .public || zone.zoneID.isDefault {
            throw RecordError(.badRequest, "Only records in custom zones of a private database can be shared")
        }
        if case .record = operation.parent { throw RecordError(.badRequest, "A share can't have a parent") }
    }

    /// A new identifier for a link: 26 characters, of which the first three are those of CloudKit's routing keys.
    static func newShortGUID() -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        return "000" + String(decoding: (0..<23).compactMap { _ in letters.randomElement() }, as: UTF8.self)
    }

    static func owner(_ userRecordName: Name, at now: Timestamp) -> ShareParticipant {
        ShareParticipant(
            participantID: UUID().uuidString, userRecordName: userRecordName, lookupInfo: LookupInfo(userRecordName: userRecordName), role: .owner,
            status: .accepted, permission: .readWrite, accepted: now)
    }

    /// The share after a save by its owner or an administrator.
    ///
    /// The given participants replace those before. A participant keeps what only the server decides: the status, the user, and the role
    /// of the owner. New ones are invited. A participant that has the address of another one updates that one.
    static func apply(_ input: ShareInput, to share: Share) throws -> Share {
        var after = share
        after.publicPermission = input.publicPermission ?? share.publicPermission
        if let given = input.participants {
            after.participants = share.owner.map { [$0] } ?? []
            for participant in given where participant.role != .owner {
                let known = share.participants.first { $0.participantID == participant.participantID && $0.role != .owner && !participant.participantID.isEmpty }
                var next = known ?? participant
                (next.permission, next.role) = (participant.permission, role(participant, known))
                if known == nil {
                    if next.participantID.isEmpty { next.participantID = UUID().uuidString }
                    next.status = .invited
                    next.accepted = nil
                    // The same person as before under a new id, as when a share is closed to everybody else.
                    if let user = participant.userRecordName, let former = share.participant(user), former.role != .owner {
                        (next.status, next.accepted) = (former.status, former.accepted)
                    }
                }
                let isSame: (ShareParticipant) -> Bool = { other in
                    other.role != .owner && (other.participantID == next.participantID || other.lookupInfo.matches(next.lookupInfo))
                }
                if let index = after.participants.firstIndex(where: isSame) {
                    after.participants[index].permission = next.permission
                } else {
                    after.participants.append(next)
                }
            }
        }
        if after.publicPermission == .none { after.participants.removeAll { $0.role == .publicUser } }
        if after.participants.count > Share.participantLimit { throw tooManyParticipants }
        return after
    }

    /// Only a link makes a public user.
    private static func role(_ given: ShareParticipant, _ known: ShareParticipant?) -> ShareParticipant.Role {
        if known?.role == .publicUser { return .publicUser }
        return given.role == .administrator ? .administrator : .user
    }

    /// The share after a user accepted it. Accepting twice changes nothing.
    /// - Parameter addresses: the addresses by which the user may have been invited.
    static func accept(_ share: Share, as user: Name, _ addresses: LookupInfo, at now: Timestamp) throws -> Share {
        if share.owner?.userRecordName == user { throw ownShare }
        if share.participant(user)?.status == .accepted { return share }
        var after = share
        if let index = invitation(in: share, for: user, addresses) {
            after.participants[index].userRecordName = user
            after.participants[index].status = .accepted
            after.participants[index].accepted = now
            return after
        }
        if share.publicPermission == .none { throw notInvited }
        after.participants.removeAll { $0.userRecordName == user }
        after.participants.append(
            ShareParticipant(
                participantID: UUID().uuidString, userRecordName: user, lookupInfo: LookupInfo(userRecordName: user), role: .publicUser, status: .accepted,
                permission: share.publicPermission, accepted: now))
        if after.participants.count > Share.participantLimit { throw tooManyParticipants }
        return after
    }

    /// The index of the invitation of a user; `nil` if there is none.
    static func invitation(in share: Share, for user: Name, _ addresses: LookupInfo) -> Int? {
        share.participants.firstIndex { participant in
            participant.status == .invited && (participant.userRecordName.map { $0 == user } ?? participant.lookupInfo.matches(addresses))
        }
    }
}
