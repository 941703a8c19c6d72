internal import Foundation
internal import RecordStore
public import Records

/// Restores an environment to the state of a snapshot.
///
/// Only differences are changed. The current state is saved as a snapshot first, so a restoration can be undone.
/// Records are saved with their authors and dates, and later records are deleted. Then all change tokens expire,
/// because clients may know records that do not exist in the restored history.
public struct SnapshotRestorer: Sendable {
    private let snapshot: Snapshot
    private let content: SnapshotContent
    private let folder: SnapshotFolder
    private var source: SnapshotSource

    /// - Parameters:
    ///   - folder: the snapshots of the environment.
    ///   - source: the environment to change.
    /// - Throws: ``SnapshotError`` if the snapshot is damaged.
    public init(_ snapshot: Snapshot, in folder: SnapshotFolder, into source: SnapshotSource) throws {
        (self.snapshot, self.folder, self.source) = (snapshot, folder, source)
        content = try SnapshotContent(snapshot)
    }

    /// The differences from the current state to the snapshot, which are the changes that a restoration makes.
    /// - Throws: ``SnapshotError`` if the environment cannot accept the snapshot's schema.
    public func plan(progress: (SnapshotProgress) -> Void = { _ in }) async throws -> SnapshotComparison {
        try await folder.withPresent(of: source, progress) { present in
            let change = try present.schema.changed(by: schemaEdits(from: present.schema))
            var plan = try await SnapshotComparison(from: present, to: content, limit: SnapshotFolder.entryLimit)
            plan.schema = SchemaDifference(from: change.before, to: change.after)
            plan.otherSchemaChanges = Array(change.lines.dropFirst(plan.schema.lines.count))
            return plan
        }
    }

    /// Restores the snapshot.
    /// - Throws: ``SnapshotError``, also if the restoration stopped midway; `CancellationError`.
    public func run(at now: Timestamp = .now(), progress: @escaping @Sendable (SnapshotProgress) -> Void = { _ in })
        async throws -> SnapshotRestoreReport
    {
        var restorer = self
        // The restoration creates these users.
        restorer.source = source.adding(content.privateExports.values.compactMap(\.header.user))
        return try await restorer.restore(at: now, progress)
    }

    private func restore(at now: Timestamp, _ progress: @escaping @Sendable (SnapshotProgress) -> Void) async throws
        -> SnapshotRestoreReport
    {
        let database = try await source.database(of: nil)
        // Checked first, so that nothing changes if the snapshot cannot be restored.
        _ = try schemaEdits(from: try await database.require(.showSchema).schema())
        let before = try await folder.save(
            folder.freeName("Before restoring \(snapshot.name)"), of: source, at: now, progress: progress)
        let present = try SnapshotContent(before)
        let wasEmpty = try present.isEmpty()
        var report = SnapshotRestoreReport(before: wasEmpty ? nil : before.name)
        do {
            let schema = try await database.require(.showSchema).schema()
            let edits = try schemaEdits(from: schema)
            if !edits.isEmpty {
                report.schemaChanges = try schema.changed(by: edits).lines.count
                _ = try await database.require(.editSchema).edit(edits, because: .schemaImport)
            }
            try await restore(from: present, &report, progress)
            var remaining = try await self.remaining(progress)
            if !remaining.hasEqualData {
                // The cascade of a deletion may have deleted records of the snapshot.
                try await folder.withPresent(of: source, progress) { try await restore(from: $0, &report, progress) }
                remaining = try await self.remaining(progress)
            }
            report.remaining = remaining
            if database.can(.expireTokens) {
                try await database.require(.expireTokens).expireTokens()
                report.hasExpiredTokens = true
            }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw SnapshotError(
                .refused,
                "The restoration of '\(snapshot.name)' stopped: \((error as? RecordError)?.reason ?? "\(error)"). "
                    + "The snapshot '\(before.name)' has the state before it: restore that one to undo what was done")
        }
        if wasEmpty { try folder.delete(before) }
        return report
    }

    private func remaining(_ progress: @escaping @Sendable (SnapshotProgress) -> Void) async throws
        -> SnapshotComparison
    {
        try await folder.withPresent(of: source, { progress(SnapshotProgress(phase: .checking, count: $0.count)) }) {
            present in
            try await SnapshotComparison(from: present, to: content, limit: SnapshotFolder.entryLimit)
        }
    }

    // MARK: Schema

