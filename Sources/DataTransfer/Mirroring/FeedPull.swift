internal import CloudKitClient
internal import RecordStore
internal import Records

/// Pulls the zones of a private or shared database by their change tokens.
///
/// Each page of a zone is stored in one transaction with the token after it. The token of the database is stored after
/// all zones of a page were pulled. So an interrupted pull repeats that page, and its zones continue from their own
/// tokens.
struct FeedPull {
    let replica: Replica
    let files: FileFetcher?
    let options: MirrorOptions
    let meter: MirrorMeter
    private var marks: [Name: String] = [:]
    var report = PullReport()

    private var scope: DatabaseScope { replica.scope }
    private var remote: DatabaseClient { replica.remote }
    private var local: any RecordDatabase { replica.local }

    init(_ replica: Replica, files: FileFetcher?, _ options: MirrorOptions, _ meter: MirrorMeter) {
        self.replica = replica
        self.files = files
        self.options = options
        self.meter = meter
    }

    /// - Throws: `CloudKitFailure` if the origin does not answer; `RecordError` if the mirror cannot store the changes;
    ///   `CancellationError`.
    mutating func run() async throws {
        marks = try await local.require(.mirrorRecords).mirrorMarks()
        do {
            try await pullZones(since: marks[Marks.database(scope)].map { SyncToken($0) })
        } catch let failure as CloudKitFailure where marks[Marks.database(scope)] != nil && failure.isRefusedToken {
            try await set(Marks.database(scope), nil)
            try await pullZones(since: nil)
        }
    }

    private mutating func pullZones(since start: SyncToken?) async throws {
        var token = start
        var trail = remote.container.trail(of: "changes/database", after: start?.text)
        var listed: Set<ZoneID> = []
        var isComplete = true
        while true {
            meter.change { [scope] in $0.stage = .listingZones(scope) }
            let page = try await remote.databaseChanges(since: token)
            for zone in page.zones {
                let zoneID = identity(of: zone.zoneID)
                if zone.isDeleted { listed.remove(zoneID) } else { listed.insert(zoneID) }
                if try await !take(zone, as: zoneID) { isComplete = false }
            }
            if page.moreComing { try await trail.follow(page.syncToken.text, isEmpty: page.zones.isEmpty) }
            token = page.syncToken
            // When the list from the beginning is complete, it is compared with the mirror's zones.
            if start != nil, isComplete { try await set(Marks.database(scope), page.syncToken.text) }
            if !page.moreComing { break }
        }
        guard start == nil, let token else { return }
        for zoneID in Marks.zones(scope, in: marks) where !listed.contains(zoneID) {
            if try await !remove(zoneID) { isComplete = false }
        }
        if isComplete { try await set(Marks.database(scope), token.text) }
    }

