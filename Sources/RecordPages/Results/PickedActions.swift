package import Console
internal import DataTransfer
internal import RecordStore
internal import Records

/// The actions on ticked records.
package enum PickedActions {
    /// The number of names that a confirmation shows.
    private static let shownNames = 12

    /// Answers with a file or with a page, as the button says.
    package static func answer(_ visit: Visit) async throws -> Answer {
        if let format = visit.fields["do"].flatMap(ResultFormat.init(rawValue:)) {
            return .response(try await format.picked(visit))
        }
        let picked = try visit.pickedRecords()
        switch visit.fields["do"] {
        case "delete":
            let dependents = try await visit.measure {
                try await visit.database.dependents(of: picked.map(\.recordID))
            }
            if dependents.isEmpty, await !visit.asksBeforeDeletions() { return try await delete(visit) }
            return .page(try await confirmDeletion(of: picked, with: dependents, visit: visit))
        case "compare": return .redirect(try comparison(of: picked, visit: visit))
        case "copy": return .page(try await RecordCopyView.load(visit))
        default: break
        }
        let zones = grouped(picked, in: visit.place)
        guard zones.count > 1 else { return .redirect(fetchLink(picked, visit: visit)) }
        return .page(
            ComponentPage(
                .fetch,
                PageHead(
                    "Fetch \(Digits.count(picked.count, "record"))",
                    ["The records are in several zones, and a fetch reads one zone."]),
                [
                    Paragraph.actions(
                        zones.map { group in
                            let zoneID = group[0].recordID.zoneID
                            let owner = visit.ownerName(zoneID).map { " \($0)" } ?? ""
                            return .button(
                                "\(Digits.count(group.count, "record")) of \(visit.zoneName(zoneID))\(owner)",
                                fetchLink(group, visit: visit))
                        } + [.button(backText(visit), back(visit))])
                ]))
    }

    private static func fetchLink(_ picked: [PickedRecord], visit: Visit) -> String {
        visit.place.inZone(picked[0].recordID.zoneID).link(
            "fetch", [("names", picked.map(\.recordID.recordName.string).joined(separator: "\n"))] + shape(visit))
    }

    /// The display options of the tab Fetch, if the records were ticked there.
    private static func shape(_ visit: Visit) -> [(name: String, value: String)] {
        let parts = back(visit).split(separator: "?", maxSplits: 1)
        guard parts.count == 2, parts[0].hasSuffix("/fetch") else { return [] }
        let fields = FormFields(encoded: parts[1].utf8)
        return DesiredKeys(fields).parameters + (fields.text("as").map { [("as", $0)] } ?? [])
    }

    /// The records grouped by zone, in page order.
    private static func grouped(_ picked: [PickedRecord], in place: Place) -> [[PickedRecord]] {
        var groups: [[PickedRecord]] = []
        for record in picked {
            if let index = groups.firstIndex(where: { place.isSame($0[0].recordID.zoneID, record.recordID.zoneID) }) {
                groups[index].append(record)
            } else {
                groups.append([record])
            }
        }
        return groups
    }

    private static func back(_ visit: Visit) -> String {
        Place.local(visit.fields["back"]) ?? visit.place.link("query")
    }

    /// The text of the back link, which depends on the page where the records were ticked.
    private static func backText(_ visit: Visit) -> String {
        back(visit).split(separator: "?").first?.hasSuffix("/fetch") == true
            ? "Back to the records" : "Back to the query"
    }

    /// The page that compares the two ticked records.
    private static func comparison(of picked: [PickedRecord], visit: Visit) throws -> String {
        guard picked.count == 2 else {
            throw RecordError(
                .badRequest,
                "Select exactly two records to compare; \(Digits.grouped(picked.count)) \(picked.count == 1 ? "is" : "are") selected"
            )
        }
        let (left, right) = (picked[0].recordID, picked[1].recordID)
        let there = visit.place.inZone(left.zoneID)
        return there.link(
            "record/compare",
            [
                ("name", left.recordName.string), (RecordComparisonView.otherField, right.recordName.string),
                (OtherDatabase.zoneField, there.zoneText(right.zoneID)),
            ])
    }

    // MARK: Deleting

    /// - Parameter dependents: the records that are deleted with them.
    private static func confirmDeletion(
        of picked: [PickedRecord], with dependents: [Dependent], visit: Visit
    ) async throws -> ConfirmationView {
        let keepsVersions = await visit.keepsVersions()
        let names = picked.prefix(shownNames).map(\.recordID.recordName.string).joined(separator: ", ")
        let left = picked.count - shownNames
        var lines = [
            left > 0 ? "\(names) and \(Digits.grouped(left)) more." : "\(names).",
            "They are deleted for everyone who sees them. A record that was saved after you opened the page stays.",
        ]
        if !dependents.isEmpty {
            lines.append(dependents.warning(for: picked.count == 1 ? "it" : "them"))
            if keepsVersions { lines.append("Undo brings all of them back.") }
        }
        if visit.database.can(.traceReferences) {
            let deleted = Set(picked.map(\.recordID) + dependents.map(\.recordID))
            var (blocked, parents) = (0, 0)
            for record in picked {
                let referrers = try await visit.database.require(.traceReferences).referrers(
                    to: record.recordID, limit: 1000)
                if referrers.contains(where: { $0.action == .validate }) { blocked += 1 }
                let isLeft = referrers.contains { referrer in
                    referrer.fieldName == SystemField.parent.schemaName
                        && !deleted.contains(RecordID(recordName: referrer.recordName, zoneID: record.recordID.zoneID))
                }
                if isLeft { parents += 1 }
            }
            if blocked > 0 {
                lines.append("VALIDATE references will keep \(Digits.grouped(blocked)) of them from being deleted.")
            }
            if parents > 0 {
                lines.append(
                    "\(Digits.grouped(parents)) of them \(parents == 1 ? "stays" : "stay"), because other records have \(parents == 1 ? "it" : "them") as their parent."
                )
            }
        }
        let fields = picked.map { Frame.Hidden(name: PickedRecord.fieldName, value: $0.text(in: visit.place)) }
        return ConfirmationView(
            on: .query, title: "Delete \(Digits.count(picked.count, "record"))?", lines: lines,
            action: visit.place.link("picked/delete"),
            fields: fields + [Frame.Hidden(name: "back", value: back(visit))],
            button: "Delete \(Digits.count(picked.count + dependents.count, "record"))",
            cancel: back(visit), losing: keepsVersions ? nil : visit)
    }

    /// Deletes the ticked records that have not changed since the page was shown. The result page lists the others.
    package static func delete(_ visit: Visit) async throws -> Answer {
        let picked = try visit.pickedRecords()
        var refused: [Table.Row] = []
        var deleted = 0
        for group in grouped(picked, in: visit.place) {
            let zoneID = group[0].recordID.zoneID
            let operations = group.map { record in
                RecordOperation(
                    .delete, recordName: record.recordID.recordName, zoneID: zoneID,
                    recordChangeTag: record.recordChangeTag)
            }
            let results = try await visit.measure {
                try await visit.database.modify(ModifyRequest(operations, zoneID: zoneID, atomic: false))
            }
            for (record, result) in zip(group, results) {
                switch result {
                case .success: deleted += 1
                case .failure(let error): refused.append(row(record.recordID, error, visit))
                }
            }
        }
        if refused.isEmpty {
            return .redirect(NoticeView.address(back(visit), await visit.notice(.recordsDeleted)))
        }
        return .page(
            ComponentPage(
                .query,
                PageHead(
                    "\(Digits.count(refused.count, "record")) not deleted",
                    [
                        Inline(
                            deleted == 0
                                ? "No record was deleted."
                                : "\(Digits.count(deleted, "record")) \(deleted == 1 ? "is" : "are") deleted."),
                        "The others remain. The table says why.",
                    ], actions: [.button(backText(visit), back(visit))]),
                [
                    Table(
                        "Records that were not deleted",
                        [.column("recordName", "name"), "error", .column("reason", "wide")], refused)
                ]))
    }

    /// The reason why a ticked record was not deleted.
    private static func row(_ recordID: RecordID, _ error: RecordError, _ visit: Visit) -> Table.Row {
        let href = visit.place.link(toRecord: recordID.recordName, in: recordID.zoneID)
        return Table.Row([
            .link(recordID.recordName.string, href), Inline(error.code.rawValue).styled("kind deleted"),
            Inline(error.reason),
        ])
    }
}

