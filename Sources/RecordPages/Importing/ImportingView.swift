package import Console
internal import DataTransfer
internal import HTTPServing
internal import HTTPTypes
internal import HummingbirdCore
internal import RecordStore
internal import Records

/// The import page: the file, a preview of the result, and the button that starts the import.
package struct ImportingView: Page {
    package static let template = "importing"
    package static let tab = Tab.importing

    /// The number of rows in the preview.
    static let sampleLimit = 10
    /// The number of rows up to which all are compared with the stored records; of more, those that are shown.
    static let comparedLimit = 1_000
    /// The maximum number of columns and notes in the preview. The import includes all columns.
    static let columnLimit = 200

    struct FieldRow: ViewModel {
        let name: String
        let type: String
        let columns: String
        /// The value that makes a column of numbers or dates a STRING.
        let reason: String?
        let isNew: Bool
        /// The types that the column of a new field can be given; empty for others.
        let types: [Choice]
        /// The indexes that the field may have and lacks; empty where the schema can't be edited.
        let indexes: [IndexTick]
    }

    /// An index to add with the import.
    struct IndexTick: ViewModel {
        let index: String
        let value: String
        let label: String
        let isTicked: Bool
    }

    struct SampleRow: ViewModel {
        let line: String
        let recordName: String?
        /// `new`, or what becomes of the record that is there; `nil` if all rows get new names.
        let standing: String?
        let cells: [TableValue]
    }

    struct ProblemRow: ViewModel {
        let line: String
        let reason: String
    }

    struct Preview: ViewModel {
        let fileName: String
        let size: String
        let upload: String
        /// Identifies the previewed import, so that the button can't start another one.
        let mark: String
        /// The file and type for which the page offers indexes; `nil` if it offers none.
        let offer: String?
        let nameFields: [Choice]
        /// True if the console chose the column with the record names.
        let isSuggested: Bool
        /// The choices for existing records; empty if all rows get new names.
        let existing: [Choice]
        /// True if the file names zones, which do not count.
        let leavesOutZones: Bool
        /// True if the import may add indexes to a field of the preview.
        let offersIndexes: Bool
        let fields: [FieldRow]
        let moreFields: String?
        let samples: [SampleRow]
        let notes: [String]
        let good: String
        /// The numbers of new and of existing records.
        let counts: String?
        /// The loss of existing records.
        let loss: String?
        let problemTitle: String?
        let problems: [ProblemRow]
        let moreProblems: String?
        let skips: Bool
        /// The reason why the file can't be imported here.
        let refusal: String?
        let button: String
        /// The reason why the button can only fail; scripts disable it. `nil` if it can work.
        let obstacle: String?
        let isPossible: Bool
    }

    package let title = Self.tab.title
    let container: String
    let typeName: String
    let types: [Choice]
    let zones: [Choice]
    let formats: [Choice]
    let limit: String
    let complaint: PageError?
    let remark: String?
    let preview: Preview?
    let action: String
    let run: String
    let command: String

    package static func load(_ visit: Visit) -> ImportingView {
        ImportingView(ImportForm(visit.fields, visit: visit), visit: visit)
    }

    init(
        _ form: ImportForm, _ upload: ImportUploads.Upload? = nil, _ preview: ImportPreview? = nil,
        _ standing: ImportStanding? = nil, complaint: RecordError? = nil, remark: String? = nil, visit: Visit
    ) {
        let place = visit.place
        container = place.address.container.description
        typeName = form.typeName
        types = visit.types.map { Choice($0.name.string, $0.name.string, isSelected: false) }
        zones = visit.chosenZoneChoices
        let chosen = upload?.format ?? form.format
        formats =
            [Choice("", "automatic", isSelected: chosen == nil)]
            + FileFormat.allCases.map { Choice($0.rawValue, $0.rawValue.uppercased(), isSelected: $0 == chosen) }
        limit = Digits.bytes(Int64(ImportUploads.sizeLimit))
        self.complaint = complaint.map { PageError($0) }
        self.remark = remark
        self.preview = upload.map { Preview(form, $0, preview, standing, visit: visit) }
        // The form names the zone.
        let whole = place.with { $0.zone = .unspecified }
        action = whole.link("importing/preview")
        run = whole.link("importing/run")
        command =
            "skylight import FILE --keep-fields --container \(place.address.container) --type \(form.typeName.isEmpty ? "TYPE" : form.typeName.shellWord)"
    }

    /// A note of an import as a sentence.
    static func sentence(of note: String) -> String { note.prefix(1).uppercased() + note.dropFirst() + "." }
}