    /// The zone ID as marks contain it. The user's own zones have no owner there.
    private func identity(of zoneID: ZoneID) -> ZoneID {
        scope == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName)
    }

    private mutating func set(_ name: Name, _ value: String?) async throws {
        guard marks[name] != value else { return }
        _ = try await local.require(.mirrorRecords).mirror(MirrorBatch(marks: [name: value]))
        marks[name] = value
    }

    // MARK: Zones

    /// - Returns: `false` if the zone must be pulled again.
    private mutating func take(_ zone: ReceivedZone, as zoneID: ZoneID) async throws -> Bool {
        meter.change { [scope] in $0.stage = .zone(zoneID, scope) }
        do {
            if zone.isDeleted { return try await remove(zoneID) }
            try await pull(zone, as: zoneID)
            return true
        } catch let error as ServerError where error.code == .zoneNotFound {
            // The zone was deleted, which the list may not report.
            return try await remove(zoneID)
        } catch let error as ServerError {
            report.problems.append(.failed(scope, zoneID, reason: "\(error)"))
        } catch let failure as CloudKitFailure {
            try await replica.checkThatOthersAreAnswered(after: failure)
            report.problems.append(.failed(scope, zoneID, reason: "\(failure)"))
        } catch let error as RecordError where error.code != .internalError && error.code != .tryAgainLater {
            report.problems.append(.failed(scope, zoneID, reason: error.reason))
        }
        return false
    }

    /// - Returns: `false` if the zone is kept because of unsent edits.
    private mutating func remove(_ zoneID: ZoneID) async throws -> Bool {
        // A zone without this mark was not pulled from the origin.
        guard marks[Marks.token(of: zoneID, scope)] != nil else { return true }
        let edits = try await replica.unsentCount(in: zoneID)
        guard edits == 0 else {
            report.problems.append(.zoneGone(scope, zoneID, edits: edits))
            return false
        }
        try await replica.removeZone(zoneID)
        let names = [Marks.token(of: zoneID, scope), Marks.comparison(of: zoneID, scope)]
        _ = try await local.require(.mirrorRecords).mirror(
            MirrorBatch(marks: Dictionary(uniqueKeysWithValues: names.map { ($0, nil as String?) })))
        for name in names { marks[name] = nil }
        return true
    }

    private mutating func pull(_ zone: ReceivedZone, as zoneID: ZoneID) async throws {
        let (tokenMark, comparisonMark) = (Marks.token(of: zoneID, scope), Marks.comparison(of: zoneID, scope))
        let localZone = replica.localZone(zoneID)
        if try await !replica.hasZone(zoneID) {
            // Done first, so that an old token is never used with an empty zone.
            _ = try await local.require(.mirrorRecords).mirror(
                MirrorBatch(marks: [tokenMark: Marks.noToken, comparisonMark: nil]))
            (marks[tokenMark], marks[comparisonMark]) = (Marks.noToken, nil)
            try await replica.makeZone(zoneID)
        }
        if let token = marks[tokenMark], token == zone.syncToken?.text, marks[comparisonMark] == nil { return }
        do {
            try await pullPages(of: zone.zoneID, as: zoneID, into: localZone)
        } catch let error as ServerError where Marks.token(marks[tokenMark]) != nil && error.code == .badRequest {
            // The token has expired. A comparison finds the records that the zone no longer has.
            _ = try await local.require(.mirrorRecords).mirror(
                MirrorBatch(localZone, marks: [tokenMark: Marks.noToken, comparisonMark: "1"], clearsOriginNames: true))
            (marks[tokenMark], marks[comparisonMark]) = (Marks.noToken, "1")
            try await pullPages(of: zone.zoneID, as: zoneID, into: localZone)
        }
        if marks[comparisonMark] != nil { try await finishComparison(of: zoneID, localZone) }
    }

    /// Stores all pages after the zone's token. The next page is requested while a page is stored.
    private mutating func pullPages(of remoteZone: ZoneID, as zoneID: ZoneID, into localZone: ZoneID) async throws {
        let (replica, limit) = (replica, options.pageSize)
        @Sendable func page(after token: SyncToken?) async throws -> ZoneFeedPage {
            try await replica.remote.zoneChanges([ZonePull(remoteZone, since: token, limit: limit)])[0].get()
        }
        let token = Marks.token(marks[Marks.token(of: zoneID, scope)])
        var trail = remote.container.trail(of: "changes/zone", after: token?.text)
        var present = try await page(after: token)
        while present.moreComing {
            let current = present
            try await trail.follow(current.syncToken.text, isEmpty: current.changes.isEmpty)
            async let next = page(after: current.syncToken)
            try await store(current, of: remoteZone, as: zoneID, into: localZone)
            present = try await next
        }
        try await store(present, of: remoteZone, as: zoneID, into: localZone)
    }

    private mutating func store(_ page: ZoneFeedPage, of remoteZone: ZoneID, as zoneID: ZoneID, into localZone: ZoneID)
        async throws
    {
        let mark = Marks.token(of: zoneID, scope)
        var reading = PageReading(zoneID: localZone)
        try await read(page, of: remoteZone, &reading)
        var batch = MirrorBatch(
            localZone, changes: reading.changes.map { MirrorBatch.Change($0) }, marks: [mark: page.syncToken.text])
        if let files {
            try await files.bringFiles(of: &batch, reading.received, in: replica, problems: &report.problems)
        }
        if marks[Marks.comparison(of: zoneID, scope)] != nil { batch.originNames = reading.savedNames }
        report.add(try await local.require(.mirrorRecords).mirror(batch))
        report.problems += reading.problems.filter { !report.problems.contains($0) }
        meter.change { $0.records += page.changes.count }
        marks[mark] = page.syncToken.text
    }

    private func read(_ page: ZoneFeedPage, of zoneID: ZoneID, _ reading: inout PageReading) async throws {
        var failed: [Name] = []
        for change in page.changes {
            switch change {
            case .saved(let record): reading.add(record)
            case .deleted(let deletion): reading.delete(deletion.recordID.recordName)
            case .failed(let error):
                if error.isTemporary { throw error }
                guard let name = error.recordName else { throw error }
                failed.append(name)
            }
        }
        if failed.isEmpty { return }
        // The feed does not list these records again, so they are looked up.
        for (name, result) in zip(failed, try await remote.lookup(failed, in: zoneID)) {
            switch result {
            case .success(let record): reading.add(record)
            case .failure(let error) where error.code == .notFound: reading.delete(name)
            case .failure(let error) where error.isTemporary: throw error
            case .failure(let error): reading.fail(name, "\(error)")
            }
        }
    }

    /// Deletes records that a pull from the beginning did not contain.
    private mutating func finishComparison(of zoneID: ZoneID, _ localZone: ZoneID) async throws {
        meter.change { $0.stage = .comparingNames }
        var after: Name?
        repeat {
            let names = try await local.require(.mirrorRecords).namesMissingInOrigin(
                in: localZone, recordType: nil, after: after, limit: DatabaseClient.itemLimit)
            let changes = names.map { MirrorBatch.Change(.deleted(RecordID(recordName: $0, zoneID: localZone))) }
            if !changes.isEmpty {
                report.add(try await local.require(.mirrorRecords).mirror(MirrorBatch(localZone, changes: changes)))
            }
            after = names.last
        } while after != nil
        let mark = Marks.comparison(of: zoneID, scope)
        _ = try await local.require(.mirrorRecords).mirror(
            MirrorBatch(localZone, marks: [mark: nil], clearsOriginNames: true))
        marks[mark] = nil
    }
}

