internal import Accounts
internal import CloudKitRecordStore
internal import Console
internal import JSON
internal import Mirroring
internal import RecordStore
internal import Records

/// Sends the changes of a mirror, and ends its conflicts.
enum UnsentActions {
    /// Sends all changes that are in no conflict, in the background.
    static func send(_ visit: Visit, runs: BackgroundRuns, jobs: MirrorJobs) async throws -> String {
        let connection = try visit.mirroredConnection()
        try visit.connections?.checkWritable(connection)
        let mirror = try await visit.mirror(of: connection)
        let total = try await mirror.push(isDryRun: true).items.count
        let place = visit.place
        let back = Frame.Link(text: "Not sent", href: place.link(Tab.unsent.rawValue))
        let run = BackgroundRun(
            heading: "Send \(Digits.count(total, "change")) to \(connection.place)", verb: "sent", total: total, place: place, back: back)
        try runs.start(run) { run in
            let report = try await jobs.turn(at: connection) { try await mirror.push() }
            run.update { ($0.done, $0.achieved) = ($0.total, report.items.count) }
            for edit in report.conflicts {
                run.add(
                    BackgroundRun.Problem(
                        subject: edit.recordID.recordName.string, href: back.href, code: "CONFLICT",
                        reason: "It changed in iCloud meanwhile; choose a version on the page Not sent"))
            }
            for (recordID, reason) in report.refused.sorted(by: { $0.key.recordName < $1.key.recordName }) {
                run.add(BackgroundRun.Problem(subject: recordID.recordName.string, href: nil, code: nil, reason: reason))
            }
        }
        return place.link("run", [("id", run.id)])
    }

    /// Ends a conflict with one of the two versions.
    static func settle(_ visit: Visit) async throws -> String {
        _ = try visit.mirroredConnection()
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID,
            let version = visit.fields["version"].flatMap({ ConflictSettlement(rawValue: $0) })
        else { throw RecordError(.badRequest, "The form needs a zone, a name, and the version to keep") }
        try await visit.measure { try await visit.database.settle(RecordID(recordName: Name(name), zoneID: zoneID), keeping: version) }
        return settled(visit)
    }

    /// The three versions of a record in conflict.
    static func conflict(_ visit: Visit) async throws -> ConflictView {
        let (edit, mine, theirs) = try await edit(visit)
        return try ConflictView(mine: mine, base: edit.base, theirs: theirs, visit: visit)
    }

    /// Ends a conflict with the chosen values, as a change of the version in iCloud.
    static func resolve(_ visit: Visit) async throws -> Answer {
        let (edit, mine, theirs) = try await edit(visit)
        if visit.fields["do"] == ConflictSettlement.theirs.rawValue { return .redirect(try await settle(visit, edit, .theirs)) }
        let chosen = try ConflictForm(visit.fields, visit: visit)
        // Another version came meanwhile.
        guard Name(chosen.tag) == Name(theirs.recordChangeTag) else {
            return .page(try ConflictView(mine: mine, base: edit.base, theirs: theirs, visit: visit))
        }
        let kept = chosen.rows.filter { !isSame($0.chosen, $0.theirs, $0) }
        if kept.isEmpty { return .redirect(try await settle(visit, edit, .theirs)) }
        if chosen.rows.contains(where: { $0.type.valueType == .asset && !isSame($0.theirs, $0.was, $0) }) {
            // The files of iCloud's version stay, which only that version has.
            guard !kept.contains(where: { $0.type.valueType == .asset }) else {
                throw RecordError(.badRequest, "Both sides have new files. Keep iCloud's version, and upload your files to it here")
            }
            try await visit.measure { try await visit.database.settle(edit.recordID, keeping: .theirs) }
            try await save(kept, on: theirs, visit)
            return .redirect(settled(visit))
        }
        // If the server ends between the two steps, the conflict is still there, with the chosen values.
        try await save(chosen.rows.filter { !isSame($0.chosen, $0.mine, $0) }, on: mine, visit)
        return .redirect(try await settle(visit, edit, .mine))
    }

    // MARK: Parts

    private static func settle(_ visit: Visit, _ edit: UnsentEdit, _ version: ConflictSettlement) async throws -> String {
        try await visit.measure { try await visit.database.settle(edit.recordID, keeping: version) }
        return settled(visit)
    }

    private static func settled(_ visit: Visit) -> String {
        visit.place.with { $0.zone = .unspecified }.link(Tab.unsent.rawValue, [Notice.conflictSettled.parameter])
    }

    private static func isSame(_ left: FieldValue?, _ right: FieldValue?, _ row: ConflictForm.Row) -> Bool {
        EditedField.text(of: left, row.type) == EditedField.text(of: right, row.type)
    }

    /// Saves values in the mirror.
    private static func save(_ rows: [ConflictForm.Row], on record: StoredRecord, _ visit: Visit) async throws {
        if rows.isEmpty { return }
        var operation = RecordOperation(
            .update, recordName: record.recordID.recordName, recordType: record.recordType, recordChangeTag: record.recordChangeTag)
        for row in rows {
            if row.name == ConflictView.parent {
                operation.parent = if case .reference(let parent)? = row.chosen { .record(parent.recordName) } else { .cleared }
            } else {
                operation.fields[row.name] = EditedField.input(row.chosen, row.type)
            }
        }
        let request = ModifyRequest([operation], zoneID: record.recordID.zoneID)
        for result in try await visit.measure({ try await visit.database.modify(request) }) { _ = try result.get() }
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
            throw RecordError(.notFound, "The record '\(name)' is no longer in conflict, or one side deleted it; see the page Not sent")
        }
        return (found, mine, theirs)
    }
}