extension ImportingView.Preview {
    fileprivate init(
        _ form: ImportForm, _ upload: ImportUploads.Upload, _ preview: ImportPreview?, _ standing: ImportStanding?,
        visit: Visit
    ) {
        fileName = upload.fileName
        size = Digits.bytes(Int64(upload.size))
        self.upload = upload.id
        mark = form.mark(upload, nameField: preview?.nameField?.string ?? ImportForm.noColumn, at: visit.place)
        var columns = Array((preview?.columns ?? []).prefix(ImportingView.columnLimit))
        if let named = preview?.nameField, !columns.contains(named) { columns.append(named) }
        nameFields =
            [Choice(ImportForm.noColumn, "new random names", isSelected: preview?.nameField == nil)]
            + columns.map { Choice($0.string, "column \($0)", isSelected: $0 == preview?.nameField) }
        offer = preview == nil || !visit.canEditSchema ? nil : form.offer(of: upload)
        isSuggested = form.nameField == nil && preview?.nameField != nil
        existing =
            preview?.nameField == nil
            ? []
            : [
                Choice("keep", "keep what the file lacks", isSelected: !form.replacesRecords),
                Choice(ImportForm.replace, "replace whole records", isSelected: form.replacesRecords),
            ]
        leavesOutZones = preview?.leavesOutZones ?? false
        let shown = (preview?.fields ?? []).prefix(ImportingView.columnLimit)
        moreFields = Self.more((preview?.fields.count ?? 0) - shown.count, "field").map {
            "\($0) They are also imported."
        }
        fields = shown.map { field in
            ImportingView.FieldRow(
                name: field.fieldName.string, type: field.type.label,
                columns: field.columns.map(\.string).joined(separator: ", "),
                reason: field.reason.map { "because \($0)" }, isNew: field.isNew, types: Self.types(of: field, form),
                indexes: visit.canEditSchema ? ImportingView.IndexTick.all(of: field, form, visit) : [])
        }
        offersIndexes = fields.contains { !$0.indexes.isEmpty }
        let presenter = ValuePresenter(place: visit.place, zoneID: visit.place.zoneID ?? .default, links: nil)
        let rows = standing?.rows ?? []
        samples = (preview?.samples ?? []).enumerated().map { number, sample in
            ImportingView.SampleRow(
                line: String(sample.line), recordName: sample.recordName?.string,
                standing: number < rows.count ? rows[number].word(replacing: form.replacesRecords) : nil,
                cells: TableValue.row(
                    shown.map { presenter.view(sample.values[$0.fieldName], of: $0.fieldName) },
                    ["recordName"] + shown.map(\.fieldName.string)))
        }
        var notes = (preview?.notes ?? []).prefix(ImportingView.columnLimit).map(ImportingView.sentence(of:))
        if let more = Self.more((preview?.notes.count ?? 0) - notes.count, "note") { notes.append(more) }
        let made = (preview?.indexesMade ?? []).map { "\($0.fieldName) \($0.indexes.names.joined(separator: " "))" }
        if preview?.madeType == true { notes.append("The import creates the record type \(form.typeName).") }
        if !made.isEmpty {
            notes.append(
                "The import adds indexes: \(made.joined(separator: ", ")). With QUERYABLE on recordName, the console can list the records."
            )
        }
        if offersIndexes, preview?.fields.contains(where: \.isNew) ?? false {
            notes.append("Ticked: the indexes that CloudKit adds by default. Untick those you don’t need.")
        }
        self.notes = notes
        let goodRows = preview?.goodRows ?? 0
        good = Digits.count(goodRows, "row")
        counts = rows.isEmpty ? nil : standing.map { "\($0.summary)." }
        loss = standing?.loss
        let count = preview?.problemCount ?? 0
        problemTitle = count == 0 ? nil : "\(Digits.count(count, "row")) can’t be imported"
        problems = (preview?.problems ?? []).map { ImportingView.ProblemRow(line: String($0.line), reason: $0.reason) }
        moreProblems = count > problems.count ? "… and \(Digits.grouped(count - problems.count)) more" : nil
        skips = form.skipsBadRows
        let changesSchema =
            preview.map { $0.madeType || !$0.indexesMade.isEmpty || $0.fields.contains(where: \.isNew) } ?? false
        refusal =
            changesSchema && visit.place.address.environment == .production
            ? "The production schema has no such type, field or index. Import into development, deploy its schema, then import here."
            : nil
        let isBlocked = count > 0 && !skips
        button =
            count > 0 && skips
            ? "Import \(Digits.grouped(goodRows)), skip \(Digits.grouped(count))"
            : "Import \(Digits.count(goodRows, "record"))"
        obstacle = isBlocked ? "\(Digits.count(count, "row")) can’t be imported. Skip them, or correct the file." : nil
        isPossible = goodRows > 0 && refusal == nil && preview != nil
    }