    /// The edits that change the environment's schema to that of the snapshot. Development keeps its types and fields
    /// that production has, as in an import; production keeps its schema.
    private func schemaEdits(from current: Schema) throws -> [SchemaEdit] {
        if source.environment == .production {
            let missing = SchemaDifference(from: current, to: content.schema).changes.filter(\.addsSomething)
            if missing.isEmpty { return [] }
            throw SnapshotError(
                .refused,
                "Production lacks a part of the snapshot's schema, and only a deployment changes it. Deploy this first: "
                    + missing.prefix(5).map(\.line).joined(separator: "; ")
                    + (missing.count > 5 ? " and \(missing.count - 5) more" : ""))
        }
        let plan: SchemaImportPlan
        do {
            plan = try SchemaImportPlan(
                importing: content.schema.keeping(source.production, of: current), into: current, merging: false,
                production: source.production)
        } catch let error as RecordError {
            throw SnapshotError(
                .refused,
                "The snapshot's schema does not fit that of production, which never loses a type or field. \(error.reason)"
            )
        }
        let composites = content.schema.sortedTypes.flatMap { type in
            let kept = plan.target.types[type.name]?.compositeIndexes ?? []
            return type.compositeIndexes.subtracting(kept).map { SchemaEdit.addCompositeIndex($0, in: type.name) }
        }
        return plan.edits + composites
    }

    // MARK: Records

    private func restore(
        from present: SnapshotContent, _ report: inout SnapshotRestoreReport,
        _ progress: @escaping @Sendable (SnapshotProgress) -> Void
    ) async throws {
        for (user, old, new) in SnapshotContent.pairs(present, content) {
            try await restore(user, old, new, &report, progress)
        }
    }

    /// Changes one database to the state of the snapshot.
    private func restore(
        _ user: ExportHeader.User?, _ before: ExportFile?, _ after: ExportFile?, _ report: inout SnapshotRestoreReport,
        _ progress: @escaping @Sendable (SnapshotProgress) -> Void
    ) async throws {
        let database = try await source.database(of: user)
        let draft = try folder.draft()
        defer { folder.close(draft) }
        var retyped = BatchDeletion(database)
        if let after, let export = try await changes(from: before, to: after, in: draft, { try await retyped.add($0) })
        {
            try await retyped.finish()
            let saved = report.saved
            let exchange = AssetExchange(folder: snapshot.assetFolder, transport: source.transport)
            let restored = try await Restorer(export, assets: exchange, into: database).run { state in
                if state.phase == .saving { progress(SnapshotProgress(phase: .restoring, count: saved + state.count)) }
            }
            report.saved += restored.saved
            report.notes +=
                (restored.refusedSubscriptions + (restored.refusedKeyValues.map { [$0] } ?? []) + restored.unshared
                + restored.relinked).map(\.reason)
        }
        let zones = after.map { Set($0.header.zones) } ?? []
        var deletion = BatchDeletion(database)
        _ = try await LineDifference.each(from: before, to: after) { difference in
            guard case .removed(let line) = difference, !difference.isMadeByTheStore,
                line.zoneID.isDefault || zones.contains(line.zoneID)
            else { return }
            try await deletion.add(line)
            if deletion.deleted % 1000 == 0 {
                progress(SnapshotProgress(phase: .deleting, count: report.deleted + deletion.deleted))
            }
        }
        try await deletion.finish()
        report.deleted += deletion.deleted
        report.notes += deletion.refusals
        guard let before else { return }
        let gone = before.header.zones.filter { !zones.contains($0) }
        for outcome in try await database.modifyZones(gone.map { .delete($0) }) { _ = try outcome.get() }
        report.deletedZones += gone.count
        try await removeLater(from: before.header, to: after?.header, in: database)
    }

