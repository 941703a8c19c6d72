public import Records

extension InjectedFault {
    /// True if the fault affects one zone.
    public var needsZone: Bool { self == .purgeZone || self == .resetZone }

    /// The capability that the database needs for a one-time fault; `nil` if every database can do it.
    public var capability: Capability? {
        switch self {
        case .expireTokens: .expireTokens
        case .purgeZone: .purgeZones
        default: nil
        }
    }

    /// Triggers a one-time fault.
    /// - Parameters:
    /// - database: a database of the zone's owner, if the fault affects a zone.
    /// - zoneID: the affected zone, if any.
    /// - Throws: `RecordError` BAD_REQUEST if the fault is not a one-time fault, the zone is missing or the engine
    ///   does not support it; and errors of the engine.
    public func perform(in database: any RecordDatabase, zoneID: ZoneID?) async throws {
        switch self {
        case .expireTokens: try await database.expireTokens()
        case .purgeZone: try await database.purge(try required(zoneID))
        case .resetZone:
            let zoneID = try required(zoneID)
            for operation in [ZoneOperation.delete(zoneID), .create(zoneID)] {
                for result in try await database.modifyZones([operation]) { _ = try result.get() }
            }
        default: throw RecordError(.badRequest, "'\(rawValue)' is not a one-time event; start and stop it")
        }
    }

    private func required(_ zoneID: ZoneID?) throws -> ZoneID {
        guard let zoneID else { throw RecordError(.badRequest, "'\(rawValue)' needs a zone: send its name as 'zone'") }
        return zoneID
    }
}
