internal import Accounts
internal import RecordStore
internal import Records

extension Visit {
    /// The number of users to check for data if the acting user has none, the most recently active ones.
    private static var otherLimit: Int { 12 }

    /// Links to the same page as other users who have records in their private or shared database. An empty database shows them.
    package func othersWithData() async throws -> [Frame.Link] {
        guard place.address.scope != .public, connection == nil else { return [] }
        var links: [Frame.Link] = []
        for user in people.recent(Self.otherLimit) where user != people.actor {
            let caller = Caller(userRecordName: user.userRecordName)
            let count = try await measure {
                let database = try await engine.database(place.address, as: caller)
                return try await database.zones().count { !$0.zoneID.isDefault }
            }
            if count == 0 { continue }
            let theirs = place.with {
                $0.user = user.handle == User.developerHandle ? nil : user.handle
                $0.zone = .unspecified
            }
            let kept = fields.text("type").map { [("type", $0)] } ?? []
            links.append(Frame.Link(text: "\(user.displayName), \(Digits.count(count, "zone"))", href: theirs.link("query", kept)))
        }
        return links
    }
}
