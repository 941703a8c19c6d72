public import RecordStore
public import Records

/// Restores an export: its schema, zones and records with their creation and modification metadata.
///
/// Reads the file twice: the first pass validates every line, so that nothing changes unless all are valid; the second
/// pass saves the records. Records with VALIDATE references are saved twice: first without that action, and again when
/// all targets exist. This supports any order of lines, including reference cycles. If a target is still missing, the
/// references of that record keep the action NONE, and the report lists the record. Existing records of the same names
/// are replaced.
///
/// Shares are saved last, when all records exist. Users who accepted are guests at once, and the target's user is the
/// owner.
///
/// The bytes of assets are in a folder beside the export. They are verified against
/// their checksums before anything changes, and uploaded before their records are saved.
public struct Restorer: Sendable {
    private let file: ImportFile
    private let header: ExportHeader
    private let places: RestoreTargets
    private let database: any RecordDatabase
    private let assets: AssetExchange?
    private let keepsLinks: Bool

    /// - Parameters:
    ///   - zoneID: the target zone of all records; `nil` keeps the zone names of the export.
    ///   - assets: the asset folder and transport; `nil` refuses exports with assets.
    ///   - keepsLinks: true to keep the link of a share unless another share has it; false for a copy, whose shares get
    ///     new links.
    /// - Throws: `ImportError` if the export does not fit the database.
    public init(
        _ export: ExportFile, zoneID: ZoneID? = nil, assets: AssetExchange? = nil, keepsLinks: Bool = true,
        into database: any RecordDatabase
    ) throws {
        self.assets = assets
        self.keepsLinks = keepsLinks
        file = export.file
        header = export.header
        places = try RestoreTargets(header, into: database.address, as: database.caller, zoneID: zoneID)
        self.database = database
    }

    /// Restores the export.
    /// - Parameter progress: called occasionally from the import's own task.
    /// - Throws: `ImportError` for an invalid export; `RecordError` if the database refuses the schema or a zone.
    public func run(progress: @escaping @Sendable (ImportProgress) -> Void = { _ in }) async throws -> RestoreReport {
        try database.require(.editSchema)
        let check = try await check(progress)
        let schema = try await database.require(.showSchema).schema()
        let missing = missingTypes(in: schema)
        try file.checkUnchanged()
        var report = RestoreReport(records: check.records, madeZones: [], changedTypes: missing.map(\.name))
        try await SchemaAddition(missing, to: schema).apply(to: database, progress) {
            for zoneID in places.zones where try await database.makeZone(zoneID) { report.madeZones.append(zoneID) }
            try await save(check, &report, progress)
        }
        try await subscribe(&report)
        try await setKeys(&report)
        return report
    }

    /// Sets the keys of the export in the user's key-value store. Other keys of the user do not change. If the target
    /// is a zone, nothing is set, because keys belong to a whole database.
    private func setKeys(_ report: inout RestoreReport) async throws {
        guard !places.isSingle, !header.keyValues.isEmpty else { return }
        func refuse(_ reason: String) {
            report.refusedKeyValues = RowProblem(
                file: file.path, line: 1, reason: "the key-value store was refused: \(reason)")
        }
        guard database.address.scope == .private, database.can(.keepKeyValues) else {
            refuse("the target keeps none")
            return
        }
        do {
            _ = try await database.require(.keepKeyValues).modifyKeyValues(
                header.keyValues.sorted { $0.key < $1.key }.map { .set($0.key, $0.value) })
            report.keyValues = header.keyValues.count
        } catch let error as RecordError {
            // All records are saved by now.
            refuse(error.reason)
        }
    }

    /// Keys and values that no key-value store accepts are problems of the header.
    private func checkKeys(_ check: inout Check) {
        if places.isSingle { return }
        for (key, value) in header.keyValues.sorted(by: { $0.key < $1.key }) {
            do {
                try KeyValueLimits.check(.set(key, value))
            } catch {
                check.add(
                    RowProblem(
                        file: file.path, line: 1,
                        reason: "a key of 'keyValues' can't be set: \((error as? RecordError)?.reason ?? "\(error)")"))
            }
        }
    }