extension CloudKitFailure {
    /// True if the origin no longer knows the token of a request.
    fileprivate var isRefusedToken: Bool {
        if case .refused(let error) = kind { error.code == .badRequest } else { false }
    }
}

// MARK: - Pages

/// Collects the records of an answer to store them in the mirror.
struct PageReading {
    /// The zone in the mirror.
    let zoneID: ZoneID
    private(set) var changes: [OriginVersion] = []
    /// The records as they were received, with the addresses of their files.
    private(set) var received: [Name: ReceivedRecord] = [:]
    private(set) var savedNames: [Name] = []
    private var failures: [MirrorProblem] = []
    private var leftOut: [Name: Set<Name>] = [:]

    init(zoneID: ZoneID) {
        self.zoneID = zoneID
    }

    var problems: [MirrorProblem] {
        failures + leftOut.sorted { $0.key < $1.key }.map { .fields($0.value, of: $0.key) }
    }

    mutating func add(_ record: ReceivedRecord) {
        let name = record.recordID.recordName
        // The origin has the record, even if it cannot be stored here.
        savedNames.append(name)
        do {
            changes.append(.saved(try record.mirrored(in: zoneID, leftOut: &leftOut)))
            received[name] = record
        } catch {
            fail(name, error.reason)
        }
    }

    mutating func delete(_ name: Name) {
        changes.append(.deleted(RecordID(recordName: name, zoneID: zoneID)))
    }

    mutating func fail(_ name: Name, _ reason: String) {
        failures.append(.record(RecordID(recordName: name, zoneID: zoneID), reason: reason))
    }
}
