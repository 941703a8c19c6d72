internal import CloudKitClient
internal import RecordStore
internal import Records

/// Sends the edits of one database of the mirror to the origin. Each edit has the change tag of the version that it
/// changed. Edits are sent in order, with two exceptions: records are deleted before their parents, and deletions that
/// the origin refuses because of other records are sent again at the end.
///
/// An edit is noted as sent before it is sent. If the answer is lost because the connection broke or this process
/// ended, the record is looked up before anything is sent again.
struct EditPush {
    /// An edit with its request.
    private struct Outgoing {
        let edit: UnsentEdit
        let operation: RecordOperation
        let item: PushReport.Item
    }

    let replica: Replica
    let files: FileFetcher?
    let meter: MirrorMeter
    private(set) var report = PushReport()
    /// Deletions that the origin refused because other records refer to the record or have it as their parent.
    private var refusedDeletions: [UnsentEdit] = []

    private var local: any RecordDatabase { replica.local }
    private var remote: DatabaseClient { replica.remote }

    init(_ replica: Replica, files: FileFetcher?, _ meter: MirrorMeter) {
        self.replica = replica
        self.files = files
        self.meter = meter
    }

    /// Looks up which edits with a lost answer arrived, and drops edits that were undone.
    /// - Throws: the errors of ``run(isDryRun:)``.
    func reconcile() async throws {
        meter.change { $0.stage = .sending }
        var lost: [UnsentEdit] = []
        try await replica.eachPageOfEdits { edits in lost += edits.filter { $0.sent != nil && $0.theirs == nil } }
        for part in Self.runs(of: lost) { try await look(up: part) }
        var undone: [UnsentEdit] = []
        try await replica.eachPageOfEdits { edits in undone += edits.filter { $0.theirs == nil && isUndone($0) } }
        for part in Self.runs(of: undone) {
            let changes = part.map { edit in
                MirrorBatch.Change(edit.base.map { .saved($0) } ?? .deleted(edit.recordID), accepted: edit.position)
            }
            _ = try await local.require(.mirrorRecords).mirror(
                MirrorBatch(localZone(part[0].recordID.zoneID), changes: changes))
        }
    }

    private func isUndone(_ edit: UnsentEdit) -> Bool {
        // The origin may have a record that was created here, sent and deleted again, and that could not be looked up.
        if edit.base == nil, edit.sent != nil { return false }
        // An edit that cannot be sent is refused later.
        do { return try request(for: edit) == nil } catch { return false }
    }

    /// - Parameter isDryRun: true to list the edits without sending them.
    /// - Throws: `CloudKitFailure` if the origin does not answer; earlier edits were sent. `RecordError` if the mirror
    ///   cannot store the changes; `CancellationError`.
    mutating func run(isDryRun: Bool) async throws {
        meter.change { $0.stage = .sending }
        var since: Int64?
        while true {
            let edits = try await local.require(.mirrorRecords).unsentEdits(
                since: since, limit: DatabaseClient.itemLimit)
            for part in Self.runs(of: edits.filter { $0.theirs == nil }).map(Self.deletingChildrenFirst) {
                if isDryRun { try list(part) } else { try await send(part) }
            }
            guard edits.count == DatabaseClient.itemLimit, let last = edits.last else { break }
            since = last.since
        }
        try await sendRefusedDeletions()
        try await replica.eachPageOfEdits { edits in report.conflicts += edits.filter { $0.theirs != nil } }
    }

    /// Groups consecutive edits of one zone, at most as many as one request can contain.
    private static func runs(of edits: [UnsentEdit]) -> [[UnsentEdit]] {
        edits.reduce(into: []) { runs, edit in
            if let last = runs.last, last[0].recordID.zoneID == edit.recordID.zoneID,
                last.count < DatabaseClient.itemLimit
            {
                runs[runs.count - 1].append(edit)
            } else {
                runs.append([edit])
            }
        }
    }

    /// Sorts the edits of one zone so that records are deleted before their parents. Saves keep their positions.
    private static func deletingChildrenFirst(_ edits: [UnsentEdit]) -> [UnsentEdit] {
        let deletions = edits.filter { $0.mine == nil }
        let byName = Dictionary(deletions.map { ($0.recordID.recordName, $0) }, uniquingKeysWith: { first, _ in first })
        var taken: Set<Name> = []
        var parentsFirst: [UnsentEdit] = []
        for edit in deletions.reversed() {
            var line: [UnsentEdit] = []
            var next: UnsentEdit? = edit
            while let current = next, taken.insert(current.recordID.recordName).inserted {
                line.append(current)
                next = current.base?.parent.flatMap { byName[$0] }
            }
            parentsFirst += line.reversed()
        }
        var ordered = parentsFirst.reversed().makeIterator()
        return edits.map { $0.mine == nil ? ordered.next() ?? $0 : $0 }
    }

    private func remoteZone(_ zoneID: ZoneID) -> ZoneID {
        switch replica.scope {
        case .public: .default
        case .private: ZoneID(zoneName: zoneID.zoneName)
        case .shared: zoneID
        }
    }

