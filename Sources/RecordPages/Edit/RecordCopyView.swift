internal import Accounts
internal import AssetStore
package import Console
internal import DataTransfer
internal import HTTPServing
internal import RecordStore
internal import Records

/// Copies records to another place: the form, its preview, and the copy itself.
package enum RecordCopyView {
    /// The field with the rule for existing records of the same names.
    static let existingField = "existing"
    /// The field with the fingerprint of the preview on the page.
    static let shownField = "shown"
    /// The number of names that a list shows.
    static let shownLimit = 20
    /// The maximum length of an address in bytes. Servers and proxies refuse much longer ones.
    private static let addressLimit = 4096

    /// The records to copy: their names, all from one zone, and the visit of that zone.
    struct Source {
        let visit: Visit
        let names: [Name]
        /// The record in words, if it is only one.
        let words: String?
        /// The page to return to.
        let back: String
    }
}

extension RecordCopyView {
    /// The form, with the preview if the address requests it.
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let source = try await source(visit)
        return visit.fields["do"] == "preview" ? try await preview(source) : page(source)
    }

    /// Handles the submitted form: shows the preview, or copies the records if the preview is still accurate.
    package static func submit(_ visit: Visit) async throws -> Answer {
        let source = try await source(visit)
        switch visit.fields["do"] {
        case "choose": return .page(page(source))
        case "copy": break
        default:
            // A preview with its own address supports the browser's back button.
            if let address = address(source) { return .redirect(address) }
            return .page(try await preview(source))
        }
        do {
            let asked = try await Asked(source)
            guard asked.isShown, asked.preview.canCopy else {
                let remark = "A choice or a record changed after the preview. This is the new preview."
                return .page(page(source, preview: asked.preview, remark: asked.isShown ? nil : remark))
            }
            return .page(try await copy(asked, source))
        } catch let error as RecordError {
            return .page(page(source, complaint: error))
        }
    }

    private static func preview(_ source: Source) async throws -> ComponentPage {
        do {
            return page(source, preview: try await Asked(source).preview)
        } catch let error as RecordError {
            return page(source, complaint: error)
        }
    }

    /// The evaluated request of a form.
    private struct Asked {
        let other: OtherDatabase
        let existing: RecordCopier.Existing
        let plan: RecordCopyPlan
        let preview: RecordCopyPreview
        /// True if the plan equals the preview that the form shows.
        let isShown: Bool

        init(_ source: Source) async throws {
            let visit = source.visit
            other = try OtherDatabase(visit, isOwn: true)
            if other.isZone(visit.place.zoneID, of: visit) {
                throw RecordError(
                    .badRequest,
                    "The records are in this place already; choose another zone, environment, database or user")
            }
            existing = RecordCopyView.existing(visit)
            plan = try await RecordCopyPlan(
                source.names, visit, to: other, try await visit.elsewhere(other.place), existing)
            preview = try RecordCopyPreview(plan, source, to: other, existing)
            isShown =
                visit.fields.text(RecordCopyView.shownField).map { [plan] in Name($0) == Name(plan.fingerprint) }
                ?? false
        }
    }

    // MARK: Parts

    private static func existing(_ visit: Visit) -> RecordCopier.Existing {
        RecordCopier.Existing(rawValue: visit.fields[existingField] ?? "") ?? .skip
    }

    private static func page(
        _ source: Source, preview: RecordCopyPreview? = nil, complaint: RecordError? = nil, remark: String? = nil
    ) -> ComponentPage {
        let visit = source.visit
        let existing = existing(visit)
        let records = source.words ?? Digits.count(source.names.count, "record")
        let choices = RecordCopier.Existing.allCases.map {
            Choice($0.rawValue, $0.words, isSelected: $0 == existing)
        }
        var buttons = [
            preview == nil
                ? Form.Button("Preview", act: "preview", style: "go")
                : Form.Button("Update the preview", act: "preview")
        ]
        if let preview, preview.canCopy { buttons.append(Form.Button(preview.button, act: "copy", style: "go")) }
        var parts: [any Component] = []
        if let complaint { parts.append(Note(refusing: PageError(complaint))) }
        if let remark { parts.append(Note(remark: remark)) }
        parts.append(
            Section(
                "destination", "Destination",
                [
                    Form(
                        .grid, visit.place.link("record/copy"),
                        hidden: fields(source)
                            + (preview.map { [Frame.Hidden(name: shownField, value: $0.fingerprint)] } ?? []),
                        OtherDatabaseInputs(visit, scopes: [.private, .public]).fields + [
                            FormField(.choice(choices), existingField, "if a name is taken")
                        ], buttons: buttons, links: [.button("Cancel", source.back)])
                ]))
        return ComponentPage(
            .fetch,
            PageHead(
                "Copy \(records)", crumb: Inline(OtherDatabase.words(visit.place, visit.people.actor)),
                ["Files are copied too. Copies keep their names, authors and dates."]),
            parts + (preview?.parts ?? []))
    }

    /// The address of the preview. The form itself uses POST, because it carries the secret of the session, which must
    /// not appear in URLs.
    /// - Returns: `nil` if the address would be too long.
    private static func address(_ source: Source) -> String? {
        let choices = OtherDatabase.fieldNames + [existingField]
        let chosen = source.visit.fields.pairs.filter { choices.contains($0.name) }
        let address = source.visit.place.link(
            "record/copy", fields(source).map { ($0.name, $0.value) } + chosen + [("do", "preview")])
        return address.utf8.count <= addressLimit ? address : nil
    }

    static func fields(_ source: Source) -> [Frame.Hidden] {
        source.names.map { Frame.Hidden(name: "name", value: $0.string) } + [
            Frame.Hidden(name: "back", value: source.back)
        ]
    }

    /// The records that the request names: by `name` in the zone of the place, or picked in a table.
    private static func source(_ visit: Visit) async throws -> Source {
        var seen: Set<Name> = []
        let named = visit.fields.all("name").filter { !$0.isEmpty }.map { Name($0) }.filter { seen.insert($0).inserted }
        if named.count > RecordCopier.recordLimit {
            let count = Digits.grouped(named.count)
            throw RecordError(
                .badRequest,
                "Up to \(RecordCopier.recordLimit) records can be copied at once, not \(count); copy the zone, or fewer records"
            )
        }
        let back = Place.local(visit.fields["back"])
        if !named.isEmpty {
            let zoneID = visit.place.zoneID ?? visit.usualZoneID ?? .default
            let there = visit.inZone(zoneID)
            let own =
                named.count == 1
                ? there.place.link(toRecord: named[0], in: zoneID)
                : there.place.link("fetch", [("names", named.map(\.string).joined(separator: "\n"))])
            return Source(
                visit: there, names: named, words: try await words(named, in: zoneID, there), back: back ?? own)
        }
        let picked = try visit.pickedRecords()
        let zoneID = picked[0].recordID.zoneID
        guard picked.allSatisfy({ visit.place.isSame($0.recordID.zoneID, zoneID) }) else {
            throw RecordError(
                .badRequest, "The selected records are in several zones; copy the records of one zone at a time")
        }
        let (there, names) = (visit.inZone(zoneID), picked.map(\.recordID.recordName))
        return Source(
            visit: there, names: names, words: try await words(names, in: zoneID, there),
            back: back ?? visit.place.link("query"))
    }

    /// The only record in words; `nil` for several.
    private static func words(_ names: [Name], in zoneID: ZoneID, _ visit: Visit) async throws -> String? {
        guard names.count == 1 else { return nil }
        let recordID = RecordID(recordName: names[0], zoneID: zoneID)
        let titles = try await ReferencedTitles([recordID], known: [], visit)
        return visit.titles.words(for: names[0], title: titles[recordID])
    }

    private static func copy(_ asked: Asked, _ source: Source) async throws -> ComponentPage {
        let visit = source.visit
        let (plan, other) = (asked.plan, asked.other)
        let target = try await visit.engine.database(
            other.place.address, as: Caller(userRecordName: other.user.userRecordName))
        let copier = RecordCopier(
            from: visit.database, visit.place.zoneID ?? .default, to: target, other.zoneID, existing: asked.existing)
        let folder = ZoneCopy.scratchFolder()
        defer { folder.later { $0.remove() } }
        func transport(_ address: DatabaseAddress) async throws -> StoredAssets {
            StoredAssets(try await visit.assets.store(address.container, address.environment))
        }
        let transports =
            plan.files == 0
            ? nil : (from: try await transport(visit.place.address), to: try await transport(other.place.address))
        let records = plan.sent
        let results = try await visit.measure {
            let files = try transports.map { transports in
                RecordCopier.Files(
                    folder: AssetFileFolder(try ZoneCopy.url(of: folder)), from: transports.from, to: transports.to)
            }
            return try await copier.copy(records, files: files)
        }
        return result(plan, zip(records, results).map { ($0.recordID.recordName, $1) }, source, to: other)
    }
}

