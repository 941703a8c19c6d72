internal import Accounts
internal import CloudKitClient
package import Console
internal import DataTransfer
internal import RecordStore
internal import Records
internal import RemoteRecordStore

/// The page Not sent of a mirror: the changes that iCloud does not have, in the order of sending, and those in
/// conflict.
package struct UnsentView: Page {
    package static let template = "unsent"
    package static let tab = Tab.unsent

    struct Row: ViewModel {
        let act: String
        let database: String
        let zone: String
        let recordName: String
        let href: String
        let fields: String
        /// The change tag that the change was made on.
        let base: String?
    }

    struct ConflictRow: ViewModel {
        let database: String
        let zone: String
        let recordName: String
        let href: String
        let mine: String
        let theirs: String
        /// The page with the three versions; `nil` if one side deleted the record.
        let compare: String?
        /// The address of the form that keeps one version.
        let action: String
        /// The change tags of both versions, empty for a deletion.
        let mineTag: String
        let theirsTag: String
    }

    struct RefusalRow: ViewModel {
        let recordName: String
        let reason: String
    }

    package let title = Self.tab.title
    /// The container in iCloud, with its environment.
    let origin: String
    let isReadOnly: Bool
    let count: String
    let hasRows: Bool
    let rows: [Row]
    let moreRows: String?
    let conflicts: [ConflictRow]
    let refusals: [RefusalRow]
    let send: String
    let milliseconds: String

    /// The number of rows per table.
    private static let limit = 200

    /// Asks nobody: what would be sent is known here.
    package static func load(_ visit: Visit) async throws -> UnsentView {
        let connection = try visit.mirroredConnection()
        let mirror = try await visit.mirror(of: connection)
        let planned = try await visit.measure { try await mirror.push(isDryRun: true) }
        var conflicts: [ConflictRow] = []
        for scope in DatabaseScope.allCases where connection.reach.contains(scope) && !planned.conflicts.isEmpty {
            let place = visit.place.with { ($0.address.scope, $0.zone) = (scope, .unspecified) }
            let database = try await visit.engine.database(
                place.address, as: Caller(userRecordName: visit.mirrorUser(of: connection)))
            try await database.eachUnsentEdit { edit in
                if let row = ConflictRow(edit, place) { conflicts.append(row) }
                return conflicts.count < limit
            }
        }
        let left = planned.items.count - min(planned.items.count, limit)
        return UnsentView(
            origin: connection.place, isReadOnly: connection.isReadOnly,
            count: Digits.count(planned.items.count, "change"), hasRows: !planned.items.isEmpty,
            rows: planned.items.prefix(limit).map { Row($0, visit.place) },
            moreRows: left > 0 ? "… and \(Digits.grouped(left)) more" : nil,
            conflicts: conflicts,
            refusals: planned.refused.sorted { $0.key.recordName < $1.key.recordName }.prefix(limit).map {
                RefusalRow(recordName: $0.key.recordName.string, reason: $0.value)
            },
            send: visit.place.link("unsent/send"), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension UnsentView.Row {
    fileprivate init(_ item: PushReport.Item, _ place: Place) {
        let there = place.with { ($0.address.scope, $0.zone) = (item.scope, .one(item.recordID.zoneID)) }
        act = item.kind.rawValue
        database = item.scope.rawValue
        zone = item.recordID.zoneID.zoneName.string
        recordName = item.recordID.recordName.string
        href = there.link(toRecord: item.recordID.recordName, in: item.recordID.zoneID)
        fields = item.fields.sorted().map(\.string).joined(separator: ", ")
        base = item.base
    }
}

extension UnsentView.ConflictRow {
    /// - Returns: `nil` for an edit without a conflict.
    fileprivate init?(_ edit: UnsentEdit, _ place: Place) {
        guard let theirs = edit.theirs else { return nil }
        let there = place.inZone(edit.recordID.zoneID)
        database = place.address.scope.rawValue
        zone = edit.recordID.zoneID.zoneName.string
        recordName = edit.recordID.recordName.string
        href = there.link(toRecord: edit.recordID.recordName, in: edit.recordID.zoneID)
        mine = edit.mine == nil ? "deleted here" : edit.base == nil ? "created here" : "changed here"
        self.theirs =
            theirs.record == nil ? "deleted in iCloud" : edit.base == nil ? "created in iCloud" : "changed in iCloud"
        compare = edit.mine == nil || theirs.record == nil ? nil : there.link("unsent/conflict", [("name", recordName)])
        action = there.link("unsent/settle")
        mineTag = edit.mine?.recordChangeTag ?? ""
        theirsTag = theirs.record?.recordChangeTag ?? ""
    }
}

// MARK: - Actions

/// Sends the changes of a mirror, and ends its conflicts.
package enum UnsentActions {
    /// Sends all changes that are in no conflict, in the background.
    static func send(_ visit: Visit, jobs: MirrorJobs) async throws -> String {
        let connection = try visit.mirroredConnection()
        try visit.connections?.checkWritable(connection)
        let mirror = try await visit.mirror(of: connection)
        let total = try await mirror.push(isDryRun: true).items.count
        let place = visit.place
        let back = Frame.Link(text: "Not sent", href: place.link(Tab.unsent.rawValue))
        let run = BackgroundRun(
            heading: "Send \(Digits.count(total, "change")) to \(connection.place)", verb: "sent", total: total,
            place: place, back: back)
        try visit.console.runs.start(run) { run in
            let report: PushReport
            do {
                report = try await jobs.turn(at: connection) { try await mirror.push() }
            } catch let failure as CloudKitFailure where failure.kind == .cancelled {
                throw CancellationError()
            }
            run.update { ($0.done, $0.achieved) = ($0.total, report.items.count) }
            for edit in report.conflicts {
                run.add(
                    BackgroundRun.Problem(
                        subject: edit.recordID.recordName.string, href: back.href, code: "CONFLICT",
                        reason: "It changed in iCloud in the meantime; choose a version on the page Not sent"))
            }
            for (recordID, reason) in report.refused.sorted(by: { $0.key.recordName < $1.key.recordName }) {
                run.add(
                    BackgroundRun.Problem(subject: recordID.recordName.string, href: nil, code: nil, reason: reason))
            }
        }
        return place.link("run", [("id", run.id)])
    }

    /// Ends a conflict with one of the two versions.
    package static func settle(_ visit: Visit) async throws -> String {
        _ = try visit.mirroredConnection()
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID,
            let version = visit.fields["version"].flatMap({ ConflictSettlement(rawValue: $0) })
        else { throw RecordError(.badRequest, "The form needs a zone, a name, and the version to keep") }
        let seen = ConflictVersions(mine: visit.fields.text("mine"), theirs: visit.fields.text("theirs"))
        try await visit.measure {
            try await visit.database.require(.mirrorRecords).settle(
                RecordID(recordName: Name(name), zoneID: zoneID), keeping: version, of: seen)
        }
        return settled(visit)
    }

    /// The three versions of a record in conflict.
    package static func conflict(_ visit: Visit) async throws -> ConflictView {
        let (edit, mine, theirs) = try await edit(visit)
        return try ConflictView(mine: mine, base: edit.base, theirs: theirs, visit: visit)
    }

    /// Ends a conflict with the chosen values, as a change of the version in iCloud.
    package static func resolve(_ visit: Visit) async throws -> Answer {
        let (edit, mine, theirs) = try await edit(visit)
        let seen = ConflictVersions(mine: visit.fields.text("mineTag"), theirs: visit.fields.text("tag"))
        // Another version came meanwhile, from iCloud or by a change here.
        guard seen == ConflictVersions(of: edit) else {
            return .page(try ConflictView(mine: mine, base: edit.base, theirs: theirs, visit: visit))
        }
        if visit.fields["do"] == ConflictSettlement.theirs.rawValue {
            return .redirect(try await settle(edit, .theirs, of: seen, visit))
        }
        let chosen = try ConflictForm(visit.fields, visit: visit)
        let kept = chosen.rows.filter { !isSame($0.chosen, $0.theirs, $0) }
        if kept.isEmpty { return .redirect(try await settle(edit, .theirs, of: seen, visit)) }
        if chosen.rows.contains(where: { $0.type.valueType == .asset && !isSame($0.theirs, $0.was, $0) }) {
            // The files of iCloud's version stay, which only that version has.
            guard !kept.contains(where: { $0.type.valueType == .asset }) else {
                throw RecordError(
                    .badRequest, "Both sides have new files. Keep iCloud's version, and upload your files to it here")
            }
            // If the server ends between the two steps, my values are only in the history here.
            let address = try await settle(edit, .theirs, of: seen, visit)
            _ = try await save(kept, on: theirs, visit)
            return .redirect(address)
        }
        // If the server ends between the two steps, the conflict is still there, with the chosen values.
        let saved = try await save(chosen.rows.filter { !isSame($0.chosen, $0.mine, $0) }, on: mine, visit)
        // A version that comes from iCloud in between is not overwritten unseen.
        return .redirect(try await settle(edit, .mine, of: ConflictVersions(mine: saved, theirs: seen.theirs), visit))
    }

    // MARK: Parts

    private static func settle(
        _ edit: UnsentEdit, _ version: ConflictSettlement, of versions: ConflictVersions, _ visit: Visit
    ) async throws -> String {
        try await visit.measure {
            try await visit.database.require(.mirrorRecords).settle(edit.recordID, keeping: version, of: versions)
        }
        return settled(visit)
    }

    private static func settled(_ visit: Visit) -> String {
        visit.place.with { $0.zone = .unspecified }.link(Tab.unsent.rawValue, [Notice.conflictSettled.parameter])
    }

    private static func isSame(_ left: FieldValue?, _ right: FieldValue?, _ row: ConflictForm.Row) -> Bool {
        EditedField.text(of: left, row.type) == EditedField.text(of: right, row.type)
    }

    /// Saves values in the mirror.
    /// - Returns: the change tag of the record then.
    private static func save(_ rows: [ConflictForm.Row], on record: StoredRecord, _ visit: Visit) async throws -> String
    {
        if rows.isEmpty { return record.recordChangeTag }
        var operation = RecordOperation(
            .update, recordName: record.recordID.recordName, recordType: record.recordType,
            recordChangeTag: record.recordChangeTag)
        for row in rows {
            if row.name == ConflictView.parent {
                operation.parent =
                    if case .reference(let parent)? = row.chosen { .record(parent.recordName) } else { .cleared }
            } else {
                operation.fields[row.name] = EditedField.input(row.chosen, row.type)
            }
        }
        let request = ModifyRequest([operation], zoneID: record.recordID.zoneID)
        guard
            case .saved(let saved)? = try await visit.measure({ try await visit.database.modify(request) }).first?.get()
        else {
            throw RecordError(.internalError, "The store did not return the saved record")
        }
        return saved.recordChangeTag
    }

    /// - Throws: `RecordError` NOT_FOUND if the record is in no conflict of two versions.
    private static func edit(_ visit: Visit) async throws -> (UnsentEdit, mine: StoredRecord, theirs: StoredRecord) {
        _ = try visit.mirroredConnection()
        guard let name = visit.fields.text("name").map({ Name($0) }), let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the record's name and its zone")
        }
        var found: UnsentEdit?
        try await visit.database.eachUnsentEdit { edit in
            if edit.recordID.recordName == name, visit.place.isSame(edit.recordID.zoneID, zoneID) { found = edit }
            return found == nil
        }
        guard let found, let mine = found.mine, let theirs = found.theirs?.record else {
            throw RecordError(
                .notFound,
                "The record '\(name)' is no longer in conflict, or one side deleted it; see the page Not sent")
        }
        return (found, mine, theirs)
    }
}
