public import AssetStore
public import CloudKitClient
public import RecordStore
public import Records

/// A mirror: a local copy of a CloudKit container, the origin. Pulls update the copy, and pushes send edits back.
///
/// The copy is a container of an engine with ``RecordStore/Capability/mirrorRecords``, in the same environment. Each
/// page is stored in one transaction with the change token after it, so pulls and pushes may be interrupted at any
/// moment and later continue from there. Only one process at a time may pull or push.
public struct ContainerMirror: Sendable {
    private let origin: ContainerClient
    private let container: ContainerID
    private let engine: any RecordEngine
    private let caller: Caller
    private let assets: AssetStore?
    private let options: MirrorOptions
    private let meter = MirrorMeter()

    /// - Parameters:
    ///   - container: the container of the copy. It must not contain other records.
    ///   - user: the user to whose databases the origin's credentials give access (``user(of:)``); any name for a
    ///     server-to-server key.
    ///   - assets: the asset store of the container's environment; `nil` for a mirror without files.
    public init(
        of origin: ContainerClient, in container: ContainerID, of engine: any RecordEngine, as user: Name,
        assets: AssetStore?, options: MirrorOptions
    ) {
        self.origin = origin
        self.container = container
        self.engine = engine
        caller = Caller(userRecordName: user)
        self.assets = assets
        self.options = options
    }

    /// The user of the origin's web auth token.
    /// - Throws: `CloudKitFailure`, also if the credentials are not a web auth token.
    public static func user(of origin: ContainerClient) async throws -> Name? {
        try await origin.database(.public).caller().userRecordName
    }

    /// The progress from now on, for any number of listeners. A slow listener only gets the latest values.
    public var progress: AsyncStream<MirrorProgress> { meter.listen() }

    // MARK: Pulling

    /// Updates the mirror to the current state of the origin.
    /// - Returns: the changes to the mirror, and the parts of the origin that could not be read.
    /// - Throws: `CloudKitFailure` if the origin does not answer; `RecordError` if the mirror cannot store the changes;
    ///   `CancellationError`. All earlier pages are stored, and the next pull continues after them.
    public func pull() async throws -> PullReport {
        meter.begin()
        let started = Timestamp.now()
        try await declareTypes()
        let report = try await pullDatabases()
        // A pull without changes writes nothing.
        if report.outcome.saved + report.outcome.deleted > 0 || !report.outcome.conflicts.isEmpty
            || !report.problems.isEmpty
        {
            let local = try await replica(.private).local
            let pull = PullHistoryEntry(
                started: started, ended: .now(), saved: report.outcome.saved, deleted: report.outcome.deleted,
                conflicts: report.outcome.conflicts.count, problems: report.problems.count,
                requests: meter.progress.requests)
            let mark = PullHistory.adding(
                pull, to: try await local.require(.mirrorRecords).mirrorMarks()[Marks.history])
            _ = try await local.require(.mirrorRecords).mirror(MirrorBatch(marks: [Marks.history: mark]))
        }
        return report
    }

    /// The latest pulls that changed something, the latest first; at most 100.
    public func history() async throws -> [PullHistoryEntry] {
        PullHistory.pulls(in: try await replica(.private).local.require(.mirrorRecords).mirrorMarks()[Marks.history])
    }

    private func pullDatabases() async throws -> PullReport {
        var report = PullReport()
        let files = try await fileFetcher()
        for scope in [DatabaseScope.private, .shared] where options.scopes.contains(scope) {
            let replica = try await replica(scope)
            if let files { try await fetchMissedFiles(files, replica, &report) }
            var pull = FeedPull(replica, files: files, options, meter)
            do {
                try await pull.run()
            } catch let failure as CloudKitFailure where failure.isOfOnePart {
                pull.report.problems.append(.failed(scope, nil, reason: "\(failure)"))
            }
            report.add(pull.report.outcome)
            report.problems += pull.report.problems
        }
        guard options.scopes.contains(.public) else { return report }
        let replica = try await replica(.public)
        if let files { try await fetchMissedFiles(files, replica, &report) }
        for type in try await publicTypes(replica.local) {
            var pull = TypePull(replica, type, files: files, options, meter)
            try await pull.run(at: .now())
            report.add(pull.report.outcome)
            report.problems += pull.report.problems
        }
        return report
    }

    /// Pulls repeatedly until the task is cancelled.
    /// - Parameters:
    ///   - pause: the time between two pulls.
    ///   - body: receives the result of each pull. It may throw an error to stop.
    public func follow(every pause: Duration, _ body: (Result<PullReport, CloudKitFailure>) async throws -> Void)
        async throws
    {
        while true {
            do {
                try await body(.success(try await pull()))
            } catch let failure as CloudKitFailure {
                try await body(.failure(failure))
            }
            try await Task.sleep(for: pause)
        }
    }