    private mutating func list(_ edits: [UnsentEdit]) throws {
        for edit in edits {
            do {
                if let request = try request(for: edit) { report.items.append(request.item) }
            } catch let error as RecordError {
                report.refused[edit.recordID] = error.reason
            }
        }
    }

    // MARK: Sending

    private mutating func send(_ edits: [UnsentEdit]) async throws {
        let zoneID = edits[0].recordID.zoneID
        var outgoing: [Outgoing] = []
        for edit in edits {
            do {
                guard let request = try request(for: edit) else { continue }
                outgoing.append(
                    Outgoing(
                        edit: edit, operation: try await uploadingFiles(of: request.operation, in: zoneID),
                        item: request.item))
            } catch let error as RecordError {
                report.refused[edit.recordID] = error.reason
            } catch let error as ServerError {
                report.refused[edit.recordID] = "\(error)"
            }
        }
        for _ in 0..<2 where !outgoing.isEmpty {
            if try await sendOnce(outgoing, in: zoneID) { return }
            // An edit that arrived is no longer unsent, or the origin has a later version. The others are sent again.
            let left = try await unsent(outgoing.map(\.edit), in: zoneID)
            report.items += outgoing.filter { left[$0.edit.recordID.recordName] == nil }.map(\.item)
            outgoing = outgoing.filter { $0.edit.isSame(as: left[$0.edit.recordID.recordName]) }
        }
        for item in outgoing { report.refused[item.edit.recordID] = "its answer was lost twice; push again" }
    }

    private mutating func sendRefusedDeletions() async throws {
        let zones = Dictionary(grouping: refusedDeletions) { $0.recordID.zoneID }
        for (_, edits) in zones.sorted(by: { $0.value[0].since < $1.value[0].since }) {
            for edit in edits { report.refused[edit.recordID] = nil }
            for part in Self.runs(of: Self.deletingChildrenFirst(edits)) { try await send(part) }
        }
    }

    /// - Returns: `false` if the answer was lost. The mirror then has the origin's current versions.
    private mutating func sendOnce(_ outgoing: [Outgoing], in zoneID: ZoneID) async throws -> Bool {
        let edits = outgoing.map(\.edit)
        _ = try await local.require(.mirrorRecords).mirror(
            MirrorBatch(localZone(zoneID), sending: edits.map(\.version)))
        let results: [Result<ModifiedRecord, ServerError>]
        do {
            results = try await remote.modify(outgoing.map(\.operation), in: remoteZone(zoneID), atomic: false)
        } catch let failure as CloudKitFailure {
            guard case .answerLost = failure.kind else { throw failure }
            try await look(up: edits)
            return false
        }
        var reading = PageReading(zoneID: localZone(zoneID))
        var stale: [UnsentEdit] = []
        for (item, result) in zip(outgoing, results) {
            switch result {
            case .success(.saved(let record)): reading.add(record)
            case .success(.deleted): reading.delete(item.edit.recordID.recordName)
            case .failure(let error):
                switch error.code {
                case .conflict?, .exists?, .notFound?: stale.append(item.edit)
                case .validatingReferenceError? where item.edit.mine == nil: refusedDeletions.append(item.edit)
                default: break
                }
                report.refused[item.edit.recordID] = "\(error)"
                continue
            }
            report.items.append(item.item)
        }
        let positions = Dictionary(
            edits.map { ($0.recordID.recordName, $0.position) }, uniquingKeysWith: { first, _ in first })
        try await store(reading, in: zoneID, isAnswer: true) { positions[$0] }
        if stale.isEmpty { return true }
        try await look(up: stale)
        // An edit stays refused while the origin still has the version that the edit changed.
        let left = try await unsent(stale, in: zoneID)
        for edit in stale where !edit.isSame(as: left[edit.recordID.recordName]) { report.refused[edit.recordID] = nil }
        return true
    }

    /// The current unsent edits of the same records, by record name.
    private func unsent(_ edits: [UnsentEdit], in zoneID: ZoneID) async throws -> [Name: UnsentEdit] {
        let names = Set(edits.map(\.recordID.recordName))
        var left: [Name: UnsentEdit] = [:]
        try await replica.eachPageOfEdits { page in
            for edit in page where edit.recordID.zoneID == zoneID && names.contains(edit.recordID.recordName) {
                left[edit.recordID.recordName] = edit
            }
        }
        return left
    }

    /// Looks up the records of edits in the origin, where they may have changed.
    private func look(up edits: [UnsentEdit]) async throws {
        let zoneID = edits[0].recordID.zoneID
        let names = edits.map(\.recordID.recordName)
        var reading = PageReading(zoneID: localZone(zoneID))
        for (name, result) in zip(names, try await remote.lookup(names, in: remoteZone(zoneID))) {
            switch result {
            case .success(let record): reading.add(record)
            case .failure(let error) where error.code == .notFound: reading.delete(name)
            // The edit does not change until the next push.
            case .failure: continue
            }
        }
        try await store(reading, in: zoneID, isAnswer: false) { _ in nil }
    }