    /// The first choice stands for the type that the values have.
    private static func types(of field: ImportPreview.Column, _ form: ImportForm) -> [Choice] {
        guard field.isNew, field.columns.count == 1, let column = field.columns.first else { return [] }
        let chosen = form.types[column]
        let types = ImportForm.columnTypes.filter { chosen != nil || $0 != field.type }
        return [Choice("", chosen == nil ? field.type.label : "by its values", isSelected: chosen == nil)]
            + types.map { Choice("\(column):\($0.wireName)", $0.label, isSelected: $0 == chosen) }
    }

    /// A note about the items that are not shown; `nil` for none.
    private static func more(_ count: Int, _ noun: String) -> String? {
        count > 0 ? "… and \(Digits.count(count, noun)) more." : nil
    }
}

extension ImportStanding.Row {
    fileprivate func word(replacing: Bool) -> String {
        switch self {
        case .new: "new"
        case .changed: replacing ? "replaced" : "changed"
        case .unchanged: "unchanged"
        }
    }
}

extension ImportingView.IndexTick {
    fileprivate static func all(of field: ImportPreview.Column, _ form: ImportForm, _ visit: Visit) -> [ImportingView
        .IndexTick]
    {
        let there = visit.schema?.types[Name(form.typeName)]?.fields[field.fieldName]?.indexes ?? []
        return Indexes.named.filter { field.type.allowedIndexes.contains($0.index) && !there.contains($0.index) }.map {
            name, index in
            ImportingView.IndexTick(
                index: name, value: "\(field.fieldName):\(name)", label: "Add \(name) to \(field.fieldName)",
                isTicked: form.indexes[field.fieldName]?.contains(index) ?? false)
        }
    }
}

// MARK: - Form

/// The options of an import.
struct ImportForm: Sendable {
    /// The option value for no column.
    static let noColumn = "-"

    var typeName: String
    /// `nil` if the user made no choice: then a column called recordName supplies the record names, or else one with a
    /// different value in each row.
    var nameField: String?
    var skipsBadRows: Bool
    /// True to replace existing records; else they keep what the file lacks.
    var replacesRecords: Bool
    var format: FileFormat?
    /// The ticked indexes.
    var indexes: [Name: Indexes]
    /// The chosen types, by column. Columns without one get a type from their values.
    var types: [Name: FieldType]
    /// The ``offer(of:)`` of the page that sent the form; `nil` if it offered no indexes.
    private let offer: String?