    private func replica(_ scope: DatabaseScope) async throws -> Replica {
        try await Replica(
            origin.database(scope), in: container, of: engine, as: caller, patience: options.patience, meter)
    }

    private func fileFetcher() async throws -> FileFetcher? {
        guard let assets else { return nil }
        let ledger = try await engine.require(.keepAssets).assetLedger(container, origin.environment)
        return FileFetcher(assets, ledger, isFetching: options.files == .all, meter)
    }

    /// CloudKit does not list the types of a public database.
    private func publicTypes(_ local: any RecordDatabase) async throws -> [Name] {
        let prefix = Marks.modification(of: "").string
        let pulled = try await local.require(.mirrorRecords).mirrorMarks().keys.filter { $0.string.hasPrefix(prefix) }
            .map {
                Name(String($0.string.dropFirst(prefix.count)))
            }
        let declared = options.schema?.types.keys.filter { $0 != Schema.usersType } ?? []
        return options.publicTypes.union(pulled).union(declared).sorted()
    }

    // MARK: Files

    /// Fetches those files of one record that the mirror lacks.
    /// - Returns: the record with its files; `nil` if the origin no longer has it.
    /// - Throws: the errors of ``pull()``; `RecordError` BAD_REQUEST if the mirror stores no files; NOT_FOUND if the
    ///   origin does not deliver one of the files.
    public func fetchFiles(of recordID: RecordID, in scope: DatabaseScope) async throws -> StoredRecord? {
        guard options.files != .none, let files = try await fileFetcher() else {
            throw RecordError(.badRequest, "This mirror does not fetch files")
        }
        let replica = try await replica(scope)
        let zoneID = Self.zoneID(of: recordID, in: scope)
        var problems: [MirrorProblem] = []
        try await renew(recordID.recordName, in: zoneID, files.fetchingAll, replica, &problems)
        if let problem = problems.first { throw RecordError(.notFound, "\(problem)") }
        return try? await replica.local.fetch(
            [RecordID(recordName: recordID.recordName, zoneID: zoneID)], desiredKeys: nil)[0].get()
    }

    private static func zoneID(of recordID: RecordID, in scope: DatabaseScope) -> ZoneID {
        scope == .shared ? recordID.zoneID : ZoneID(zoneName: recordID.zoneID.zoneName)
    }

    /// Fetches a record with its files from the origin again.
    private func renew(
        _ recordName: Name, in zoneID: ZoneID, _ files: FileFetcher, _ replica: Replica,
        _ problems: inout [MirrorProblem]
    ) async throws {
        var reading = PageReading(zoneID: zoneID)
        switch try await replica.remote.lookup([recordName], in: zoneID)[0] {
        case .success(let record): reading.add(record)
        case .failure(let error) where error.code == .notFound: reading.delete(recordName)
        case .failure(let error): throw error
        }
        let changes = try await files.fetching(
            reading.changes.map { MirrorBatch.Change($0, replacesSame: true) }, reading.received, in: replica,
            problems: &problems)
        _ = try await replica.local.require(.mirrorRecords).mirror(MirrorBatch(zoneID, changes: changes))
    }

    /// Fetches the files that the origin temporarily did not deliver to an earlier pull.
    private func fetchMissedFiles(_ files: FileFetcher, _ replica: Replica, _ report: inout PullReport) async throws {
        guard options.files == .all else { return }
        let mark = Marks.missedFiles(replica.scope)
        // The list may also contain files of another database.
        guard let before = try await replica.local.require(.mirrorRecords).mirrorMarks()[mark] else { return }
        let others = files.missed.records
        for recordID in MissedFiles.records(in: before) {
            do {
                try await renew(
                    recordID.recordName, in: Self.zoneID(of: recordID, in: replica.scope), files, replica,
                    &report.problems)
            } catch let error as ServerError {
                // The feed reports whether the zone was deleted.
                if error.isTemporary { files.missed.note(recordID) }
            } catch let failure as CloudKitFailure {
                try await replica.checkThatOthersAreAnswered(after: failure)
                if !failure.isOfOnePart { files.missed.note(recordID) }
                report.problems.append(.record(recordID, reason: "\(failure)"))
            } catch let error as RecordError where [.zoneNotFound, .badRequest].contains(error.code) {
                report.problems.append(.record(recordID, reason: error.reason))
            }
        }
        let after = MissedFiles.text(of: files.missed.records.subtracting(others))
        if after != before {
            _ = try await replica.local.require(.mirrorRecords).mirror(MirrorBatch(marks: [mark: after]))
        }
    }

    // MARK: Pushing

