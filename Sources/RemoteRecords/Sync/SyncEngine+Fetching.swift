internal import CloudKitClient
public import Records
internal import Synchronization

extension SyncEngine {
    /// Makes the engine follow a zone from now on. Records that already exist are not fetched: get them by queries if
    /// they are needed.
    ///
    /// It has no effect if something of the zone was already fetched. Only the web protocol returns the current change
    /// token of a zone. If queries lag, as in iCloud by some seconds, a record that was saved just before may be in
    /// neither the feed nor the query.
    /// - Throws: ``OperationError``: `zoneNotFound`; `serverRejectedRequest` if the server does not return the token.
    public func skipHistory(of zoneID: ZoneID) async throws(OperationError) {
        try await alone { engine in
            try await engine.checkAccount()
            // A zone whose token has expired is fetched from the beginning. Records that do not come were deleted.
            if engine.kept.withLock({ $0.zoneTokens[zoneID] != nil || $0.zonesFromTheBeginning.contains(zoneID) }) {
                return
            }
            guard let token = try await engine.database.recordZone(for: zoneID).syncToken else {
                throw OperationError(.serverRejectedRequest, "The server does not tell the zone's token for now")
            }
            await engine.update { state in
                state.zoneTokens[zoneID] = token
                state.zonesWithoutHistory.insert(zoneID)
            }
        }
    }

    func fetch(_ options: FetchChangesOptions) async throws(OperationError) {
        await tell(.willFetchChanges)
        var failure: OperationError?
        do throws(OperationError) {
            try await fetchDatabase()
            for zoneID in kept.withLock({ $0.zonesToFetch }) where options.scope.contains(zoneID) {
                do throws(OperationError) {
                    try await fetch(zoneID)
                } catch {
                    failure = failure ?? error
                    // The other zones would fail as well.
                    if error.code != .zoneBusy,
                        error.isTemporary || error.code == .operationCancelled || error.code == .notAuthenticated
                    {
                        break
                    }
                }
            }
        } catch {
            failure = error
        }
        await tell(.didFetchChanges)
        if let failure { throw failure }
    }

    /// Fetches the zones that changed. They are remembered until all their changes are fetched.
    private func fetchDatabase() async throws(OperationError) {
        var token = kept.withLock { $0.databaseToken }
        // Without a token, the feed does not contain zones that were deleted before. They are the known zones that the
        // feed does not list.
        var isListing = token == nil
        var hasExpired = false
        var missing = Set(kept.withLock { $0.zoneTokens.keys })
        var trail = database.container.client.trail(of: "changes/database", after: token?.text)
        while true {
            let page: Database.DatabaseChanges
            do throws(OperationError) {
                page = try await database.databaseChanges(since: token)
            } catch {
                guard error.code == .changeTokenExpired, token != nil, !hasExpired else { throw error }
                hasExpired = true
                token = nil
                isListing = true
                trail = database.container.client.trail(of: "changes/database", after: nil)
                continue
            }
            missing.subtract(page.modifications + page.deletions)
            let deletions = isListing && !page.moreComing ? page.deletions + missing : page.deletions
            if !page.modifications.isEmpty || !deletions.isEmpty {
                await tell(.fetchedDatabaseChanges(.init(page.modifications, deletions)))
            }
            let newToken = page.changeToken
            if page.moreComing {
                try await trail.followed(newToken.text, isEmpty: page.modifications.isEmpty && page.deletions.isEmpty)
            }
            await update { state in
                // If a list is incomplete, it is fetched from the beginning after a restart.
                state.databaseToken = isListing && page.moreComing ? nil : newToken
                state.drop(deletions)
                let known = Set(state.zonesToFetch)
                state.zonesToFetch += page.modifications.filter { !known.contains($0) }
            }
            token = newToken
            if !page.moreComing { return }
        }
    }

