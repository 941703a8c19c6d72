internal import Accounts
internal import CloudKitClient
package import Console
internal import DataTransfer
internal import RecordStore
internal import Records
internal import RemoteRecordStore

/// The page Not sent of a mirror: the changes that iCloud does not have, in the order of sending, and those in
/// conflict.
package enum UnsentView {
    /// The number of rows per table.
    private static let limit = 200

    /// Asks nobody: what would be sent is known here.
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let connection = try visit.mirroredConnection()
        let mirror = try await visit.mirror(of: connection)
        let planned = try await visit.measure { try await mirror.push(isDryRun: true) }
        var conflicts: [Table.Row] = []
        for scope in DatabaseScope.allCases where connection.reach.contains(scope) && !planned.conflicts.isEmpty {
            let place = visit.place.with { ($0.address.scope, $0.zone) = (scope, .unspecified) }
            let database = try await visit.engine.database(
                place.address, as: Caller(userRecordName: visit.mirrorUser(of: connection)))
            try await database.eachUnsentEdit { edit in
                if let row = row(edit, place) { conflicts.append(row) }
                return conflicts.count < limit
            }
        }
        let refusals = planned.refused.sorted { $0.key.recordName < $1.key.recordName }.prefix(limit)
        return ComponentPage(
            .unsent,
            PageHead(
                Tab.unsent.title,
                [
                    "Changes made in this mirror that \(strong: connection.place) does not have. Several changes of one record count as one. The list shows what would be sent. Opening this page sends nothing."
                ]),
            (conflicts.isEmpty
                ? []
                : [
                    Section(
                        "conflicts", "Conflicts",
                        [
                            Paragraph.faint(
                                "These records changed in iCloud after the version that was changed here. They wait until you choose; all others can be sent."
                            ),
                            Table(
                                "Records in conflict",
                                [.column("record", "name"), "zone", "database", "mine", "iCloud’s", "choose"],
                                conflicts),
                        ])
                ]) + [waiting(planned.items, connection, visit)]
                + (refusals.isEmpty
                    ? []
                    : [
                        Section(
                            "refused", "Can’t be sent",
                            [
                                Facts(
                                    refusals.map { Facts.Fact(Inline($0.key.recordName.string), Inline($0.value)) })
                            ])
                    ]),
            foot: PageFooter())
    }

    private static func waiting(_ items: [PushReport.Item], _ connection: ContainerConnection, _ visit: Visit)
        -> Section
    {
        let left = items.count - min(items.count, limit)
        let send: any Component =
            connection.isReadOnly
            ? Note(
                warning: "\(connection.place) is connected read-only.", "Connect it again as writable to send.")
            : Form(
                .line, visit.place.link("unsent/send"), [], button: "Send now", buttonStyle: "go",
                note: "They are sent in this order, each with the change tag of the version that was changed.")
        return Section(
            "waiting", "\(Digits.count(items.count, "change")) to send",
            (items.isEmpty ? [] : [send]) + [
                Table(
                    "Changes to send",
                    [.column("record", "name"), "change", "zone", "database", .column("fields", "wide"), "based on"],
                    items.prefix(limit).map { item in
                        let (recordID, scope) = (item.recordID, item.scope)
                        let there = visit.place.with { ($0.address.scope, $0.zone) = (scope, .one(recordID.zoneID)) }
                        return Table.Row([
                            .link(
                                recordID.recordName.string,
                                there.link(toRecord: recordID.recordName, in: recordID.zoneID)),
                            Inline(item.kind.rawValue), Inline(recordID.zoneID.zoneName.string), Inline(scope.rawValue),
                            Inline(item.fields.sorted().map(\.string).joined(separator: ", ")),
                            item.base.map { .code($0) } ?? .missing,
                        ])
                    }, nothing: EmptyState(sentence: "Nothing waits to be sent."),
                    more: left > 0 ? "… and \(Digits.grouped(left)) more" : nil)
            ])
    }

    /// A record in conflict, with the choice between the versions.
    /// - Returns: `nil` for an edit without a conflict.
    private static func row(_ edit: UnsentEdit, _ place: Place) -> Table.Row? {
        guard let theirs = edit.theirs else { return nil }
        let (recordID, there) = (edit.recordID, place.inZone(edit.recordID.zoneID))
        let name = recordID.recordName.string
        func keep(_ version: ConflictSettlement, _ words: String) -> Inline {
            .part(
                Form(
                    .line, there.link("unsent/settle"),
                    hidden: [
                        Frame.Hidden(name: "name", value: name), Frame.Hidden(name: "version", value: version.rawValue),
                        Frame.Hidden(name: "mine", value: edit.mine?.recordChangeTag ?? ""),
                        Frame.Hidden(name: "theirs", value: theirs.record?.recordChangeTag ?? ""),
                    ], [], button: "Keep \(words)", buttonLabel: "Keep \(words) of \(name)"))
        }
        let compare = there.link("unsent/conflict", [("name", name)])
        let isDeleted = edit.mine == nil || theirs.record == nil
        return Table.Row([
            .link(name, there.link(toRecord: recordID.recordName, in: recordID.zoneID)),
            Inline(recordID.zoneID.zoneName.string), Inline(place.address.scope.rawValue),
            edit.mine == nil ? "deleted here" : edit.base == nil ? "created here" : "changed here",
            theirs.record == nil ? "deleted in iCloud" : edit.base == nil ? "created in iCloud" : "changed in iCloud",
            ((isDeleted
                ? "" : .buttons([.button("Three versions…", compare, label: "Three versions of \(name)")]))
                + keep(.mine, "mine") + keep(.theirs, "iCloud’s")).styled("row"),
        ])
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