    /// Removes subscriptions and keys that the snapshot does not have.
    private func removeLater(from before: ExportHeader, to after: ExportHeader?, in database: any RecordDatabase)
        async throws
    {
        let kept = Set((after?.subscriptions ?? []).map(\.subscriptionID))
        // Subscriptions to a deleted zone ended with the zone.
        let present =
            database.can(.keepSubscriptions)
            ? try await database.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) : []
        let later = before.subscriptions.map(\.subscriptionID).filter { !kept.contains($0) && present.contains($0) }
        if !later.isEmpty {
            for outcome in try await database.require(.keepSubscriptions).modifySubscriptions(later.map { .delete($0) })
            { _ = try outcome.get() }
        }
        let keys = before.keyValues.keys.filter { after?.keyValues[$0] == nil }.sorted()
        if !keys.isEmpty { _ = try await database.require(.keepKeyValues).modifyKeyValues(keys.map { .remove($0) }) }
    }

    /// Writes an export of the differing records.
    /// - Parameter retyped: receives the records whose type has changed, because a save cannot change the type.
    /// - Returns: `nil` if there are no differences.
    private func changes(
        from before: ExportFile?, to after: ExportFile, in draft: SnapshotDraft,
        _ retyped: (ExportedLine) async throws -> Void
    ) async throws -> ExportFile? {
        let file = try DraftFile(draft.url.appending(path: "changes.ndjson"))
        let end = [UInt8(ascii: "\n")]
        try file.write(try ExportedLines(after).header + end)
        var count = 0
        _ = try await LineDifference.each(from: before, to: after) { difference in
            if case .removed = difference { return }
            if case .changed(let from, let to) = difference, from.recordType != to.recordType {
                try await retyped(from)
            }
            try file.write(difference.line.bytes + end)
            count += 1
        }
        try file.finish()
        let (old, new) = (before?.header, after.header)
        let isAlike =
            count == 0 && old?.zones == new.zones && old?.subscriptions == new.subscriptions
            && old?.keyValues == new.keyValues
        return isAlike ? nil : try ExportFile(file.url)
    }
}

/// The result of a restoration.
public struct SnapshotRestoreReport: Sendable {
    /// The name of the snapshot of the previous state; `nil` if there was no data.
    public let before: String?
    public internal(set) var saved = 0
    public internal(set) var deleted = 0
    public internal(set) var deletedZones = 0
    public internal(set) var schemaChanges = 0
    public internal(set) var hasExpiredTokens = false
    /// The remaining differences from the current state to the snapshot, such as records that a client saved meanwhile.
    public internal(set) var remaining: SnapshotComparison?
    /// The reasons why changes were refused.
    public internal(set) var notes: [String] = []
}

extension Schema {
    /// This schema with the types and fields of a development schema that it lacks and production has.
    fileprivate func keeping(_ production: Schema, of current: Schema) -> Schema {
        var kept = self
        for (name, deployed) in production.types {
            guard let type = current.types[name] else { continue }
            let fields = type.fields.filter { deployed.fields[$0.key] != nil }
            guard kept.types[name] == nil else {
                kept.types[name]?.fields.merge(fields) { own, _ in own }
                continue
            }
            var whole = type
            whole.fields = fields
            kept.types[name] = whole
            kept.roles.formUnion(type.grants.map(\.role).filter(current.roles.contains))
        }
        return kept
    }
}

extension SchemaDifference.Change {
    /// True if the second schema has something that the first one lacks.
    fileprivate var addsSomething: Bool {
        switch self {
        case .addType, .addField, .changeField: true
        case .setIndexes(_, let from, let to, _): !from.isSuperset(of: to)
        case .addRole, .removeRole, .removeType, .removeField, .setGrants: false
        }
    }
}

// MARK: - Deletion

/// Deletes records in batches. A record that other records refer to is deleted after them.
struct BatchDeletion {
    private static let batchSize = BatchModifier.operationLimit

    private let database: any RecordDatabase
    private var batch: [RecordOperation] = []
    private var refused: [(operation: RecordOperation, error: RecordError)] = []
    private(set) var deleted = 0

    init(_ database: any RecordDatabase) {
        self.database = database
    }

    /// The first reasons why records could not be deleted.
    var refusals: [String] {
        refused.prefix(Importer.problemLimit).map {
            "\($0.operation.recordName?.string ?? "") was not deleted: \($0.error.reason)"
        }
    }

    mutating func add(_ line: ExportedLine) async throws {
        if let first = batch.first, first.zoneID != line.zoneID || batch.count == Self.batchSize { try await send() }
        batch.append(RecordOperation(.forceDelete, recordName: line.recordName, zoneID: line.zoneID))
    }

    /// Deletes the remaining records. Repeats refused deletions as long as that deletes some records.
    mutating func finish() async throws {
        try await send()
        var left = Int.max
        while !refused.isEmpty, refused.count < left {
            left = refused.count
            let again = refused.map(\.operation)
            refused = []
            for operation in again {
                if let first = batch.first, first.zoneID != operation.zoneID || batch.count == Self.batchSize {
                    try await send()
                }
                batch.append(operation)
            }
            try await send()
        }
    }

    private mutating func send() async throws {
        guard let zoneID = batch.first?.zoneID else { return }
        let request = ModifyRequest(batch, zoneID: zoneID, atomic: false)
        for (operation, outcome) in zip(batch, try await database.modifyOnceFree(request)) {
            switch outcome {
            case .success: deleted += 1
            case .failure(let error) where error.code == .notFound: continue
            case .failure(let error): refused.append((operation, error))
            }
        }
        batch = []
    }
}