    private func store(_ reading: PageReading, in zoneID: ZoneID, isAnswer: Bool, _ accepted: (Name) -> Int64?)
        async throws
    {
        var changes = reading.changes.map { MirrorBatch.Change($0, accepted: accepted($0.recordID.recordName)) }
        // A file that the origin does not deliver counts as not fetched.
        var missing: [MirrorProblem] = []
        if let files {
            changes = try await files.fetching(
                changes, reading.received, in: replica, isAnswer: isAnswer, problems: &missing)
        }
        _ = try await local.require(.mirrorRecords).mirror(MirrorBatch(localZone(zoneID), changes: changes))
    }

    private func localZone(_ zoneID: ZoneID) -> ZoneID {
        replica.scope == .public ? .default : replica.localZone(zoneID)
    }

    // MARK: Requests

    /// - Returns: `nil` if there is nothing to send.
    /// - Throws: `RecordError` if one operation cannot express the edit.
    private func request(for edit: UnsentEdit) throws -> (operation: RecordOperation, item: PushReport.Item)? {
        func item(_ kind: PushReport.Item.Kind, _ fields: Set<Name> = []) -> PushReport.Item {
            PushReport.Item(
                scope: replica.scope, recordID: edit.recordID, kind: kind, fields: fields,
                base: edit.base?.recordChangeTag)
        }
        let name = edit.recordID.recordName
        guard let mine = edit.mine else {
            guard let base = edit.base else { return nil }
            return (RecordOperation(.delete, recordName: name, recordChangeTag: base.recordChangeTag), item(.delete))
        }
        let fields = RecordCopier.inputs(try mine.fields.decoded())
        guard let base = edit.base else {
            let operation = RecordOperation(
                .create, recordName: name, recordType: mine.recordType, fields: fields,
                parent: mine.parent.map { .record($0) } ?? .unchanged)
            return (operation, item(.create, Set(fields.keys)))
        }
        guard mine.recordType == base.recordType else {
            throw RecordError(
                .badRequest,
                "its type was changed from \(base.recordType) to \(mine.recordType); delete it, push, and create it again"
            )
        }
        let before = RecordCopier.inputs(try base.fields.decoded())
        var changed = fields.filter { before[$0.key] != $0.value }
        for name in before.keys where fields[name] == nil { changed[name] = .cleared }
        let share = Self.changes(of: mine.sharing?.share, since: base.sharing?.share)
        if changed.isEmpty, mine.parent == base.parent, share.isEmpty { return nil }
        let parent: RecordOperation.Parent =
            mine.parent == base.parent ? .unchanged : mine.parent.map { .record($0) } ?? .cleared
        var operation = RecordOperation(
            .update, recordName: name, recordType: mine.recordType, recordChangeTag: base.recordChangeTag,
            fields: changed, parent: parent)
        operation.share = share
        let members: Set<Name> = share.participants == nil ? [] : ["participants"]
        return (
            operation,
            item(
                .update,
                Set(changed.keys).union(members).union(share.publicPermission == nil ? [] : ["publicPermission"]))
        )
    }

    private static func changes(of mine: Share?, since base: Share?) -> ShareInput {
        guard let mine, let base else { return ShareInput() }
        return ShareInput(
            publicPermission: mine.publicPermission == base.publicPermission ? nil : mine.publicPermission,
            participants: mine.participants == base.participants ? nil : mine.participants)
    }

    /// The operation with the receipts of its files.
    /// - Throws: `RecordError` for a file that cannot be sent; `ServerError` for an upload that the origin refuses.
    private func uploadingFiles(of operation: RecordOperation, in zoneID: ZoneID) async throws -> RecordOperation {
        var operation = operation
        for (name, input) in operation.fields {
            guard case .tagged(let value, let type, let isEncrypted) = input, !value.assets.isEmpty,
                let recordType = operation.recordType
            else { continue }
            guard let files else {
                throw RecordError(.badRequest, "the mirror has no asset store, and the field '\(name)' has a file")
            }
            var receipts: [Asset] = []
            for asset in value.assets {
                if asset.originChecksum != nil {
                    throw RecordError(
                        .badRequest,
                        "the field '\(name)' has a file of the origin in another place than before; upload it here again"
                    )
                }
                let request = UploadRequest(recordType: recordType, fieldName: name, recordName: operation.recordName)
                let slot = try await remote.uploadSlots([request], in: remoteZone(zoneID))[0].get()
                receipts.append(
                    try await replica.remoteFiles.upload(to: slot, size: asset.size) { try await files.open(asset) })
            }
            var next = receipts.makeIterator()
            operation.fields[name] = .tagged(value.mappingAssets { next.next() ?? $0 }, type, isEncrypted: isEncrypted)
        }
        return operation
    }
}

extension UnsentEdit {
    /// True if neither the edit nor the origin's version has changed since.
    fileprivate func isSame(as later: UnsentEdit?) -> Bool {
        guard let later else { return false }
        return later.theirs == nil && later.position == position && later.base == base
    }
}