// MARK: - Ticked records

/// A ticked record, in the version that the page showed.
struct PickedRecord: Sendable {
    /// The form field with the record.
    static let fieldName = "pick"

    let recordID: RecordID
    let recordChangeTag: String

    init(_ record: StoredRecord) {
        recordID = record.recordID
        recordChangeTag = record.recordChangeTag
    }

    /// Parses the output of ``text(in:)``.
    init?(_ text: String, in place: Place) {
        let lines = text.formLines
        guard lines.count == 3, case .one(let zoneID) = Place.zone(lines[0], owner: nil, in: place.address.scope) else {
            return nil
        }
        recordID = RecordID(recordName: Name(lines[1]), zoneID: zoneID)
        recordChangeTag = lines[2]
    }

    /// Zone, name and change tag, one per line. None of them can contain line breaks.
    func text(in place: Place) -> String {
        "\(place.zoneText(recordID.zoneID))\n\(recordID.recordName)\n\(recordChangeTag)"
    }
}

extension Visit {
    /// Identifies a record in the form of ticked records; `nil` in an earlier state, which no action changes.
    func pick(_ record: StoredRecord) -> String? {
        earlier == nil ? PickedRecord(record).text(in: place) : nil
    }

    /// The distinct records in the request's form.
    /// - Throws: `RecordError` BAD_REQUEST if there are none, or more than a page shows.
    func pickedRecords() throws -> [PickedRecord] {
        var seen: Set<RecordID> = []
        let picked = fields.all(PickedRecord.fieldName).compactMap { PickedRecord($0, in: place) }.filter {
            seen.insert($0.recordID).inserted
        }
        if picked.isEmpty { throw RecordError(.badRequest, "No record is selected: select records in the table first") }
        if picked.count > FetchView.nameLimit {
            throw RecordError(.badRequest, "More than \(FetchView.nameLimit) records are selected; select fewer")
        }
        return picked
    }
}

