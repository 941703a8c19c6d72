internal import Records
internal import RecordStore

extension RecordDatabase {
    /// Makes a zone of a private database unless it is there.
    /// - Returns: whether it was missing.
    /// - Throws: `RecordError` ZONE_NOT_FOUND for a zone of somebody else that is not there.
    func makeZone(_ zoneID: ZoneID) async throws -> Bool {
        if zoneID.isDefault, address.scope != .shared { return false }
        guard case .failure(let error)? = try await fetchZones([zoneID]).first else { return false }
        guard error.code == .zoneNotFound, address.scope == .private else { throw error }
        for outcome in try await modifyZones([.create(zoneID)]) { _ = try outcome.get() }
        return true
    }
}