    /// Fetches the changes of a zone, page by page. Each page is delivered with the token after it.
    /// - Parameter hasExpired: true if the token already expired during this fetch. Tokens that always expire would
    ///   otherwise make it endless.
    private func fetch(_ zoneID: ZoneID, hasExpired: Bool = false) async throws(OperationError) {
        let fromTheBeginning = kept.withLock { $0.zonesFromTheBeginning.contains(zoneID) }
        await tell(.willFetchRecordZoneChanges(.init(zoneID: zoneID, fromTheBeginning: fromTheBeginning)))
        let (begin, restarts) = kept.withLock { ($0.zoneTokens[zoneID], $0.restarts[zoneID]) }
        var since = begin
        do throws(OperationError) {
            var changes = FetchedChanges()
            var trail = database.container.client.trail(of: "changes/zone", after: begin?.text)
            while true {
                let page = try await database.recordZoneChanges(inZoneWith: zoneID, since: since)
                if page.moreComing {
                    try await trail.followed(
                        page.changeToken.text, isEmpty: page.modifications.isEmpty && page.deletions.isEmpty)
                }
                since = page.changeToken
                try changes.add(page)
                if parentsFirst, page.moreComing, changes.count < FetchedChanges.limit { continue }
                if !changes.isEmpty {
                    let records = parentsFirst ? changes.parentsFirst : changes.records
                    await tell(.fetchedRecordZoneChanges(.init(zoneID, records, changes.deletions)))
                }
                changes = FetchedChanges()
                if !page.moreComing { await tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: nil))) }
                await update { state in
                    // The app requested the whole zone in the meantime. The next fetch starts from the beginning.
                    guard state.restarts[zoneID] == restarts else { return }
                    state.zoneTokens[zoneID] = page.changeToken
                    guard !page.moreComing else { return }
                    state.zonesToFetch.removeAll { $0 == zoneID }
                    state.zonesFromTheBeginning.remove(zoneID)
                }
                if !page.moreComing { return }
            }
        } catch {
            switch error.code {
            case .changeTokenExpired where since != nil:
                await tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: error)))
                await update { state in
                    state.zoneTokens[zoneID] = nil
                    state.zonesWithoutHistory.remove(zoneID)
                    state.zonesFromTheBeginning.insert(zoneID)
                }
                if hasExpired { throw error }
                try await fetch(zoneID, hasExpired: true)
            case .zoneNotFound, .userDeletedZone:
                // The database feed listed the zone before it was deleted.
                await tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: error)))
                await tell(.fetchedDatabaseChanges(.init([], [zoneID])))
                await update { $0.drop([zoneID]) }
            default:
                await tell(.didFetchRecordZoneChanges(.init(zoneID: zoneID, error: error)))
                throw error
            }
        }
    }
}

// MARK: - Changes of a zone

/// The fetched changes of a zone that are not delivered yet.
struct FetchedChanges: Sendable {
    /// The maximum number of records that are held back to deliver parents first.
    static let limit = 10_000

    private(set) var records: [Record] = []
    private(set) var deletions: [(recordID: RecordID, recordType: Name?)] = []
    private var places: [RecordID: Int] = [:]

    var isEmpty: Bool { records.isEmpty && deletions.isEmpty }
    var count: Int { records.count + deletions.count }

    /// Adds a page. A record replaces its earlier version.
    /// - Throws: the error of a record that could not be read.
    mutating func add(_ page: Database.RecordZoneChanges) throws(OperationError) {
        // A record that was created again is not deleted.
        let there = deletions.isEmpty ? [] : Set(page.modifications.compactMap(\.recordID))
        deletions.removeAll { there.contains($0.recordID) }
        for modification in page.modifications {
            let record = try modification.result.get()
            if let place = places[record.recordID] {
                records[place] = record
            } else {
                places[record.recordID] = records.count
                records.append(record)
            }
        }
        if page.deletions.isEmpty { return }
        deletions += page.deletions
        let deleted = Set(page.deletions.map(\.recordID))
        guard deleted.contains(where: { places[$0] != nil }) else { return }
        records.removeAll { deleted.contains($0.recordID) }
        places = Dictionary(records.enumerated().map { ($1.recordID, $0) }) { _, last in last }
    }

    /// The records in an order in which each follows the records of its zone that it refers to. Circular references are
    /// broken at any point.
    var parentsFirst: [Record] {
        var sorted: [Record] = []
        sorted.reserveCapacity(records.count)
        var begun = [Bool](repeating: false, count: records.count)
        for place in records.indices where !begun[place] {
            begun[place] = true
            // The path from this record to those that it refers to, each with the references that remain to be visited.
            // Chains may be too long for recursion.
            var way = [(place: place, above: above(place))]
            while let last = way.last {
                guard let next = last.above.last else {
                    sorted.append(records[last.place])
                    way.removeLast()
                    continue
                }
                way[way.count - 1].above.removeLast()
                if begun[next] { continue }
                begun[next] = true
                way.append((next, above(next)))
            }
        }
        return sorted
    }

    private func above(_ place: Int) -> [Int] {
        let record = records[place]
        let names =
            (record.parent.map { [$0] } ?? [])
            + record.fields.values.flatMap { $0.value.map { Self.references(in: $0) } ?? [] }
        return names.compactMap { places[RecordID(recordName: $0, zoneID: record.recordID.zoneID)] }.sorted(by: >)
    }

    private static func references(in value: FieldValue) -> [Name] {
        switch value {
        case .reference(let reference): [reference.recordName]
        case .list(let elements, _): elements.flatMap { references(in: $0) }
        default: []
        }
    }
}
