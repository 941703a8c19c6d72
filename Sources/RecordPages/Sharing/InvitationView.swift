internal import Accounts
internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

/// The page that the link of a share opens: the invitation, and the users who can accept it.
struct InvitationView: Page {
    static let template = "invitation"
    static let tab = Tab.home

    /// A user who can accept it.
    struct Candidate: ViewModel {
        let handle: String
        let name: String
        let initial: String
        let detail: String
    }

    /// A user who takes part, with links to the records as that user sees them.
    struct Member: ViewModel {
        let name: String
        let right: String
        let query: String
        let changes: String
    }

    /// The reason why there is no invitation, or why a user can't accept it.
    struct Refusal: ViewModel {
        let reason: String
        let code: String
        var remedy: String?
        var remedyLink: Frame.Link?
    }

    let title: String
    let status: HTTPResponse.Status
    let script: String? = nil
    let refusal: Refusal?
    /// The user who has just accepted.
    let accepted: Member?
    /// `nil` for an unknown link.
    let offer: InvitationOffer?

    /// - Parameters:
    ///   - handle: the user who has accepted.
    ///   - error: the reason why a user can't accept.
    ///   - name: the user who can't.
    init(_ invitation: Invitation, accepted handle: String? = nil, error: RecordError? = nil, for name: String = "", _ accounts: Accounts) {
        let share = invitation.share
        title = share.title
        status = error?.code.httpStatus ?? .ok
        let owner = share.share.owner.flatMap { accounts.user($0) }
        refusal = error.map { error in
            var refusal = Refusal(reason: error.reason, code: error.code.rawValue)
            if error.code == .accessDenied {
                refusal.remedy = "\(owner?.displayName ?? "The owner") has to invite the user, or open the link to everybody."
                refusal.remedyLink = owner.map { Frame.Link(text: "Invite the user", href: Self.management(of: share, invitation, by: $0)) }
            } else if owner != nil, owner == accounts.user(named: name) {
                refusal.remedy = "Choose another user. The owner has the records already, in the private database."
            }
            return refusal
        }
        accepted = handle.flatMap { accounts.user(handle: $0) }.flatMap { user in
            share.share.participant(user.userRecordName).flatMap { $0.status == .accepted ? Member($0, user, share, invitation.address) : nil }
        }
        offer = InvitationOffer(invitation, owner: owner, accounts)
    }

    /// An unknown link.
    init(_ error: RecordError) {
        title = "No invitation"
        status = error.code.httpStatus
        refusal = Refusal(
            reason: error.reason, code: error.code.rawValue,
            remedy: "The owner may have stopped sharing, or the link is of another server. "
                + "Ask the owner for the link: the page of the shared record shows it.",
            remedyLink: Frame.Link(text: "All containers", href: "/"))
        accepted = nil
        offer = nil
    }

    private static func management(of share: ZoneShare, _ invitation: Invitation, by owner: User) -> String {
        Place(of: share, in: invitation.address, seenBy: owner).link("share", share.rootName.map { [("name", $0.string)] } ?? [])
    }
}

extension InvitationView.Member {
    init(_ participant: ShareParticipant, _ user: User, _ share: ZoneShare, _ address: DatabaseAddress) {
        let place = Place(of: share, in: address, seenBy: user)
        name = user.displayName
        right = share.share.right(of: participant)
        query = place.link("query")
        changes = place.link("changes")
    }
}
