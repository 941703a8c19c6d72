internal import Accounts
package import Console
internal import RecordStore
internal import Records
internal import RequestLog

/// The page Sharing: the shares of a zone, or of all zones of a database.
package enum SharingView {
    /// The parameter with the number of the last share of the previous page.
    private static let afterField = "after"
    private static let pageSize = 20

    package static func load(_ visit: Visit) async throws -> ComponentPage {
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
        var parts: [any Component] = []
        for share in shares.prefix(pageSize) { parts.append(try await section(share, readers, titles, visit)) }
        if parts.isEmpty { parts = [EmptyState("No shares", Inline(nothing(visit, after)))] }
        let last = shares.count > pageSize ? shares[pageSize - 1].hierarchy : nil
        let place = visit.place
        let crumb =
            zoneID.map { Inline.link("zone \(visit.zoneName($0))", place.link("zone")) }
            ?? .link("all zones of the \(place.address.scope.rawValue) database", place.link(Tab.zones.rawValue))
        return ComponentPage(
            .sharing,
            PageHead(
                Tab.sharing.title, crumb: crumb,
                [
                    "Each share with its participants, and how far their clients have read, according to the requests since the server started."
                ], actions: zoneID == nil ? [] : [.button("Who sees what", place.link("sees"))]), parts,
            foot: PageFooter(next: last.map { .nextPage(place.link("sharing", [(afterField, String($0))])) }))
    }

    private static func nothing(_ visit: Visit, _ after: Int64?) -> String {
        if after != nil { return "There are no later shares." }
        return visit.place.address.scope == .shared
            ? "Nobody shares anything with this user, or this user has not accepted yet."
            : "A share appears here when an app saves one, or when you share a record on its page."
    }
}

extension SharingView {
    private static func section(
        _ share: ZoneShare, _ readers: ShareReaders, _ titles: ReferencedTitles, _ visit: Visit
    ) async throws -> Section {
        let place = visit.place.inZone(share.zoneID)
        let people = visit.people
        let title = share.title(visit)
        let id = "share-\(share.hierarchy)"
        let root = share.rootID.map { rootID -> Inline in
            let link = RecordLink(
                href: place.link(toRecord: rootID.recordName, in: rootID.zoneID),
                recordName: rootID.recordName.string, title: titles[rootID])
            return "\(link.inline) and the records below it, in zone "
        }
        let owner = visit.ownerName(share.zoneID).map { " \($0)" } ?? ""
        let guid = share.share.shortGUID
        let creator = share.record.created
        let findings = try await ShareCheck.findings(in: share.record, at: .now()) {
            people.user(invitedBy: $0) != nil
        }
        var rows: [Table.Row] = []
        for participant in share.share.participants {
            rows.append(try await row(participant, of: share, readers, visit))
        }
        let facts = [
            Facts.Fact(
                "shares",
                "\(root ?? "the whole zone ")\(.link(visit.zoneName(share.zoneID), place.link("zone")))\(owner) · \(.link("Who sees what", place.link("sees") + "#\(id)", label: "Who sees what of \(title)"))"
            ),
            Facts.Fact(
                "link",
                "\(.link(guid, "/share/\(PercentEncoding.encoded(guid))", style: "mono")) \(.faint(Inline(share.share.linkRight)))"
            ),
            Facts.Fact(
                "made",
                Inline(ValueView(.time(creator.timestamp), note: "by \(people.name(of: creator.userRecordName))"))),
        ]
        let warnings = findings.map { "\(.badge("check", "lacks")) \($0.explanation)." as Inline }
        return Section(
            id, .link(title, share.href(visit)), style: "client",
            [
                Facts(facts)
            ] + (warnings.isEmpty ? [] : [Listing(warnings, style: "warnings")]) + [
                Table(
                    "Participants of \(title)",
                    ["participant", "role", "right", "status", "accepted", .column("has read", "wide")], rows)
            ])
    }

    /// A participant of a share, with how far the participant's clients have read the zone.
    private static func row(
        _ participant: ShareParticipant, of share: ZoneShare, _ readers: ShareReaders, _ visit: Visit
    ) async throws -> Table.Row {
        let known = participant.userRecordName.flatMap { visit.people.user($0) }
        let user = known ?? visit.people.user(invitedBy: participant.lookupInfo)
        let name = user?.displayName ?? participant.userRecordName?.string ?? participant.lookupInfo.words
        let link = user.map { Inline.link(name, visit.place.link("users/user", [("name", $0.handle)])) }
        let invited = participant.lookupInfo.emailAddress ?? participant.lookupInfo.phoneNumber
        let address = invited.flatMap { $0 == name ? nil : Inline.faint(Inline($0)) }
        let isOwner = participant.role == .owner
        let status =
            participant.status == .invited && user == nil
            ? Inline("pending: no user has this address").styled("bad")
            : Inline(participant.status.words).styled(participant.status.tone)
        var read: Inline = ""
        if participant.status == .accepted, let reader = participant.userRecordName {
            let readings = try await readers.readings(of: share.zoneID, by: reader, isOwner: isOwner, visit)
            read = readings.isEmpty ? .faint(Inline(readers.nothing(visit))) : .lines(readings)
        }
        return Table.Row([
            "\(link ?? Inline(name)) \(address ?? "")", Inline(participant.role.words),
            Inline(isOwner ? "owns the records" : share.share.right(of: participant)), status,
            isOwner ? .missing : participant.accepted.map { .time($0) } ?? .missing, read,
        ])
    }
}

extension ZoneShare {
    /// The record at the top; `nil` if the whole zone is shared.
    fileprivate var rootID: RecordID? { rootName.map { RecordID(recordName: $0, zoneID: zoneID) } }
}

// MARK: - Participants

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
    func readings(of zoneID: ZoneID, by user: Name, isOwner: Bool, _ visit: Visit) async throws -> [Inline] {
        var address = visit.place.address
        address.scope = isOwner ? .private : .shared
        let seen = ZoneID(zoneName: zoneID.zoneName, ownerRecordName: isOwner ? user : visit.owner(of: zoneID))
        var readings: [Inline] = []
        for history in histories[user] ?? [] {
            guard let client = history.parts.first(where: { $0.address == address }) else { continue }
            if readings.count == Self.clientLimit { break }
            let (text, tone, when) = try await reading(of: seen, from: client, user, in: address)
            let link = Inline.link(
                history.identity.label, visit.place.link("clients") + "#" + history.anchor)
            readings.append("\(link) \(Inline(text).styled(tone)) \(when.map { Inline.faint(.time($0)) } ?? "")")
        }
        return readings
    }

    private func reading(
        of zoneID: ZoneID, from client: KnownClient, _ user: Name, in address: DatabaseAddress
    ) async throws -> (text: String, tone: String, when: Timestamp?) {
        guard let feed = client.feed(of: zoneID) else {
            return ("fetched records, but never the zone’s changes", "warn", client.lastSeen)
        }
        let (words, tone) = try await ClientPanel.distance(feed, in: address, user: user, tokens: tokens)
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