    /// The form field of ticked indexes: `title:QUERYABLE`.
    static let indexField = "index"
    private static let offerField = "offered"
    private static let existingField = "existing"
    /// The choice to replace existing records.
    static let replace = "replace"
    /// The form field of chosen types: `sku:STRING`.
    static let typeField = "column"
    /// The types that a column can be given.
    static let columnTypes: [FieldType] = ValueType.allCases.filter { $0 != .asset }.map { FieldType($0) }

    init(_ fields: FormFields, visit: Visit) {
        typeName = (fields["type"] ?? "").trimmingSpaces
        nameField = fields["nameField"]
        skipsBadRows = fields["skip"] != nil
        replacesRecords = fields[Self.existingField] == Self.replace
        offer = fields[Self.offerField]
        format = fields["format"].flatMap { FileFormat(rawValue: $0) }
        types = fields.all(Self.typeField).reduce(into: [:]) { types, text in
            // A column's name may have colons, a type's has none.
            guard let colon = text.lastIndex(of: ":"),
                let type = FieldType(wireName: String(text[text.index(after: colon)...]))
            else { return }
            if Self.columnTypes.contains(type) { types[Name(text[..<colon])] = type }
        }
        indexes = fields.all(Self.indexField).reduce(into: [:]) { indexes, text in
            // Field names have no colon.
            let parts = text.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let index = Indexes(name: String(parts[1])) else { return }
            indexes[Name(String(parts[0])), default: []].formUnion(index)
        }
    }

    /// Identifies the file and the type for which a page offers indexes.
    func offer(of upload: ImportUploads.Upload) -> String { "\(upload.id) \(typeName)" }

    /// True if the user saw the ticks for this file and type, or sent some without a page.
    func hasChosenIndexes(for upload: ImportUploads.Upload) -> Bool {
        offer.map { Name($0) == Name(self.offer(of: upload)) } ?? !indexes.isEmpty
    }

    /// Identifies the previewed import: it differs for another file, type, zone,
    /// format, name column, treatment of existing records, column type or index, so the button can't start an import
    /// without a preview.
    /// - Parameter nameField: the submitted value of the form.
    func mark(_ upload: ImportUploads.Upload, nameField: String, at place: Place) -> String {
        var mark = FNV1a()
        let zone = place.zoneID.map(place.zoneText) ?? ""
        let ticked = indexes.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.rawValue)" }.joined(separator: " ")
        let typed = types.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value.wireName)" }.joined(separator: " ")
        let existing = replacesRecords ? Self.replace : ""
        for text in [upload.id, typeName, zone, upload.format.rawValue, nameField, existing, ticked, typed] {
            mark.add(text: text)
        }
        return mark.text
    }

    /// - Parameters:
    ///   - columns: the columns of the file.
    ///   - suggested: the column that supplies the record names if the user made no choice and none is called
    ///     recordName.
    func options(_ zoneID: ZoneID, format: FileFormat, columns: [Name], suggested: Name? = nil) -> ImportOptions {
        let named = nameField.map { Name($0) }
        let usual = columns.first { SystemField(named: $0) == .recordID } ?? suggested
        let nameField = named == nil ? usual : columns.contains { $0 == named } ? named : nil
        return ImportOptions(
            recordType: Name(typeName), zoneID: zoneID, format: format, nameField: nameField,
            givesNewNames: nameField == nil, indexes: indexes,
            // The columns of an earlier file do not count.
            types: types.filter { columns.contains($0.key) }, skipsBadRows: skipsBadRows,
            keepsFields: !replacesRecords)
    }
}

// MARK: - Actions

