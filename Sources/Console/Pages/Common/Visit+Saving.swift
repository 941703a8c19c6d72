internal import Accounts
internal import RecordStore
package import Records

extension Visit {
    /// The number of shares to look into.
    private static let shareLimit = 50

    /// False if every save is refused: in production of a container in iCloud that is connected for reading, and to a guest who may only read.
    /// - Parameter zoneID: `nil` for all zones.
    package func canSave(in zoneID: ZoneID?) async throws -> Bool {
        if connection?.isReadOnly ?? false { return false }
        guard place.address.scope == .shared, database.can(.listShares) else { return true }
        do {
            let shares = try await measure { try await database.shares(in: zoneID, after: nil, limit: Self.shareLimit) }
            let user = people.actor.userRecordName
            return shares.isEmpty || shares.count == Self.shareLimit || shares.contains { $0.share.permission(of: user) == .readWrite }
        } catch let error as RecordError where error.code == .zoneNotFound {
            return false
        }
    }
}
