internal import Records
internal import RecordStore

extension RecordDatabase {
    /// Creates a zone of a private database if it does not exist.
    /// - Returns: true if the zone was missing.
    /// - Throws: `RecordError` ZONE_NOT_FOUND for a missing zone of another user.
    func makeZone(_ zoneID: ZoneID) async throws -> Bool {
        if zoneID.isDefault, address.scope != .shared { return false }
        guard case .failure(let error)? = try await fetchZones([zoneID]).first else { return false }
        guard error.code == .zoneNotFound, address.scope == .private else { throw error }
        for outcome in try await modifyZones([.create(zoneID)]) { _ = try outcome.get() }
        return true
    }
}
