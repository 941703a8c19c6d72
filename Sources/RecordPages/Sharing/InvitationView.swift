internal import Accounts
internal import AssetStore
package import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
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
    init(
        _ invitation: Invitation, accepted handle: String? = nil, error: RecordError? = nil, for name: String = "",
        _ accounts: Accounts
    ) {
        let share = invitation.share
        title = share.title
        status = error?.code.httpStatus ?? .ok
        let owner = share.share.owner.flatMap { accounts.user($0) }
        refusal = error.map { error in
            var refusal = Refusal(reason: error.reason, code: error.code.rawValue)
            if error.code == .accessDenied {
                refusal.remedy =
                    "\(owner?.displayName ?? "The owner") has to invite the user, or open the link to everybody."
                refusal.remedyLink = owner.map {
                    Frame.Link(text: "Invite the user", href: Self.management(of: share, invitation, by: $0))
                }
            } else if owner != nil, owner == accounts.user(named: name) {
                refusal.remedy = "Choose another user. The owner has the records already, in the private database."
            }
            return refusal
        }
        accepted = handle.flatMap { accounts.user(handle: $0) }.flatMap { user in
            share.share.participant(user.userRecordName).flatMap {
                $0.status == .accepted ? Member($0, user, share, invitation.address) : nil
            }
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
        Place(of: share, in: invitation.address, seenBy: owner).link(
            "share", share.rootName.map { [("name", $0.string)] } ?? [])
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
        root = found.rootName.flatMap { name in
            place.map { Frame.Link(text: name.string, href: $0.link(toRecord: name, in: zoneID)) }
        }
        rootType = invitation.root?.recordType.string
        action = "\(ShareLink.path)/\(share.shortGUID)"
        thumbnail = (try? invitation.thumbnail()) == nil ? nil : "\(action)/thumbnail"
        right = share.linkRight
        let presenter = ValuePresenter(
            place: place ?? Place(address: address, user: nil, zone: .unspecified), zoneID: zoneID, links: nil)
        lines = ((try? found.record.fields.decoded()) ?? []).filter {
            $0.name != Share.titleField && $0.name != Share.thumbnailField
        }.map { field in
            Line(
                name: field.name == Share.typeField ? "type" : field.name.string,
                value: presenter.view(field.value, of: field.name))
        }
        let invited = share.participants.filter { $0.status == .invited }
        var candidates = invited.compactMap { participant in
            accounts.user(participant).map {
                InvitationView.Candidate($0, detail: "invited, \(share.right(of: participant))")
            }
        }
        if share.publicPermission != .none {
            let known = Set(candidates.map(\.handle))
            let others = accounts.recentUsers(Self.userLimit).filter { user in
                !user.isServerKey && !known.contains(user.handle) && share.participant(user.userRecordName) == nil
            }
            candidates += others.map {
                InvitationView.Candidate($0, detail: "\(share.publicPermission.words), by the link")
            }
        }
        self.candidates = candidates
        members = share.participants.filter { $0.status == .accepted && $0.role != .owner }.compactMap { participant in
            accounts.user(participant).map { InvitationView.Member(participant, $0, found, address) }
        }
        unknown = invited.filter { accounts.user($0) == nil }.compactMap {
            $0.lookupInfo.emailAddress ?? $0.lookupInfo.phoneNumber
        }
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

// MARK: - Invitation

/// A share that a link leads to, with its place.
package struct Invitation: Sendable {
    /// The public database, through which links are accepted.
    let address: DatabaseAddress
    let share: ZoneShare
    let root: StoredRecord?

    package static func show(_ asked: ConsoleRequest) async throws -> Answer {
        do {
            let invitation = try await find(asked)
            return .page(InvitationView(invitation, accepted: asked.query["as"], asked.console.accounts))
        } catch let error as RecordError where error.code == .notFound {
            return .page(InvitationView(error))
        }
    }

    package static func showThumbnail(_ asked: ConsoleRequest) async throws -> Answer {
        guard let image = try await find(asked).thumbnail() else { throw HTTPError(.notFound) }
        return .response(.content(image.bytes, type: image.mediaType))
    }

    /// Lets the chosen user take part.
    package static func accept(_ asked: ConsoleRequest) async throws -> Answer {
        let (fields, accounts) = (try await asked.form(), asked.console.accounts)
        let name = fields.text("user") ?? fields["who"] ?? ""
        let invitation: Invitation
        do { invitation = try await find(asked) } catch let error as RecordError where error.code == .notFound {
            return .page(InvitationView(error))
        }
        do {
            guard let user = accounts.user(named: name), !user.isServerKey else {
                throw RecordError(.notFound, "There is no user '\(name)'")
            }
            try await invitation.accept(as: user, asked.console)
            return .redirect(
                FormFields.url("\(ShareLink.path)/\(invitation.share.share.shortGUID)", [("as", user.handle)]))
        } catch let error as RecordError {
            return .page(InvitationView(invitation, error: error, for: name, accounts))
        }
    }

    private static func find(_ asked: ConsoleRequest) async throws -> Invitation {
        try await find(String(asked.context.parts[1]), asked.console)
    }

    /// Looks for a link in all containers of this server, because links do not name their container.
    /// - Throws: `RecordError` NOT_FOUND.
    static func find(_ shortGUID: String, _ console: Console) async throws -> Invitation {
        let engine = console.engine
        let caller = try console.accounts.caller(named: nil, deviceID: nil)
        let containers = engine.can(.listContainers) ? try await engine.require(.listContainers).containers() : []
        for container in containers where console.accounts.connections(of: container).isEmpty {
            for environment in Records.Environment.allCases {
                do {
                    guard try await engine.has(container, environment) else { continue }
                    let address = DatabaseAddress(container: container, environment: environment, scope: .public)
                    let database = try await engine.database(address, as: caller)
                    guard database.can(.listShares),
                        let found = try await database.require(.listShares).shares(linkedBy: [shortGUID]).first
                    else { continue }
                    let resolved = try found.get()
                    if let share = ZoneShare(resolved.share) {
                        return Invitation(address: address, share: share, root: resolved.root)
                    }
                } catch is RecordError {
                    // Most containers do not have it. The start page marks unreadable ones.
                    continue
                }
            }
        }
        throw RecordError(.notFound, "No container of this server has a share with this link")
    }

    /// Lets a user take part.
    func accept(as user: User, _ console: Console) async throws {
        let database = try await console.engine.database(address, as: Caller(userRecordName: user.userRecordName))
        for result in try await database.require(.shareRecords).accept([share.share.shortGUID], by: LookupInfo(user)) {
            _ = try result.get()
        }
    }

    /// The image of the invitation; `nil` if there is none that browsers show.
    func thumbnail() throws -> (bytes: [UInt8], mediaType: String)? {
        guard case .bytes(let bytes)? = try share.record.fields.values(of: [Share.thumbnailField])[Share.thumbnailField]
        else { return nil }
        let type = AssetType(beginning: bytes, isWhole: true)
        // An SVG image that is opened as a page of its own may do more than show itself.
        return type.preview == .image && type.mediaType != "image/svg+xml" ? (bytes, type.mediaType) : nil
    }
}

extension LookupInfo {
    /// The addresses by which a user may have been invited.
    init(_ user: User) {
        self.init(emailAddress: user.emailAddress, userRecordName: user.userRecordName)
    }
}

/// The link of a share. It leads to the page that shows the invitation.
struct ShareLink: ViewModel {
    static let path = "/share"

    /// Within this server.
    let href: String
    /// With the address by which the browser knows the server.
    let text: String
    /// The right of everybody with the link.
    let right: String

    init(_ share: Share, title: String, server: String) {
        href = "\(Self.path)/\(PercentEncoding.encoded(share.shortGUID))#\(PercentEncoding.encoded(title))"
        text = server + href
        right = share.linkRight
    }
}
