internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// A participant of a share.
struct SharePerson: ViewModel {
    let name: String
    /// The invited address, or the handle if it differs from the name.
    let detail: String?
    let right: String
    let status: String
    let tone: String
    /// When the invitation was accepted.
    let since: ValueView?
    /// The zone as this user sees it; `nil` for users who do not take part.
    let view: String?

    init(_ participant: ShareParticipant, of share: ZoneShare, _ accounts: Accounts, in address: DatabaseAddress) {
        let info = participant.lookupInfo
        let user = accounts.user(participant)
        let given = info.emailAddress ?? info.phoneNumber
        let shown = user?.displayName ?? given ?? (participant.userRecordName ?? info.userRecordName)?.string ?? "somebody"
        name = shown
        detail = (given ?? user?.handle).flatMap { $0.lowercased() == shown.lowercased() ? nil : $0 }
        right = share.share.right(of: participant)
        status = participant.role == .owner ? "shares it" : participant.status.words
        tone = participant.status.tone
        since = participant.accepted.map { ValueView(.time($0)) }
        view = participant.status == .accepted ? user.map { Place(of: share, in: address, seenBy: $0).link("query") } : nil
    }
}

extension Accounts {
    /// The user who takes part, or whom an invitation names.
    func user(_ participant: ShareParticipant) -> User? {
        let info = participant.lookupInfo
        return (participant.userRecordName ?? info.userRecordName).flatMap { user(recordName: $0) } ?? info.emailAddress.flatMap { user(emailAddress: $0) }
    }

    /// The user with a handle, a user record name or an e-mail address.
    func user(named name: String) -> User? {
        user(handle: name) ?? user(recordName: Name(name)) ?? user(emailAddress: name)
    }
}

extension Place {
    /// The zone of a share as a user sees it: the owner in the private database, guests in the shared one.
    init(of share: ZoneShare, in address: DatabaseAddress, seenBy user: User) {
        let owner = share.share.owner?.userRecordName
        let isOwner = user.userRecordName == owner
        self.init(
            address: DatabaseAddress(container: address.container, environment: address.environment, scope: isOwner ? .private : .shared),
            user: user.handle == User.developerHandle ? nil : user.handle,
            zone: .one(ZoneID(zoneName: share.zoneID.zoneName, ownerRecordName: isOwner ? nil : owner)))
    }
}