    /// Saves the subscriptions after the records, so that the records cause no notifications.
    private func subscribe(_ report: inout RestoreReport) async throws {
        guard database.can(.keepSubscriptions), !header.subscriptions.isEmpty else { return }
        let placed = header.subscriptions.map { subscription in
            subscription.zoneID.map { subscription.inZone(places.target(of: $0)) } ?? subscription
        }
        func refuse(_ subscription: Subscription, _ reason: String) {
            report.refusedSubscriptions.append(
                RowProblem(
                    file: file.path, line: 1,
                    reason: "the subscription '\(subscription.subscriptionID)' was refused: \(reason)"))
        }
        // If the records are restored into another zone, subscriptions to their original zone do not change.
        let present = places.isSingle ? try await database.require(.keepSubscriptions).subscriptions() : []
        let elsewhere = placed.filter { subscription in
            present.contains {
                $0.subscriptionID == subscription.subscriptionID && $0.zoneID?.zoneName != subscription.zoneID?.zoneName
            }
        }
        for subscription in elsewhere { refuse(subscription, "there is one with this id about another zone") }
        let rest = placed.filter { !elsewhere.contains($0) }
        for (subscription, result) in zip(
            rest, try await database.require(.keepSubscriptions).modifySubscriptions(rest.map { .save($0) }))
        {
            switch result {
            case .success: report.subscriptions.append(subscription.subscriptionID)
            case .failure(let error): refuse(subscription, error.reason)
            }
        }
    }

    /// The types with fields or indexes that the database lacks.
    private func missingTypes(in schema: Schema) -> [RecordType] {
        header.schema.sortedTypes.filter { type in
            guard let existing = schema.types[type.name] else { return true }
            let lacksField = type.fields.contains { name, definition in
                guard let field = existing.fields[name] else { return true }
                return !field.type.holdsSameValues(as: definition.type)
                    || !field.indexes.isSuperset(of: definition.indexes)
            }
            return lacksField
                || type.systemIndexes.contains { !(existing.systemIndexes[$0.key] ?? []).isSuperset(of: $0.value) }
        }
    }

    // MARK: Passes

    private struct Check {
        var records: [Name: Int] = [:]
        var total = 0
        /// The number of records to save again after their targets exist.
        var again = 0
        /// The number of shares to save.
        var shares = 0
        var sharesLeftOut = 0
        var encryptedInPublic = 0
        /// The root records of shares, by the names of the shares, for shares that do not contain their root.
        var roots: [ZoneID: [Name: Name]] = [:]
        /// The number of assets in the records.
        var assets = 0
        var problems: [RowProblem] = []
        var problemCount = 0

        mutating func add(_ problem: RowProblem) {
            problemCount += 1
            if problems.count < Importer.problemLimit { problems.append(problem) }
        }
    }

    /// Validates every line.
    private func check(_ progress: @escaping (ImportProgress) -> Void) async throws -> Check {
        var verified: [FileChecksum: Int64] = [:]
        var check = try await check(DuplicateDetector(keepsAll: false), &verified, progress)
        if check == nil { check = try await self.check(DuplicateDetector(keepsAll: true), &verified, progress) }
        guard let check else {
            throw ImportError.unreadable(file: file.path, line: nil, reason: "its records can't be read")
        }
        if check.assets > 0, assets == nil {
            throw ImportError.invalid(
                "The records of '\(file.path)' have \(check.assets) asset\(check.assets == 1 ? "" : "s"), whose bytes are not in the file: give the "
                    + "folder with --assets")
        }
        if check.problemCount > 0 { throw ImportError.badRows(check.problems, total: check.problemCount, others: nil) }
        return check
    }

    /// - Returns: `nil` if more names must be kept to detect duplicates.
    /// - Parameter verified: the verified files with their sizes.
    private func check(
        _ names: DuplicateDetector, _ verified: inout [FileChecksum: Int64],
        _ progress: @escaping (ImportProgress) -> Void
    ) async throws -> Check? {
        var check = Check()
        checkKeys(&check)
        var names = names
        var zones: Set<ZoneID> = []
        let known = Set(header.zones)
        var meter = ProgressMeter(.checking, [file], progress)
        var lines = try records()
        while let outcome = try lines.next() {
            try meter.count(at: lines.offset, of: 0)
            switch outcome {
            case .bad(let line, let reason): check.add(RowProblem(file: file.path, line: line, reason: reason))
            case .row(let row):
                do {
                    let record = try RestoredRecord(row)
                    if !record.zoneID.isDefault, !known.contains(record.zoneID) {
                        throw BadRow("the zone '\(record.zoneID.zoneName)' is not among the header's 'zones'")
                    }
                    zones.insert(record.zoneID)
                    if places.isSingle, zones.count > 1 {
                        throw BadRow("a second zone, '\(record.zoneID.zoneName)', begins here; --zone accepts only one")
                    }
                    try checkSchema(record)
                    switch names.note(record.recordName, in: record.zoneID, line: row.line) {
                    case .new: break
                    case .taken(let line): throw BadRow("the record '\(record.recordName)' is already on line \(line)")
                    case .unknown: return nil
                    }
                    if let shareName = record.sharing?.shareName {
                        check.roots[record.zoneID, default: [:]][shareName] = record.recordName
                    }
                    if record.isShare, !places.carriesShares(of: record.zoneID) {
                        check.sharesLeftOut += 1
                        continue
                    }
                    if record.isShare { check.shares += 1 }
                    check.records[record.recordType, default: 0] += 1
                    check.total += 1
                    if record.needsTargets { check.again += 1 }
                    if database.address.scope == .public, record.hasEncrypted { check.encryptedInPublic += 1 }
                    check.assets += try await checkAssets(of: record, &verified)
                } catch let error as BadRow {
                    check.add(RowProblem(file: file.path, line: row.line, reason: error.reason))
                }
            }
        }
        return check
    }

