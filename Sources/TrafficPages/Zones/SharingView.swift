internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Sharing: the shares of a zone, or of all zones of a database.
package struct SharingView: Page {
    package static let template = "zone_sharing"
    package static let tab = Tab.sharing

    struct Panel: ViewModel {
        let id: String
        let title: String
        /// The page of the record that holds the share.
        let record: String
        /// The record at the top; `nil` if the whole zone is shared.
        let root: RecordLink?
        let zone: Frame.Link
        let owner: String?
        let admission: String
        let link: String
        let invitation: String
        let made: ValueView
        let sees: String
        let participants: [ParticipantRow]
        /// Problems that the server accepts.
        let warnings: [String]
    }

    package let title = Self.tab.title
    let scope: String
    let zoneHref: String?
    let sees: String?
    let panels: [Panel]
    /// The reason why there are none.
    let nothing: String?
    let next: String?
}

extension SharingView {
    /// The parameter with the number of the last share of the previous page.
    private static let afterField = "after"
    private static let pageSize = 20

    package static func load(_ visit: Visit) async throws -> SharingView {
        let zoneID = visit.place.zoneID
        if visit.place.address.scope == .public {
            throw RecordError(.badRequest, "The public database has no shares; everybody sees its records")
        }
        let after = visit.fields.number(afterField, in: 0...Int64.max)
        let database = visit.database
        let shares = try await visit.measure {
            try await database.require(.listShares).shares(in: zoneID, after: after, limit: pageSize + 1)
        }
        let readers = ShareReaders(visit)
        let titles = try await ReferencedTitles(shares.prefix(pageSize).compactMap(\.rootID), known: [], visit)
        var panels: [Panel] = []
        for share in shares.prefix(pageSize) {
            panels.append(try await Panel(share, readers: readers, titles: titles, visit: visit))
        }
        let last = shares.count > pageSize ? shares[pageSize - 1].hierarchy : nil
        let place = visit.place
        return SharingView(
            scope: zoneID.map { "zone \(visit.zoneName($0))" }
                ?? "all zones of the \(place.address.scope.rawValue) database",
            zoneHref: zoneID == nil ? place.link(Tab.zones.rawValue) : place.link("zone"),
            sees: zoneID == nil ? nil : place.link("sees"), panels: panels,
            nothing: panels.isEmpty ? nothing(visit, after) : nil,
            next: last.map { place.link("sharing", [(afterField, String($0))]) })
    }

    private static func nothing(_ visit: Visit, _ after: Int64?) -> String {
        if after != nil { return "There are no later shares." }
        return visit.place.address.scope == .shared
            ? "Nobody shares anything with this user, or this user has not accepted yet."
            : "A share appears here when an app saves one, or when you share a record on its page."
    }
}

extension SharingView.Panel {
    fileprivate init(_ share: ZoneShare, readers: ShareReaders, titles: ReferencedTitles, visit: Visit) async throws {
        let place = visit.place.inZone(share.zoneID)
        let creator = share.record.created
        let people = visit.people
        id = "share-\(share.hierarchy)"
        title = share.title(visit)
        record = share.href(visit)
        root = share.rootID.map {
            RecordLink(
                href: place.link(toRecord: $0.recordName, in: $0.zoneID), recordName: $0.recordName.string,
                title: titles[$0])
        }
        zone = Frame.Link(text: visit.zoneName(share.zoneID), href: place.link("zone"))
        owner = visit.ownerName(share.zoneID)
        admission = share.share.linkRight
        link = share.share.shortGUID
        invitation = "/share/\(PercentEncoding.encoded(share.share.shortGUID))"
        made = ValueView(.time(creator.timestamp), note: "by \(people.name(of: creator.userRecordName))")
        sees = place.link("sees") + "#share-\(share.hierarchy)"
        var rows: [ParticipantRow] = []
        for participant in share.share.participants {
            rows.append(try await ParticipantRow(participant, of: share, readers: readers, visit: visit))
        }
        participants = rows
        warnings = try await ShareCheck.findings(in: share.record, at: .now()) { people.user(invitedBy: $0) != nil }.map
        { $0.explanation + "." }
    }
}

extension ZoneShare {
    /// The record at the top; `nil` if the whole zone is shared.
    fileprivate var rootID: RecordID? { rootName.map { RecordID(recordName: $0, zoneID: zoneID) } }
}

// MARK: - Participants

/// A participant of a share, with how far the participant's clients have read the zone.
struct ParticipantRow: ViewModel {
    /// A client of the participant.
    struct Reading: ViewModel {
        let client: String
        let href: String
        let text: String
        /// `good`, `warn`, `bad` or `faint`.
        let tone: String
        let when: ValueView?
    }

    let name: String
    /// The page of the user; `nil` if there is none yet.
    let href: String?
    /// The address that was invited, if it is not the name.
    let address: String?
    let role: String
    let right: String
    let status: String
    let tone: String
    let accepted: ValueView?
    let readings: [Reading]
    /// The reason why nothing was read.
    let unread: String?
}

