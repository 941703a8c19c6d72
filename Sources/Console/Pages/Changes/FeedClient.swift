internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// How far a client has come in the feed of a zone, by the token that it was given last.
struct FeedClient: Sendable {
    let name: String
    /// The client on the page Clients.
    let href: String
    let position: Int64
    /// Changes that it does not have yet.
    let behind: Int

    /// Clients on a timeline.
    private static let limit = 6
    /// Tokens that are looked at to find them: after tokens have expired, those of all clients are good for nothing.
    private static let triedLimit = 20

    /// Those that pulled the zone as the user whose eyes the page has, the latest first.
    static func all(of zoneID: ZoneID, _ visit: Visit) async throws -> [FeedClient] {
        let tokens = TokenReader(visit)
        let address = visit.place.address
        let user = visit.people.actor.userRecordName
        var (clients, tried) = ([FeedClient](), 0)
        for history in visit.log.clients.histories(in: address.container) where history.user == user {
            for part in history.parts where part.address == address {
                guard let feed = part.feeds.first(where: { $0.zoneID.map { visit.place.isSame($0, zoneID) } ?? false }), let token = feed.lastGiven
                else { continue }
                if clients.count == limit || tried == triedLimit { return clients }
                tried += 1
                guard let explanation = try await tokens.explanation(of: token, in: address, of: user), explanation.standing == .good,
                    let behind = explanation.changesAfter
                else { continue }
                clients.append(
                    FeedClient(
                        name: history.identity.label, href: visit.place.link("clients") + "#\(history.anchor)", position: explanation.position, behind: behind))
            }
        }
        return clients
    }
}
