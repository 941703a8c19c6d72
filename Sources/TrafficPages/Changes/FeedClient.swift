internal import Accounts
internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The position of a client in the feed of a zone, from the last token that it received.
struct FeedClient: Sendable {
    let name: String
    /// The client's entry on the page Clients.
    let href: String
    let position: Int64
    /// The number of changes that the client has not received.
    let behind: Int

    /// The maximum number of clients on a timeline.
    private static let limit = 6
    /// The maximum number of tokens to examine: after tokens expire, many clients may have only invalid ones.
    private static let triedLimit = 20

    /// The clients that pulled the zone as the user of the page, the latest first.
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
