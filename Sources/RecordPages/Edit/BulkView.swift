package import Console
internal import RecordStore
internal import Records
internal import RemoteRecordStore

/// The form that changes all records that match a query: the kind of change, its field and the new value.
struct ChangeForm: Component {
    static let template = "change_form"

    struct Value: ViewModel {
        let name: String
        let type: String
        let isList: Bool
        let entries: [EntryView]
        let count: String
        let isEmptyList: Bool
        let isEncrypted: Bool
    }

    let action: String
    let hidden: [Frame.Hidden]
    let changes: [Choice]
    /// False for a deletion.
    let needsField: Bool
    let fieldChoices: [Choice]
    /// The inputs of the new value; `nil` if no field is chosen, or the change sets no value.
    let value: Value?
    let problem: String?
    /// The number of the field among the inputs. The ids of the inputs contain it.
    let number = "1"
}

/// The page that changes all records that match a query: the form, a dry run, and the button that starts the job.
package enum BulkView {
    // MARK: Pages

    package static func load(_ visit: Visit) async throws -> ComponentPage {
        let form = try BulkForm(visit)
        let isAsked = visit.fields["dry"] != nil && visit.fields["do"] == nil
        return try await page(form, isAsked: isAsked, remark: nil, visit)
    }

    /// Starts the job of the dry run. If the records have changed since, shows a new dry run.
    package static func run(_ visit: Visit) async throws -> Answer {
        let form = try BulkForm(visit)
        let type = try Self.type(form, visit)
        let plan = CheckedQuery(form.query, of: type)
        guard plan.canRun else { return .page(try await page(form, isAsked: true, remark: nil, visit)) }
        let input: FieldInput?
        do {
            input = form.change == .delete ? nil : try form.input(in: visit.place)
        } catch {
            return .page(try await page(form, isAsked: true, remark: nil, visit))
        }
        let found = try await BulkTargets.find(form, plan: plan, input: input, visit: visit)
        guard Name(found.fingerprint) == Name(visit.fields["fingerprint"] ?? ""), !found.targets.isEmpty else {
            let remark = "Nothing was changed: other records match since the dry run. This is the new dry run."
            return .page(try await page(form, isAsked: true, remark: remark, visit))
        }
        // A job in the background can't ask before it changes a container in iCloud.
        try visit.cloudKit()?.checkWritable()
        let count = Digits.count(found.targets.count, "record")
        let heading: String
        switch form.change {
        case .set: heading = "Set \(form.field?.name ?? "") of \(count)"
        case .clear: heading = "Clear \(form.field?.name ?? "") of \(count)"
        case .delete: heading = "Delete \(count)"
        }
        let work = BulkWork(
            database: visit.database, place: visit.place, targets: found.targets,
            change: form.field.flatMap { field in input.map { (field.name, $0) } })
        let run = BackgroundRun(
            heading: heading, verb: form.change == .delete ? "deleted" : "saved", total: found.targets.count,
            place: visit.place,
            back: Frame.Link(text: "Back to the query", href: visit.place.link("query", form.query.parameters)),
            change: await visit.keepsVersions() ? visit.kept() : nil)
        try visit.console.runs.start(run) { try await work.run($0) }
        return .redirect(visit.place.link("run", [("id", run.id)]))
    }

    private static func type(_ form: BulkForm, _ visit: Visit) throws -> RecordType {
        guard let name = form.query.type else {
            throw RecordError(.badRequest, "The address needs a record type: type=…")
        }
        guard let type = visit.schema?.types[name], name != Schema.usersType else {
            throw RecordError(known: .unknownType, name)
        }
        return type
    }

    private static func page(
        _ form: BulkForm, isAsked: Bool, remark: String?, _ visit: Visit
    ) async throws -> ComponentPage {
        let type = try type(form, visit)
        let plan = CheckedQuery(form.query, of: type)
        let all = plan.canRun && plan.query.filters.isEmpty ? await visit.recordCounts()?[type.name] : nil
        var (notes, dryRun, problem): ([any Component], [any Component], String?) = ([], [], nil)
        if let remark { notes.append(Note(stale: remark)) }
        if !plan.canRun {
            notes.append(note(RecordError(.badRequest, "A value of the query can't be read")))
        } else if isAsked {
            do {
                let input = form.change == .delete ? nil : try form.input(in: visit.place)
                let found = try await BulkTargets.find(form, plan: plan, input: input, visit: visit)
                let dependents =
                    form.change == .delete ? try await visit.database.dependents(of: found.targets.map(\.recordID)) : []
                dryRun = try await parts(found, form, input: input, dependents, visit)
            } catch let error as EntryProblem {
                problem = error.reason
            } catch let error as RecordError {
                notes.append(note(error))
            }
        }
        let heading =
            all.map { "Change all \(Digits.count($0, "\(type.name) record"))" }
            ?? "Change all matching \(type.name) records"
        return ComponentPage(
            .query, title: "Change all matches",
            PageHead(
                heading, crumb: Inline(QuerySentence.text(of: plan.query, type: type)),
                ["Choose a change for all of them. A dry run comes first and changes nothing."],
                actions: [.button("Back to the query", visit.place.link("query", form.query.parameters))]),
            notes + [ChangeForm(form, type, problem: problem, visit)] + dryRun)
    }

    private static func note(_ error: RecordError) -> Note {
        Note(
            refusing: PageError(error),
            "· as the API returns it. Run the query on the page Query first. It offers the missing indexes.")
    }

    // MARK: Dry run

    private static func parts(
        _ found: BulkTargets, _ form: BulkForm, input: FieldInput?, _ dependents: [Dependent], _ visit: Visit
    ) async throws -> [any Component] {
        let isDeletion = form.change == .delete
        let notes = notes(
            found, dependents, isDeletion: isDeletion, canUndo: await visit.keepsVersions())
        if found.targets.isEmpty { return [Confirmation("dryrun", "No record would be changed", notes: notes)] }
        let count = Digits.count(found.targets.count, "record")
        let field = form.field?.name.string ?? ""
        let (sentence, button): (String, String) =
            switch form.change {
            case .set: ("\(count) would get another \(field)", "Set \(field) of \(count)")
            case .clear: ("\(count) would lose the value of \(field)", "Clear \(field) of \(count)")
            case .delete: ("\(count) would be deleted", "Delete \(count)")
            }
        let start = Form(
            .line, visit.place.link("bulk/run"),
            hidden: (form.parameters + [("fingerprint", found.fingerprint)]).map {
                Frame.Hidden(name: $0.0, value: $0.1)
            }, [], button: button, buttonStyle: isDeletion ? "go danger" : "go")
        return [
            Confirmation("dryrun", sentence, isWarning: isDeletion, start, notes: notes),
            table(found, form, input: input, visit),
        ]
    }

    private static func notes(
        _ found: BulkTargets, _ dependents: [Dependent], isDeletion: Bool, canUndo: Bool
    ) -> [String] {
        var notes: [String] = []
        if found.isCutOff {
            notes.append(
                "More records match. One run changes \(Digits.grouped(BulkTargets.limit)), in the order of the query. Repeat it for the rest."
            )
        }
        if found.isCutShort {
            notes.append(
                "More records match. The first \(Digits.grouped(BulkTargets.lookLimit)) were read. Narrow the query to reach the rest."
            )
        }
        if found.unchanged > 0 {
            notes.append(
                "\(Digits.count(found.unchanged, "record")) already \(found.unchanged == 1 ? "has" : "have") this value and \(found.unchanged == 1 ? "stays" : "stay") unchanged."
            )
        }
        if !dependents.isEmpty { notes.append(dependents.warning(for: "them")) }
        if isDeletion {
            notes.append(
                "A target of a VALIDATE reference and a parent are deleted only together with the records that refer to them."
            )
        }
        if !found.targets.isEmpty {
            notes.append("A record that is saved between the dry run and the change stays unchanged, and is listed.")
            notes.append(
                "It runs in the background. Its page can cancel it\(canUndo ? ", and undo it" : ". It can’t be undone: no earlier versions are kept here")."
            )
        }
        return notes
    }

    /// The first records, with their values before and after.
    private static func table(_ found: BulkTargets, _ form: BulkForm, input: FieldInput?, _ visit: Visit) -> Table {
        let (showsValues, showsZones) = (form.change != .delete, visit.queriesSeveralZones)
        let after: FieldValue? = if case .tagged(let value, _, _)? = input { value } else { nil }
        var columns: [Table.Column] = [.column("record", "name")]
        if showsZones { columns.append("zone") }
        if showsValues { columns += ["now", "after"] }
        let titles = visit.titles
        let rows = found.shown.map { record in
            let (name, zoneID) = (record.recordID.recordName, record.recordID.zoneID)
            let href = visit.place.link(toRecord: name, in: zoneID)
            let title = try? titles.title(of: record)
            let presenter = ValuePresenter(place: visit.place, zoneID: zoneID, links: nil)
            // A value that can't be read is shown as empty. The page of the record describes the problem.
            let held = form.field.flatMap { field in (try? record.fields.values(of: [field.name]))?[field.name] }
            var cells = [
                Inline(
                    ValueView(
                        title.map { .record(title: $0, name: name.string, href: href, hint: nil) }
                            ?? .link(name.string, href: href, hint: nil)))
            ]
            if showsZones { cells.append(Inline(visit.zoneName(zoneID))) }
            if showsValues, let field = form.field {
                cells += [held, after].map { Inline(presenter.view($0, of: field.name)) }
            }
            return Table.Row(cells)
        }
        let left = found.targets.count - found.shown.count
        return Table(
            "The first records", columns, rows, more: left > 0 ? "and \(Digits.grouped(left)) more" : nil)
    }
}