extension RecordCopier.Existing {
    fileprivate var words: String {
        switch self {
        case .skip: "skip those, copy the others"
        case .replace: "replace them"
        case .refuse: "copy nothing"
        }
    }
}

// MARK: - Outcome

extension RecordCopyView {
    /// The page with the outcome of a copy, record by record.
    private static func result(
        _ plan: RecordCopyPlan, _ results: [(Name, Result<RecordCopier.Outcome, RecordError>)], _ source: Source,
        to other: OtherDatabase
    ) -> ComponentPage {
        let visit = source.visit
        let all =
            results + plan.problems.map { ($0.name, $0.outcome) } + plan.gone.map { ($0, .failure(.recordNotFound)) }
        func count(_ act: RecordCopier.Outcome) -> Int { all.count { (try? $0.1.get()) == act } }
        let failed = all.count { (try? $0.1.get()) == nil }
        let (saved, left) = (count(.copied) + count(.replaced), count(.left))
        let title =
            saved == 0
            ? "Nothing was copied" : failed == 0 ? "Copied" : "Copied, with \(Digits.count(failed, "exception"))"
        let counts = [
            (count(.copied), "copied"), (count(.replaced), "replaced"), (left, "not replaced"), (failed, "not copied"),
        ]
        let summary = counts.filter { $0.0 > 0 }.map { "\(Digits.grouped($0.0)) \($0.1)" }.joined(separator: ", ")
        let shares = Set(plan.sent.filter { $0.recordType == Share.recordType }.map(\.recordID.recordName))
        let rows = all.map { name, result -> Table.Row in
            let guests = shares.contains(name) ? "Its guests see the copy too" : ""
            let link = Inline.link(name.string, other.place.link(toRecord: name, in: other.zoneID))
            func row(_ name: Inline, _ verdict: String, _ tone: String, _ reason: Inline) -> Table.Row {
                Table.Row([name, Inline(verdict).styled("kind \(tone)"), reason])
            }
            return switch result {
            case .success(.copied): row(link, "copied", "created", Inline(guests))
            case .success(.replaced): row(link, "replaced", "modified", Inline(guests))
            case .success(.left): row(link, "kept", "", "A record with this name exists, and was not replaced")
            case .failure(let error):
                row(
                    Inline(name.string), "not copied", "deleted",
                    "\(.badge(error.code.rawValue, "lacks")) \(error.reason)")
            }
        }
        let there = all.filter { (try? $0.1.get()) != nil }.map(\.0.string)
        let fetch = other.place.link("fetch", [("names", there.joined(separator: "\n"))])
        return ComponentPage(
            .fetch,
            PageHead(
                title, crumb: Inline(other.words),
                actions: (there.isEmpty ? [] : [.button("The copies", fetch)]) + [.button("Back", source.back)]),
            [
                failed == 0 ? Note(good: summary) : Note(bad: summary),
                Table(
                    "Result for each record",
                    [.column("recordName", "name"), "outcome", .column("reason", "wide")], rows),
                Form(
                    .line, visit.place.link("record/copy"),
                    hidden: fields(source) + [Frame.Hidden(name: "do", value: "choose")], [], button: "Copy to…"),
            ])
    }
}