/// The actions for the ticked records of a table.
struct PickingBar: ViewModel {
    let action: String
    /// The page to return to.
    let back: String
    let formats: [Choice]
    /// The link that changes all matching records, ticked or not; `nil` if there is no query.
    let changeAll: String?
    /// `Select all 5,000`; `nil` if the page shows all of them.
    let selectAll: String?
    let newRecord: String?
    /// True if the page after Delete asks.
    let asks: Bool

    /// - Parameters:
    ///   - total: the number of matches, if it is known.
    ///   - hasMore: true if some of them are on other pages.
    ///   - canSave: false if every save is refused.
    init(back form: QueryForm, total: String?, hasMore: Bool, canSave: Bool, asks: Bool, visit: Visit) {
        self.init(
            back: visit.place.link("query", form.parameters),
            changeAll: visit.place.link("bulk", form.changed { _ in }.parameters),
            selectAll: hasMore ? "Select all \(total ?? "matches")" : nil,
            newRecord: canSave ? visit.place.link("record/new", form.type.map { [("type", $0.string)] } ?? []) : nil,
            asks: asks, visit: visit)
    }

    init(
        back: String, changeAll: String? = nil, selectAll: String? = nil, newRecord: String? = nil, asks: Bool,
        visit: Visit
    ) {
        action = visit.place.link("picked")
        self.back = back
        self.changeAll = changeAll
        (self.selectAll, self.newRecord, self.asks) = (selectAll, newRecord, asks)
        formats = ResultFormat.allCases.map { Choice($0.rawValue, $0.label, isSelected: false) }
    }
}