extension ChangeForm {
    fileprivate init(_ form: BulkForm, _ type: RecordType, problem: String?, _ visit: Visit) {
        action = visit.place.link("bulk")
        hidden = form.query.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        changes = [("set", "set a field"), ("clear", "clear a field"), ("delete", "delete the records")].map {
            value, text in
            Choice(value, text, isSelected: value == form.change.rawValue)
        }
        needsField = form.change != .delete
        let chosen = form.field?.name
        let fields = type.fields.filter { form.change == .clear || $0.value.type.valueType != .asset }.sorted {
            $0.key < $1.key
        }
        fieldChoices =
            [Choice("", "choose a field", isSelected: chosen == nil)]
            + fields.map { Choice($0.key.string, "\($0.key) · \($0.value.type.label)", isSelected: $0.key == chosen) }
        value = form.change == .set ? form.field.map { Value($0, isWrong: problem != nil, visit: visit) } : nil
        self.problem = problem
    }
}

extension ChangeForm.Value {
    fileprivate init(_ field: EditedField, isWrong: Bool, visit: Visit) {
        name = field.name.string
        type = field.type.label
        isList = field.type.isList
        entries = field.entries.enumerated().map { index, entry in
            EntryView(
                entry, of: field, number: 1, element: index + 1, found: nil, isWrong: isWrong, offersTools: false,
                visit: visit)
        }
        count = String(field.entries.count)
        isEmptyList = field.isEmptyList
        isEncrypted = field.type.isEncrypted
    }
}

