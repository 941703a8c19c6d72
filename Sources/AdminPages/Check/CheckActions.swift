internal import AssetStore
internal import Console
internal import RecordStore
internal import Records

/// Starts and cancels checks.
enum CheckActions {
    static func start(_ visit: Visit, checks: CheckRuns) async throws -> String {
        guard let database = visit.database as? any RecordListing else { throw RecordError(.badRequest, "This engine can't list its records") }
        let address = visit.place.address
        let store = try await visit.assets.existingStore(address.container, address.environment)
        var isStored: RecordCheck.FileLookup?
        if let ledger = store?.ledger { isStored = { checksum in try await ledger.entry(of: checksum) != nil } }
        try checks.start(RecordCheck(database, zoneID: visit.place.zoneID, isStored: isStored), of: place(visit))
        return visit.place.link(Tab.check.rawValue)
    }

    static func cancel(_ visit: Visit, checks: CheckRuns) -> String {
        checks.run(of: place(visit))?.run.cancel()
        return visit.place.link(Tab.check.rawValue)
    }

    /// The place to check: all zones if the address names none.
    static func place(_ visit: Visit) -> Place {
        visit.place.with { if $0.zone == .unspecified { $0.zone = .all } }
    }
}
