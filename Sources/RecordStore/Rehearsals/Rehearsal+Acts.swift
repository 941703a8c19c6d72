public import Records

extension Rehearsal {
    /// Whether the act is about one zone.
    public var needsZone: Bool { self == .purgeZone || self == .resetZone }

    /// Does what happens once.
    /// - Parameters:
    ///   - database: of the owner, where the act is about a zone.
    ///   - zoneID: for the acts that are about one.
    /// - Throws: `RecordError` BAD_REQUEST when this is no act, the zone is missing, or the engine can't; and what the engine throws.
    public func perform(in database: any RecordDatabase, zoneID: ZoneID?) async throws {
        switch self {
        case .expireTokens:
            guard let expiring = database as? any TokenExpiring else { throw RecordError(.badRequest, "This engine can't expire its tokens") }
            try await expiring.expireTokens()
        case .purgeZone:
            guard let purging = database as? any ZonePurging else { throw RecordError(.badRequest, "This engine can't purge zones") }
            try await purging.purge(try required(zoneID))
        case .resetZone:
            let zoneID = try required(zoneID)
            for operation in [ZoneOperation.delete(zoneID), .create(zoneID)] {
                for result in try await database.modifyZones([operation]) { _ = try result.get() }
            }
        default: throw RecordError(.badRequest, "'\(rawValue)' is switched on and off; it is nothing that is done once")
        }
    }

    private func required(_ zoneID: ZoneID?) throws -> ZoneID {
        guard let zoneID else { throw RecordError(.badRequest, "'\(rawValue)' needs the zone: give its name as 'zone'") }
        return zoneID
    }
}