/// Receives files, previews them, and imports them in the background.
package struct ImportActions: Sendable {
    private let uploads = ImportUploads()

    package init() { uploads.sweepLeftovers() }

    package func preview(_ asked: ConsoleRequest) async throws -> Answer {
        try await answer(asked) { try await preview($0, sent: $1, remark: nil) }
    }

    package func run(_ asked: ConsoleRequest) async throws -> Answer {
        try await answer(asked) { try await run($0, sent: $1) }
    }

    /// Receives a form that may bring rows to import, and takes long. What it brought is on the disk meanwhile, and
    /// nothing of it in memory.
    private func answer(
        _ asked: ConsoleRequest,
        _ action: @escaping @Sendable (Visit, Result<ImportUploads.Upload, RecordError>?) async throws -> Answer
    ) async throws -> Answer {
        let (visit, sent) = try await keepRows(of: asked)
        RequestMemory.current?.dropBody()
        return .response(try await asked.response(to: visit, [.takesLong]) { try await action($0, sent) })
    }

    /// Keeps the rows of a form, which are in a file or in its text; `nil` if it has none. The visit has the other
    /// fields.
    private func keepRows(
        of asked: ConsoleRequest
    ) async throws -> (Visit, Result<ImportUploads.Upload, RecordError>?) {
        let bytes = try await asked.body()
        let contentType = asked.request.headers[.contentType]
        let (fields, file) = try await WorkPool.prompt.run(on: bytes.count) { Self.form(bytes, contentType) }
        let others = FormFields(fields.pairs.filter { $0.name != "text" })
        // Before anything is kept: a place that does not exist may not push out other uploads.
        let visit = try await Visit(asked, fields: others)
        guard let rows = file ?? fields.text("text").map({ (Array($0.utf8), "") }) else { return (visit, nil) }
        do {
            let format = fields["format"].flatMap { FileFormat(rawValue: $0) }
            return (visit, .success(try await uploads.keep(rows.bytes, fileName: rows.name, format: format)))
        } catch let error as RecordError {
            return (visit, .failure(error))
        }
    }

    /// The fields of a URL-encoded or multipart form, and its file. The file is `nil` if the user chose none.
    private static func form(_ bytes: [UInt8], _ contentType: String?) -> (FormFields, (bytes: [UInt8], name: String)?)
    {
        guard let form = MultipartForm(bytes, contentType: contentType) else {
            return (FormFields(encoded: bytes), nil)
        }
        let file = form.parts.first { $0.fileName.map { !$0.isEmpty } ?? false }
        return (form.fields, file.map { ($0.bytes, $0.fileName ?? "") })
    }

    /// Previews the import of the sent rows or of an earlier upload.
    /// - Parameters:
    ///   - sent: the rows in the form, or the reason why they could not be kept; `nil` if the form has none.
    ///   - remark: the reason for the preview if the user did not request it.
    private func preview(
        _ visit: Visit, sent: Result<ImportUploads.Upload, RecordError>?, remark: String?
    ) async throws -> Answer {
        let visit = visit.inChosenZone
        let form = ImportForm(visit.fields, visit: visit)
        var upload: ImportUploads.Upload?
        do {
            if let sent {
                upload = try sent.get()
            } else if let id = visit.fields.text("upload") {
                upload = try uploads.upload(id, as: form.format)
            }
            guard let upload else {
                throw RecordError(.badRequest, "There is nothing to import: choose a file, or paste rows")
            }
            if visit.chosenZoneID == nil { throw RecordError(.badRequest, "Choose the zone for the records") }
            if form.typeName.isEmpty { throw RecordError(.badRequest, "Enter a record type for the rows") }
            let (ticked, preview) = try Self.preview(form, upload, visit)
            let standing = try await Self.standing(ticked, upload, preview, visit)
            return .page(ImportingView(ticked, upload, preview, standing, remark: remark, visit: visit))
        } catch let error as RecordError {
            return .page(ImportingView(form, upload, complaint: error, visit: visit))
        }
    }

    /// Starts the import of the preview. If the result would differ now, shows a new preview.
    private func run(_ visit: Visit, sent: Result<ImportUploads.Upload, RecordError>?) async throws -> Answer {
        let visit = visit.inChosenZone
        let form = ImportForm(visit.fields, visit: visit)
        let id = visit.fields["upload"] ?? ""
        if sent == nil, let begun = uploads.run(importing: id) {
            return .redirect(visit.place.link("run", [("id", begun)]))
        }
        let upload = sent == nil ? try uploads.upload(id, as: form.format) : nil
        // A form that can't be previewed has no mark.
        let previewed = upload.flatMap { try? Self.preview(form, $0, visit) }
        guard let upload, let (form, preview) = previewed,
            Name(form.mark(upload, nameField: form.nameField ?? "", at: visit.place))
                == Name(visit.fields["previewed"] ?? "")
        else {
            // Another click may have begun the import meanwhile.
            if sent == nil, let begun = uploads.run(importing: id) {
                return .redirect(visit.place.link("run", [("id", begun)]))
            }
            let remark = "Nothing was imported: the preview is out of date. This is the new preview."
            return try await preview(visit, sent: sent, remark: remark)
        }
        if preview.problemCount > 0, !form.skipsBadRows {
            let error = RecordError(
                .badRequest,
                "Nothing was imported: some rows are not valid. Choose to skip them, or correct the file and choose it again"
            )
            let standing = try await Self.standing(form, upload, preview, visit)
            return .page(ImportingView(form, upload, preview, standing, complaint: error, visit: visit))
        }
        guard let zoneID = visit.chosenZoneID else { throw RecordError(.badRequest, "Choose the zone for the records") }
        let options = form.options(zoneID, format: upload.format, columns: preview.columns)
        let importer = try Self.reading { try Importer([upload.url], options: options, into: visit.database) }
        let records = [("type", form.typeName)]
        // The query also shows the records of the type that were there before.
        let shown =
            preview.madeType
            ? "Show the \(Digits.count(preview.goodRows, "record"))" : "Show all \(form.typeName) records"
        let query = Frame.Link(text: shown, href: visit.place.link("query", records))
        let back = Frame.Link(text: "Import another file", href: visit.place.link("importing"))
        let file = Frame.Link(
            text: "Export CSV of all \(form.typeName) records in zone \(visit.zoneName(zoneID))",
            href: visit.place.link("query.csv", records + [("all", "1")]))
        let run = BackgroundRun(
            heading: "Import \(upload.fileName)", verb: "saved", total: preview.goodRows, place: visit.place,
            back: back, results: [query, file],
            tab: .importing, problems: .skippedRows, completesAll: true,
            change: await visit.keepsVersions() ? visit.kept() : nil)
        do {
            try uploads.take(upload, for: run.id)
        } catch {
            // A double click submits the form twice.
            guard let begun = uploads.run(importing: id) else { throw error }
            return .redirect(visit.place.link("run", [("id", begun)]))
        }
        do {
            try visit.console.runs.start(run) { [uploads] run in
                defer { uploads.discard(upload) }
                try await Self.work(importer, upload, run)
            }
        } catch {
            uploads.putBack(upload)
            throw error
        }
        return .redirect(visit.place.link("run", [("id", run.id)]))
    }

    private static func work(_ importer: Importer, _ upload: ImportUploads.Upload, _ run: BackgroundRun) async throws {
        do {
            let report = try await importer.run { progress in
                run.update { state in
                    state.phase = progress.words
                    guard progress.phase == .saving else { return }
                    state.done = Int((progress.fraction * Double(state.total)).rounded())
                    state.achieved = progress.count
                }
            }
            for problem in report.skipped {
                run.add(
                    BackgroundRun.Problem(subject: "line \(problem.line)", href: nil, code: nil, reason: problem.reason)
                )
            }
            run.update { state in
                (state.phase, state.done, state.achieved, state.problemCount) = (
                    nil, state.total, report.saved, report.skippedCount
                )
                if report.unchanged > 0 {
                    let records = Digits.count(report.unchanged, "record")
                    state.notes.append(
                        "\(records) had the values of the file already, and \(report.unchanged == 1 ? "was" : "were") not saved again."
                    )
                }
                state.notes += report.notes.prefix(ImportingView.columnLimit).map(ImportingView.sentence(of:))
                if report.madeType { state.notes.append("The record type \(report.recordType) was created.") }
                let made = report.indexesMade.map { "\($0.fieldName) \($0.indexes.names.joined(separator: " "))" }
                if !made.isEmpty { state.notes.append("Indexes added: \(made.joined(separator: ", ")).") }
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw error
        }
    }

    /// The preview, and the form with the indexes that its page ticks: until the user chooses, those that a save in
    /// development gives new fields.
    private static func preview(
        _ form: ImportForm, _ upload: ImportUploads.Upload, _ visit: Visit
    ) throws -> (ImportForm, ImportPreview) {
        if form.hasChosenIndexes(for: upload) { return (form, try read(form, upload, visit)) }
        var form = form
        // The ticks of another file or type do not count.
        form.indexes = [:]
        let preview = try read(form, upload, visit)
        guard visit.canEditSchema else { return (form, preview) }
        for field in preview.fields.prefix(ImportingView.columnLimit)
        where field.isNew && !field.type.allowedIndexes.isEmpty {
            form.indexes[field.fieldName] = field.type.allowedIndexes
        }
        return (form, form.indexes.isEmpty ? preview : try read(form, upload, visit))
    }

    /// Reads all rows. Blocks the thread, so it must run on one that may block.
    private static func read(_ form: ImportForm, _ upload: ImportUploads.Upload, _ visit: Visit) throws -> ImportPreview
    {
        guard let schema = visit.schema else { throw visit.database.unable(.showSchema) }
        let zoneID = visit.chosenZoneID ?? .default
        let database = visit.database
        return try reading {
            let open = ImportOptions(recordType: Name(form.typeName), zoneID: zoneID, format: upload.format)
            let importer = try Importer([upload.url], options: open, into: database)
            let suggested = form.nameField == nil ? try importer.namingColumn() : nil
            let options = form.options(
                zoneID, format: upload.format, columns: try importer.columns(), suggested: suggested)
            return try Importer([upload.url], options: options, into: database).preview(
                schema, sampleLimit: ImportingView.sampleLimit)
        }
    }

    /// The rows, compared with the stored records: all of a short file, else those that the page shows.
    private static func standing(
        _ form: ImportForm, _ upload: ImportUploads.Upload, _ preview: ImportPreview, _ visit: Visit
    ) async throws -> ImportStanding? {
        let options = form.options(
            visit.chosenZoneID ?? .default, format: upload.format, columns: preview.columns,
            suggested: preview.nameField)
        let limit =
            preview.goodRows > ImportingView.comparedLimit ? ImportingView.sampleLimit : preview.goodRows
        do {
            let importer = try Importer([upload.url], options: options, into: visit.database)
            return try await importer.standing(of: preview, limit: limit)
        } catch let error as ImportError {
            throw RecordError(.badRequest, error.description)
        }
    }

    /// Converts file errors to form errors.
    private static func reading<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as ImportError {
            throw RecordError(.badRequest, error.description)
        }
    }
}

extension ImportProgress {
    fileprivate var words: String {
        switch phase {
        case .reading: "detecting the column types"
        case .checking: "checking every row"
        case .saving: "saving"
        case .indexing: "all saved; building the indexes, \(Int(fraction * 100)) %"
        }
    }
}

extension Visit {
    /// The same visit in the zone that the form names, if it names one.
    fileprivate var inChosenZone: Visit {
        if case .one(let zoneID) = Place.zone(fields.text("zone"), owner: nil, in: place.address.scope) {
            return inZone(zoneID)
        }
        return chosenZoneID.map(inZone) ?? self
    }
}
