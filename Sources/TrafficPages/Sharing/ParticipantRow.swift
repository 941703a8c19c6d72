internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

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
        (status, tone) = isLost ? ("invited, but no user has this address", "bad") : (participant.status.words, participant.status.tone)
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
    func readings(of zoneID: ZoneID, by user: Name, isOwner: Bool, _ visit: Visit) async throws -> [ParticipantRow.Reading] {
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
                    client: history.identity.label, href: visit.place.link("clients") + "#" + history.anchor, text: text, tone: tone,
                    when: when.map { ValueView(.time($0)) }))
        }
        return readings
    }

    private func reading(
        of zoneID: ZoneID, from client: SeenClient, _ user: Name, in address: DatabaseAddress
    ) async throws -> (text: String, tone: String, when: Timestamp?) {
        guard let feed = client.feed(of: zoneID) else { return ("fetched records, but never the zone’s changes", "warn", client.lastSeen) }
        let (words, tone) = try await ClientPanel.Row.distance(feed, in: address, user: user, tokens: tokens)
        guard let token = feed.lastGiven, let explanation = try await tokens.explanation(of: token, in: address, of: user), explanation.standing == .good
        else { return (words, tone, feed.lastPulled) }
        let behind = tone == "warn" ? "\(words) behind" : words
        return ("has read up to \(Digits.grouped(explanation.position)), \(behind)", tone, feed.lastPulled)
    }

    /// The reason why a user has no clients.
    func nothing(_ visit: Visit) -> String {
        if !visit.log.isOn { return "not known, the request log is off" }
        return clientCount < ClientBook.clientLimit
            ? "no request since the server started" : "not one of the \(Digits.grouped(clientCount)) clients that the server remembers"
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
