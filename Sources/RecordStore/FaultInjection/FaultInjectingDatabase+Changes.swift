internal import JSON
internal import Records

extension FaultInjectingDatabase {
    /// Number of changes per read while a reordered pull is collected.
    private static var readingLimit: Int { 500 }

    // MARK: Database

    func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        var request = request
        if shapes(.pagesOfOne, .database) { request.limit = 1 }
        let isAfterEmptyPage = request.since.map { FaultToken($0) != nil } ?? false
        request.since = request.since.flatMap { FaultToken.engineToken(of: $0) }
        var page = try await base.databaseChanges(request)
        if shapes(.emptyPages, .database), !isAfterEmptyPage {
            let token = FaultToken.afterEmptyPage(since: request.since).token
            return DatabaseChangesPage(changes: [], syncToken: token, moreComing: true)
        }
        for index in page.changes.indices where page.changes[index].kind != .changed {
            if shapes(.deletedZoneChanged, .zone(page.changes[index].zoneID)) { page.changes[index].kind = .changed }
        }
        return page
    }

    /// For a token within a pull with injected faults, explains the engine token that the pull continues from.
    func explain(_ token: ChangeToken) async throws -> TokenExplanation {
        try require(.explainTokens)
        guard let token = FaultToken.engineToken(of: token) else {
            return TokenExplanation(
                subject: .zone(nil), scope: address.scope, userRecordName: address.scope == .public ? nil : caller.userRecordName, position: 0,
                moment: nil, progress: .firstPull, standing: .good, changesAfter: nil)
        }
        return try await base.explain(token)
    }

    // MARK: Zone

    func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        let reach = FaultArea.Reach.zone(request.zoneID)
        try checkBusy(reach)
        var request = request
        if shapes(.pagesOfOne, reach) { request.limit.records = 1 }
        if case .afterEmptyPage(let since)? = request.since.flatMap({ FaultToken($0) }) {
            request.since = since
            _ = shapes(.emptyPages, reach)
            return try await orderedPage(request)
        }
        guard shapes(.emptyPages, reach) else { return try await orderedPage(request) }
        // In a stream only the first page reports the faults, so this one is noted with it.
        _ = shapes(.childrenFirst, reach)
        // An error that the next page would cause must occur with the empty page too.
        let page = try await base.zoneChanges(
            ZoneChangesRequest(
                request.zoneID, since: request.since.flatMap { FaultToken.engineToken(of: $0) }, limit: PageLimit(records: 1), desiredKeys: [],
                reverse: request.reverse))
        return ZoneChangesPage(
            zoneID: page.zoneID, changes: [], syncToken: FaultToken.afterEmptyPage(since: request.since).token, moreComing: true)
    }

    /// A page with children before parents, if the fault is on, or was on when the pull began.
    private func orderedPage(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage {
        var request = request
        if case .inOrderedPull(let number, let index, let since)? = request.since.flatMap({ FaultToken($0) }) {
            if let pull = faults.pulls.pull(number), pull.belongs(to: self, request.zoneID), pull.since == since {
                // Fails if the zone was deleted or the token expired in the meantime.
                _ = try await base.zoneChanges(
                    ZoneChangesRequest(request.zoneID, since: pull.syncToken, limit: PageLimit(records: 1), desiredKeys: []))
                _ = shapes(.childrenFirst, .zone(request.zoneID))
                return try page(of: pull, number, from: index, request)
            }
            // A restarted first pull would omit deletions of records that were already delivered, so the token
            // expires.
            guard let since else { throw TokenCodec.expired }
            request.since = since
        }
        guard shapes(.childrenFirst, .zone(request.zoneID)) else { return try await base.zoneChanges(request) }
        let pull = try await wholePull(request)
        // A pull that fits into one page need not be kept.
        var fill = PageFill(request.limit)
        let isOnePage = pull.changes.allSatisfy { fill.admits(bytes: $0.bytes) }
        return try page(of: pull, isOnePage ? 0 : faults.pulls.keep(pull), from: 0, request)
    }

    /// Reads a pull to its end or to the size limit, and reorders it.
    private func wholePull(_ request: ZoneChangesRequest) async throws -> OrderedPulls.Pull {
        var reading = request
        // References determine the order, so all fields are needed.
        reading.desiredKeys = nil
        reading.limit = PageLimit(records: Self.readingLimit)
        var changes: [RecordChange] = []
        var bytes = 0
        let last = try await base.pull(reading) { page in
            changes += page.changes
            bytes += page.changes.reduce(0) { $0 + $1.bytes }
            return changes.count < OrderedPulls.changeLimit && bytes < OrderedPulls.byteLimit
        }
        return OrderedPulls.Pull(
            address: address, userRecordName: caller.userRecordName, zoneID: last.zoneID, since: request.since,
            changes: try ChildrenFirst.ordered(Self.latest(of: changes)), syncToken: last.syncToken, moreComing: last.moreComing)
    }

    /// Removes duplicates: a record saved during the pull occurs twice, and its later change is complete.
    private static func latest(of changes: [RecordChange]) -> [RecordChange] {
        let last = Dictionary(zip(changes.map(\.recordID.recordName), changes.indices), uniquingKeysWith: { _, last in last })
        return changes.enumerated().filter { last[$0.element.recordID.recordName] == $0.offset }.map(\.element)
    }

    private func page(of pull: OrderedPulls.Pull, _ number: UInt64, from index: Int, _ request: ZoneChangesRequest) throws -> ZoneChangesPage {
        var fill = PageFill(request.limit)
        let given = pull.changes.dropFirst(index).prefix { fill.admits(bytes: $0.bytes) }
        let changes = try given.map { change in
            var change = change
            change.record = try change.record?.keeping(request.desiredKeys)
            return change
        }
        let isLast = given.endIndex >= pull.changes.count
        return ZoneChangesPage(
            zoneID: pull.zoneID, changes: changes,
            syncToken: isLast ? pull.syncToken : FaultToken.inOrderedPull(number, index: given.endIndex, since: pull.since).token,
            moreComing: !isLast || pull.moreComing)
    }
}

extension OrderedPulls.Pull {
    fileprivate func belongs(to database: FaultInjectingDatabase, _ zoneID: ZoneID) -> Bool {
        address == database.address && userRecordName == database.caller.userRecordName && self.zoneID.zoneName == zoneID.zoneName
            && (address.scope != .shared || self.zoneID.ownerRecordName == zoneID.ownerRecordName)
    }
}
