internal import AssetStore
internal import Console
internal import RecordStore
internal import Records

/// Starts and cancels checks.
enum CheckActions {
    static func start(_ visit: Visit, runs: BackgroundRuns) async throws -> String {
        try visit.database.require(.listRecords)
        let address = visit.place.address
        let store = try await visit.assets.existingStore(address.container, address.environment)
        var isStored: RecordCheck.FileLookup?
        if let ledger = store?.ledger { isStored = { checksum in try await ledger.entry(of: checksum) != nil } }
        let people = visit.people
        let check = RecordCheck(visit.database, zoneID: visit.place.zoneID, isStored: isStored, isKnown: { people.user(invitedBy: $0) != nil })
        let (place, findings) = (visit.place.inAllZonesUnlessNamed, CheckFindings())
        let back = Frame.Link(text: "Check", href: place.link(Tab.check.rawValue))
        let run = BackgroundRun(heading: "Check", verb: "checked", total: 0, place: place, back: back, check: findings)
        try runs.start(run, priority: .utility) { _ in
            _ = try await check.run { progress in
                findings.note(progress)
                // Lets other tasks run first.
                await Task.yield()
            } found: { finding in
                findings.add(finding)
            }
        }
        return visit.place.link(Tab.check.rawValue)
    }

    static func cancel(_ visit: Visit, runs: BackgroundRuns) -> String {
        runs.check(of: visit.place)?.cancel()
        return visit.place.link(Tab.check.rawValue)
    }
}