extension ParticipantRow {
    init(_ participant: ShareParticipant, of share: ZoneShare, readers: ShareReaders, visit: Visit) async throws {
        let known = participant.userRecordName.flatMap { visit.people.user($0) }
        let user = known ?? visit.people.user(invitedBy: participant.lookupInfo)
        name = user?.displayName ?? participant.userRecordName?.string ?? participant.lookupInfo.words
        href = user.map { visit.place.link("users/user", [("name", $0.handle)]) }
        let invited = participant.lookupInfo.emailAddress ?? participant.lookupInfo.phoneNumber
        address = invited == name ? nil : invited
        role = participant.role.words
        right = participant.role == .owner ? "owns the records" : share.share.right(of: participant)
        let isLost = participant.status == .invited && user == nil
        (status, tone) =
            isLost
            ? ("pending: no user has this address", "bad") : (participant.status.words, participant.status.tone)
        accepted = participant.role == .owner ? nil : participant.accepted.map { ValueView(.time($0)) }
        guard participant.status == .accepted, let reader = participant.userRecordName else {
            (readings, unread) = ([], nil)
            return
        }
        readings = try await readers.readings(of: share.zoneID, by: reader, isOwner: participant.role == .owner, visit)
        unread = readings.isEmpty ? readers.nothing(visit) : nil
    }
}

/// How far users have read zones, from the request log.
struct ShareReaders {
    /// Maximum number of clients that a row names.
    private static let clientLimit = 4

    private let histories: [Name: [ClientHistory]]
    private let clientCount: Int
    private let tokens: TokenReader

    init(_ visit: Visit) {
        let all = visit.log.clients.histories(in: visit.place.address.container)
        clientCount = all.count
        histories = Dictionary(grouping: all, by: \.user)
        tokens = TokenReader(visit)
    }

    /// The clients of a user that read the zone, the latest first.
    func readings(of zoneID: ZoneID, by user: Name, isOwner: Bool, _ visit: Visit) async throws -> [ParticipantRow
        .Reading]
    {
        var address = visit.place.address
        address.scope = isOwner ? .private : .shared
        let seen = ZoneID(zoneName: zoneID.zoneName, ownerRecordName: isOwner ? user : visit.owner(of: zoneID))
        var readings: [ParticipantRow.Reading] = []
        for history in histories[user] ?? [] {
            guard let client = history.parts.first(where: { $0.address == address }) else { continue }
            if readings.count == Self.clientLimit { break }
            let (text, tone, when) = try await reading(of: seen, from: client, user, in: address)
            readings.append(
                ParticipantRow.Reading(
                    client: history.identity.label, href: visit.place.link("clients") + "#" + history.anchor,
                    text: text, tone: tone,
                    when: when.map { ValueView(.time($0)) }))
        }
        return readings
    }

    private func reading(
        of zoneID: ZoneID, from client: KnownClient, _ user: Name, in address: DatabaseAddress
    ) async throws -> (text: String, tone: String, when: Timestamp?) {
        guard let feed = client.feed(of: zoneID) else {
            return ("fetched records, but never the zone’s changes", "warn", client.lastSeen)
        }
        let (words, tone) = try await ClientPanel.Row.distance(feed, in: address, user: user, tokens: tokens)
        guard let token = feed.lastGiven,
            let explanation = try await tokens.explanation(of: token, in: address, of: user),
            explanation.validity == .good
        else { return (words, tone, feed.lastPulled) }
        let behind = tone == "warn" ? "\(words) behind" : words
        return ("has read up to \(Digits.grouped(explanation.position)), \(behind)", tone, feed.lastPulled)
    }

    /// The reason why a user has no clients.
    func nothing(_ visit: Visit) -> String {
        if !visit.log.isOn { return "not known, the request log is off" }
        return clientCount < ClientBook.clientLimit
            ? "no request since the server started"
            : "not one of the \(Digits.grouped(clientCount)) clients that the server remembers"
    }
}

extension ShareParticipant.Role {
    var words: String {
        switch self {
        case .owner: "owner"
        case .administrator: "administrator"
        case .user: "invited"
        case .publicUser: "joined by the link"
        }
    }
}

// MARK: - Shares in words

extension ZoneShare {
    /// The title that the client gave; without one, the name of the root.
    func title(_ visit: Visit) -> String { givenTitle ?? rootName?.string ?? "zone \(visit.zoneName(zoneID))" }

    /// The page of the record that holds the share.
    func href(_ visit: Visit) -> String { visit.place.link(toRecord: record.recordID.recordName, in: zoneID) }

    /// The maximum number of users that a sentence names.
    private static let namedLimit = 6

    /// `Ada (owner), Grace (may read and write)`.
    func seenBy(_ visit: Visit) -> String {
        let owner = share.owner?.userRecordName.map { "\(visit.people.name(of: $0)) (owner)" }
        let guests = share.guests.map { "\(visit.people.name(of: $0)) (\(share.permission(of: $0).words))" }
        let all = (owner.map { [$0] } ?? []) + guests
        let named = all.prefix(Self.namedLimit).joined(separator: ", ")
        return all.count > Self.namedLimit ? "\(named) and \(Digits.grouped(all.count - Self.namedLimit)) more" : named
    }
}

extension Place {
    /// The zone as a user sees it: its owner in the private database, everybody else in the shared one.
    func seen(by user: User, _ zoneID: ZoneID, of owner: Name) -> Place {
        with {
            $0.address.scope = user.userRecordName == owner ? .private : .shared
            $0.user = user.handle == User.developerHandle ? nil : user.handle
            $0.zone = .one(ZoneID(zoneName: zoneID.zoneName, ownerRecordName: owner))
        }
    }
}

extension Visit {
    /// True if the zone can have shares that this database lists.
    func mayShare(_ zoneID: ZoneID) -> Bool { hasFeed(zoneID) && database.can(.listShares) }

    /// The owner of a zone of this database.
    func owner(of zoneID: ZoneID) -> Name {
        guard place.address.scope == .shared, let owner = zoneID.ownerRecordName else {
            return people.actor.userRecordName
        }
        return owner
    }
}