    /// A field that the header declares must have its declared type. An undeclared
    /// field is created by the save: it was added to the schema during the export.
    private func checkSchema(_ record: RestoredRecord) throws(BadRow) {
        guard let type = header.schema.types[record.recordType] else { return }
        for (name, input) in record.fields {
            guard let declared = type.fields[name]?.type, input.value(declared: declared) == nil else { continue }
            throw BadRow("the field '\(name)' does not have the declared type \(declared.wireName)")
        }
    }

    /// - Returns: the number of assets in the record.
    private func checkAssets(of record: RestoredRecord, _ verified: inout [FileChecksum: Int64]) async throws -> Int {
        var count = 0
        for (name, asset) in record.assets {
            count += 1
            guard let checksum = FileChecksum(asset.fileChecksum) else {
                throw BadRow(
                    "the asset in field '\(name)' has the fileChecksum '\(asset.fileChecksum)', which is not from Skylight: 64 hexadecimal digits"
                )
            }
            guard (0...AssetExchange.sizeLimit).contains(asset.size) else {
                throw BadRow(
                    "the asset in field '\(name)' has the size \(asset.size); it must be from 0 to \(AssetExchange.sizeLimit)"
                )
            }
            guard let assets else { continue }
            if let size = verified[checksum] {
                guard size == asset.size else {
                    throw BadRow(
                        "the asset in field '\(name)' has the size \(asset.size), and the file of its checksum has \(size) bytes"
                    )
                }
                continue
            }
            do {
                try await assets.folder.verify(checksum, size: asset.size)
            } catch let error as AssetFileError where error.isUnreadable {
                throw ImportError.noAsset(saved: 0, path: error.path, reason: error.reason)
            } catch let error as AssetFileError {
                throw BadRow("the file of the asset in field '\(name)' can't be used: \(error)")
            }
            verified[checksum] = asset.size
        }
        return count
    }

    private func save(_ check: Check, _ report: inout RestoreReport, _ progress: @escaping (ImportProgress) -> Void)
        async throws
    {
        let total = max(1, check.total + check.again)
        func tell(_ saved: Int) {
            progress(
                ImportProgress(phase: .saving, fraction: Double(saved) / Double(total), count: min(saved, check.total)))
        }
        tell(0)
        let first = BatchSaver(database: database, assets: assets.map { AssetSupplier($0) })
        var saved = try await save(with: first, tell) { record in
            if record.isShare { return nil }
            guard record.needsTargets else { return record }
            var record = record
            record.mapReferences { reference in
                var reference = reference
                if reference.action == .validate { reference.action = .none }
                return reference
            }
            return record
        }.saved
        report.sharesLeftOut = check.sharesLeftOut
        report.encryptedInPublic = check.encryptedInPublic
        if check.again > 0 {
            // All records are saved by now, so a record with a missing target does not affect the others.
            let saver = BatchSaver(database: database, goesPastRefusals: true, savedBefore: saved)
            let before = saved
            let again = try await save(with: saver, { tell(before + $0) }) { $0.needsTargets ? $0 : nil }
            saved += again.saved
            (report.unvalidated, report.unvalidatedCount) = (again.refused, again.refusedCount)
        }
        guard check.shares > 0 else { return }
        let saver = BatchSaver(
            database: database, goesPastRefusals: true, assets: assets.map { AssetSupplier($0) }, savedBefore: saved)
        let before = saved
        let shares = try await save(with: saver, { tell(before + $0) }) { record in
            guard record.isShare, places.carriesShares(of: record.zoneID) else { return nil }
            return record.sharing(check.roots[record.zoneID]?[record.recordName])
        }
        report.records[Share.recordType] = shares.saved == 0 ? nil : shares.saved
        (report.unshared, report.unsharedCount) = (shares.refused, shares.refusedCount)
        (report.relinked, report.relinkedCount) = (shares.relinked, shares.relinkedCount)
    }

