internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The content of an invitation, and the users who can accept it.
struct InvitationOffer: ViewModel {
    struct Line: ViewModel {
        let name: String
        let value: ValueView
    }

    /// The maximum number of users to choose from. Others are typed.
    private static let userLimit = 24

    let owner: String
    let container: String
    let environment: String
    let zone: String
    /// The root in the owner's database, with its type; `nil` for a whole zone.
    let root: Frame.Link?
    let rootType: String?
    let thumbnail: String?
    let right: String
    /// The other fields of the share, which everybody reads who may use the link.
    let lines: [Line]
    let action: String
    let candidates: [InvitationView.Candidate]
    let members: [InvitationView.Member]
    /// Invited addresses that no user of this server has.
    let unknown: [String]
    let usersPage: String

    init(_ invitation: Invitation, owner user: User?, _ accounts: Accounts) {
        let found = invitation.share
        let share = found.share
        let address = invitation.address
        let place = user.map { Place(of: found, in: address, seenBy: $0) }
        let zoneID = ZoneID(zoneName: found.zoneID.zoneName)
        owner = user?.displayName ?? share.owner?.userRecordName?.string ?? "Somebody"
        container = address.container.description
        environment = address.environment.rawValue
        zone = zoneID.zoneName.string
        root = found.rootName.flatMap { name in place.map { Frame.Link(text: name.string, href: $0.link(toRecord: name, in: zoneID)) } }
        rootType = invitation.root?.recordType.string
        action = "\(ShareLink.path)/\(share.shortGUID)"
        thumbnail = (try? invitation.thumbnail()) == nil ? nil : "\(action)/thumbnail"
        right = share.linkRight
        let presenter = ValuePresenter(place: place ?? Place(address: address, user: nil, zone: .unspecified), zoneID: zoneID, links: nil)
        lines = ((try? found.record.fields.decoded()) ?? []).filter { $0.name != Share.titleField && $0.name != Share.thumbnailField }.map { field in
            Line(name: field.name == Share.typeField ? "type" : field.name.string, value: presenter.view(field.value, of: field.name))
        }
        let invited = share.participants.filter { $0.status == .invited }
        var candidates = invited.compactMap { participant in
            accounts.user(participant).map { InvitationView.Candidate($0, detail: "invited, \(share.right(of: participant))") }
        }
        if share.publicPermission != .none {
            let known = Set(candidates.map(\.handle))
            let others = accounts.recentUsers(Self.userLimit).filter { user in
                !user.isServerKey && !known.contains(user.handle) && share.participant(user.userRecordName) == nil
            }
            candidates += others.map { InvitationView.Candidate($0, detail: "\(share.publicPermission.words), by the link") }
        }
        self.candidates = candidates
        members = share.participants.filter { $0.status == .accepted && $0.role != .owner }.compactMap { participant in
            accounts.user(participant).map { InvitationView.Member(participant, $0, found, address) }
        }
        unknown = invited.filter { accounts.user($0) == nil }.compactMap { $0.lookupInfo.emailAddress ?? $0.lookupInfo.phoneNumber }
        usersPage = (place ?? presenter.place).link(Tab.users.rawValue)
    }
}

extension InvitationView.Candidate {
    fileprivate init(_ user: User, detail: String) {
        handle = user.handle
        name = user.displayName
        initial = user.displayName.first.map { $0.uppercased() } ?? "?"
        self.detail = detail
    }
}