    /// Looks up which edits with a lost answer arrived, and drops edits that were undone. It sends nothing, so a dry
    /// run afterwards lists exactly what ``push(isDryRun:)`` sends.
    /// - Throws: the errors of ``pull()``.
    public func reconcile() async throws {
        meter.begin()
        for scope in DatabaseScope.allCases where options.scopes.contains(scope) {
            try await EditPush(try await replica(scope), files: try await fileFetcher(), meter).reconcile()
        }
    }

    /// Sends the unsent edits of the mirror, in order.
    /// - Parameter isDryRun: true to list the edits without sending them.
    /// - Throws: the errors of ``pull()``. Edits that were sent before the error are noted as sent.
    public func push(isDryRun: Bool = false) async throws -> PushReport {
        meter.begin()
        var report = PushReport()
        let files = try await fileFetcher()
        if !isDryRun { try await reconcile() }
        for scope in DatabaseScope.allCases where options.scopes.contains(scope) {
            var push = EditPush(try await replica(scope), files: files, meter)
            try await push.run(isDryRun: isDryRun)
            report.items += push.report.items
            report.conflicts += push.report.conflicts
            report.refused.merge(push.report.refused) { first, _ in first }
        }
        return report
    }

    /// Resolves the conflicts of all records with a name.
    /// - Returns: the number of resolved conflicts.
    public func settle(_ recordName: Name, keeping version: ConflictSettlement) async throws -> Int {
        var count = 0
        for scope in DatabaseScope.allCases where options.scopes.contains(scope) {
            let replica = try await replica(scope)
            var found: [RecordID] = []
            try await replica.eachPageOfEdits { edits in
                found += edits.filter { $0.theirs != nil && $0.recordID.recordName == recordName }.map(\.recordID)
            }
            for recordID in found { try await replica.local.require(.mirrorRecords).settle(recordID, keeping: version) }
            count += found.count
        }
        return count
    }

    // MARK: Schema

    /// Adds the types of the given schema to the mirror's schema, with all indexes, so that every query is possible.
    private func declareTypes() async throws {
        let local = try await replica(.private).local
        let marks = try await local.require(.mirrorRecords).mirrorMarks()
        var batch = MirrorBatch()
        if marks[Marks.files] != options.files.rawValue { batch.marks[Marks.files] = options.files.rawValue }
        if let given = options.schema, marks[Marks.schema] != given.text {
            batch.types = given.sortedTypes.filter { $0.name != Schema.usersType }.map(\.withAllIndexes)
            batch.marks[Marks.schema] = given.text
        }
        // A pull without changes writes nothing.
        if !batch.marks.isEmpty { _ = try await local.require(.mirrorRecords).mirror(batch) }
    }

    /// The sources from which the mirror's schema is known.
    public func schemaEvidence() async throws -> SchemaEvidence {
        let local = try await replica(.private).local
        let declared = try await local.require(.mirrorRecords).mirrorMarks()[Marks.schema].map { try Schema(text: $0) }
        return SchemaEvidence(of: try await local.require(.showSchema).schema(), declared: declared)
    }
}

// MARK: - Options

/// The extent of a mirror.
public struct MirrorOptions: Sendable {
    /// The treatment of asset files.
    public enum Files: String, Sendable, Hashable, CaseIterable {
        /// Each file is fetched with its record.
        case all
        /// Files are never fetched. Records contain the file sizes and the origin's checksums.
        case none
        /// Like ``none``, but ``ContainerMirror/fetchFiles(of:)`` fetches those of one record.
        case onDemand = "on-demand"
    }

    /// The databases to mirror. A server-to-server key gives access to the public database only, a web auth token to
    /// all.
    public var scopes: Set<DatabaseScope>
    public var files = Files.onDemand
    /// The origin's schema from a file; `nil` if there is none. Its types are added to the mirror's schema.
    public var schema: Schema?
    /// Types of the public database to mirror, in addition to those of ``schema`` and those that the mirror already
    /// knows. CloudKit does not list them.
    public var publicTypes: Set<Name> = []
    /// The number of records per request, at most as many as CloudKit permits.
    public var pageSize = DatabaseClient.itemLimit
    /// The time limit for a request with its repetitions and the pauses that CloudKit requests. It is long, because no
    /// user waits for a page.
    public var patience: Duration = .seconds(600)
    /// How far before the latest known change the public database is read again, because its indexes lag by some
    /// seconds.
    public var overlap: Duration = .seconds(120)
    /// The time between two comparisons of all record names in the public database, which detect deletions.
    public var sweepInterval: Duration = .seconds(3600)

    public init(scopes: Set<DatabaseScope> = Set(DatabaseScope.allCases)) {
        self.scopes = scopes
    }
}