// MARK: - Form

/// A change of all records that match a query, as URL parameters: the parameters of the query, and
/// `change=set&changed=rank&text-1-1=5`.
struct BulkForm: Sendable {
    enum Change: String, Sendable, CaseIterable {
        case set, clear, delete
    }

    let query: QueryForm
    let change: Change
    /// The field that is set or cleared, with the new value in its inputs; `nil` if no field is chosen.
    var field: EditedField?

    init(_ visit: Visit) throws {
        var query = QueryForm(visit.fields)
        // The change covers all matching records, so it starts at the first page.
        (query.markers, query.page) = ([], 1)
        query.keys.clear()
        self.query = query
        change = visit.fields["change"].flatMap { Change(rawValue: $0) } ?? .set
        guard change != .delete, let type = query.type.flatMap({ visit.schema?.types[$0] }),
            let name = visit.fields.text("changed").map({ Name($0) }),
            let definition = type.fields[name], definition.type.valueType != .asset || change == .clear
        else { return }
        var field = EditedField(name, definition.type, was: nil, showing: nil, place: visit.place)
        let sent = Dictionary(visit.fields.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        if definition.type.isList {
            let count = visit.fields.number("count1", in: 1...EditedField.elementLimit) ?? 1
            field.entries = (1...count).map { FieldEntry(sent, suffix: "1-\($0)") }
            field.isEmptyList = sent["emptylist1"] != nil
            if visit.fields["do"] == "grow-1", count < EditedField.elementLimit { field.entries.append(FieldEntry()) }
        } else {
            field.entries = [FieldEntry(sent, suffix: "1-1")]
        }
        self.field = field
    }

    /// The URL parameters of this form.
    var parameters: [(name: String, value: String)] {
        query.parameters + [("change", change.rawValue)]
            + (field.map { [("changed", $0.name.string)] + Self.parameters(of: $0) } ?? [])
    }

    private static func parameters(of field: EditedField) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] =
            field.type.isList ? [("count1", String(field.entries.count))] : []
        if field.isEmptyList { parameters.append(("emptylist1", "1")) }
        for (index, entry) in field.entries.enumerated() {
            let suffix = "1-\(index + 1)"
            if !entry.text.isEmpty { parameters.append(("text-\(suffix)", entry.text.string)) }
            if entry.isEmptyText { parameters.append(("empty-\(suffix)", "1")) }
            if entry.notation != .base64 { parameters.append(("as-\(suffix)", entry.notation.rawValue)) }
            if entry.action != .none { parameters.append(("action-\(suffix)", entry.action.rawValue)) }
            if !entry.zone.isEmpty { parameters.append(("zone-\(suffix)", entry.zone.string)) }
            for part in FieldEntry.Part.allCases {
                if let text = entry.parts[part] { parameters.append(("\(part.rawValue)-\(suffix)", text.string)) }
            }
        }
        return parameters
    }

    /// The new value of the field in each record.
    /// - Throws: ``EntryProblem`` if the input is not a value of the field's type, or is empty.
    func input(in place: Place) throws(EntryProblem) -> FieldInput {
        guard let field else { throw EntryProblem(reason: "Choose a field.") }
        if change == .clear { return .cleared }
        guard let value = try field.value(in: place) else {
            throw EntryProblem(reason: "Enter a value for the field. To clear it, choose ‘clear a field’.")
        }
        return EditedField.input(value, field.type)
    }
}