    /// One save pass.
    /// - Parameter select: returns the record to save; `nil` to skip it in this pass.
    private func save(
        with saver: BatchSaver, _ report: (Int) -> Void, _ select: (RestoredRecord) -> RestoredRecord?
    ) async throws -> BatchSaver.Outcome {
        var lines: JSONLinesReader
        do {
            lines = try records()
        } catch {
            guard let saved = saver.savedBefore else { throw error }
            throw ImportError.brokenOff(saved: saved, reason: "\(error)")
        }
        var next: (record: RestoredRecord, line: Int, offset: Int)?
        func advance() throws {
            next = nil
            while next == nil, let outcome = try lines.next() {
                // The validation pass has already reported invalid lines.
                guard case .row(let row) = outcome, let record = try? RestoredRecord(row), let selected = select(record)
                else { continue }
                next = (places.placed(selected), row.line, lines.offset)
                if !keepsLinks { next?.record.provenance.shortGUID = nil }
            }
        }
        var isStarted = false
        return try await saver.save(
            {
                if !isStarted { try advance() }
                isStarted = true
                guard let first = next else { return nil }
                var batch = SaveBatch(zoneID: first.record.zoneID)
                var offset = first.offset
                while let item = next, item.record.zoneID == batch.zoneID, !batch.isFull {
                    batch.add(
                        item.record.operation, size: item.offset - offset,
                        assetBytes: item.record.assets.reduce(0) { $0.addingSaturated($1.asset.size) }, file: file.path,
                        line: item.line)
                    offset = item.offset
                    try advance()
                }
                try file.checkUnchanged()
                return batch
            }, report: { report($0.saved) })
    }

    /// The lines after the header.
    private func records() throws -> JSONLinesReader {
        try file.checkUnchanged()
        var lines = try file.exportedLines()
        _ = try lines.next()
        return lines
    }
}

extension RestoredRecord {
    /// The share with its root, unless it already contains the root or is a share of a zone.
    fileprivate func sharing(_ rootName: Name?) -> RestoredRecord {
        guard let rootName, recordName != Share.zoneWideName, var share = sharing?.share, share.rootName == nil else {
            return self
        }
        var record = self
        share.rootName = rootName
        record.sharing = RecordSharing(shortGUID: share.shortGUID, share: share)
        return record
    }

    fileprivate var operation: RecordOperation {
        RecordOperation(
            restoring: recordName, recordType, .forceReplace, fields: fields, parent: parent, share: sharing?.share,
            provenance)
    }
}

// MARK: - Result

/// The result of restoring an export.
public struct RestoreReport: Sendable, Hashable {
    /// The number of records saved, by type.
    public var records: [Name: Int]
    /// The zones that were created.
    public var madeZones: [ZoneID]
    /// The types that were created or extended by fields or indexes.
    public var changedTypes: [Name]
    /// Saved records whose VALIDATE references keep the action NONE, with the reason, in line order. Limited to
    /// ``Importer/problemLimit``.
    public var unvalidated: [RowProblem] = []
    public var unvalidatedCount = 0
    /// Shares that the database refused, with the reason, in line order. Their records are saved. Limited to
    /// ``Importer/problemLimit``.
    public var unshared: [RowProblem] = []
    public var unsharedCount = 0
    /// Saved shares with a new link, because another share has their link. Limited to ``Importer/problemLimit``.
    public var relinked: [RowProblem] = []
    public var relinkedCount = 0
    /// The number of shares that were left out, because the target can't have shares.
    public var sharesLeftOut = 0
    /// The number of records with encrypted fields in the public database, where CloudKit does not allow them.
    public var encryptedInPublic = 0
    /// The ids of the subscriptions saved.
    public var subscriptions: [Name] = []
    /// Subscriptions that the database refused, with the reason.
    public var refusedSubscriptions: [RowProblem] = []
    /// The number of keys set in the user's key-value store.
    public var keyValues = 0
    /// The reason why no keys were set: the user's key-value store has no room for them, or the target has no such
    /// store. `nil` if there is none.
    public var refusedKeyValues: RowProblem?

    public var saved: Int { records.values.reduce(0, +) }
}
