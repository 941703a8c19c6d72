internal import Console
internal import DataTransfer
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The import page: the file, a preview of the result, and the button that starts the import.
struct ImportingView: Page {
    static let template = "importing"
    static let tab = Tab.importing

    /// The number of rows in the preview.
    static let sampleLimit = 10
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
        let cells: [ValueView]
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
        /// True if the import may add indexes to a field of the preview.
        let offersIndexes: Bool
        let fields: [FieldRow]
        let moreFields: String?
        let samples: [SampleRow]
        let notes: [String]
        let good: String
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

    let title = Self.tab.title
    let container: String
    let typeName: String
    let types: [Choice]
    let zones: [Choice]
    let formats: [Choice]
    let limit: String
    let complaint: Complaint?
    let remark: String?
    let preview: Preview?
    let action: String
    let run: String
    let command: String
    let milliseconds: String

    init(
        _ form: ImportForm, _ upload: ImportUploads.Upload? = nil, _ preview: ImportPreview? = nil, complaint: RecordError? = nil,
        remark: String? = nil, visit: Visit
    ) {
        let place = visit.place
        container = place.address.container.description
        typeName = form.typeName
        types = visit.types.map { Choice($0.name.string, $0.name.string, isSelected: false) }
        zones = visit.chosenZoneChoices
        let chosen = upload?.format ?? form.format
        formats = [Choice("", "automatic", isSelected: chosen == nil)]
            + FileFormat.allCases.map { Choice($0.rawValue, $0.rawValue.uppercased(), isSelected: $0 == chosen) }
        limit = Digits.bytes(Int64(ImportUploads.sizeLimit))
        self.complaint = complaint.map { Complaint($0) }
        self.remark = remark
        self.preview = upload.map { Preview(form, $0, preview, visit: visit) }
        // The form names the zone.
        let whole = place.with { $0.zone = .unspecified }
        action = whole.link("importing/preview")
        run = whole.link("importing/run")
        command = "skylight import FILE --container \(place.address.container) --type \(form.typeName.isEmpty ? "TYPE" : form.typeName.shellWord)"
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }

    /// A note of an import as a sentence.
    static func sentence(of note: String) -> String { note.prefix(1).uppercased() + note.dropFirst() + "." }
}

extension ImportingView.Preview {
    fileprivate init(_ form: ImportForm, _ upload: ImportUploads.Upload, _ preview: ImportPreview?, visit: Visit) {
        fileName = upload.fileName
        size = Digits.bytes(Int64(upload.size))
        self.upload = upload.id
        mark = form.mark(upload, nameField: preview?.nameField?.string ?? ImportForm.noColumn, at: visit.place)
        var columns = Array((preview?.columns ?? []).prefix(ImportingView.columnLimit))
        if let named = preview?.nameField, !columns.contains(named) { columns.append(named) }
        nameFields = [Choice(ImportForm.noColumn, "new random names", isSelected: preview?.nameField == nil)]
            + columns.map { Choice($0.string, "column \($0)", isSelected: $0 == preview?.nameField) }
        offer = preview == nil || !visit.canEditSchema ? nil : form.offer(of: upload)
        isSuggested = form.nameField == nil && preview?.nameField != nil
        let shown = (preview?.fields ?? []).prefix(ImportingView.columnLimit)
        moreFields = Self.more((preview?.fields.count ?? 0) - shown.count, "field").map { "\($0) They are also imported." }
        fields = shown.map { field in
            ImportingView.FieldRow(
                name: field.fieldName.string, type: field.type.label, columns: field.columns.map(\.string).joined(separator: ", "),
                reason: field.reason.map { "because \($0)" }, isNew: field.isNew, types: Self.types(of: field, form),
                indexes: visit.canEditSchema ? ImportingView.IndexTick.all(of: field, form, visit) : [])
        }
        offersIndexes = fields.contains { !$0.indexes.isEmpty }
        let presenter = ValuePresenter(place: visit.place, zoneID: visit.place.zoneID ?? .default, links: nil)
        samples = (preview?.samples ?? []).map { sample in
            ImportingView.SampleRow(
                line: String(sample.line), recordName: sample.recordName?.string,
                cells: shown.map { presenter.view(sample.values[$0.fieldName], of: $0.fieldName) })
        }
        var notes = (preview?.notes ?? []).prefix(ImportingView.columnLimit).map(ImportingView.sentence(of:))
        if let more = Self.more((preview?.notes.count ?? 0) - notes.count, "note") { notes.append(more) }
        let made = (preview?.indexesMade ?? []).map { "\($0.fieldName) \($0.indexes.names.joined(separator: " "))" }
        if preview?.madeType == true { notes.append("The import creates the record type \(form.typeName).") }
        if !made.isEmpty { notes.append("The import adds indexes: \(made.joined(separator: ", ")). With QUERYABLE on recordName, the console can list the records.") }
        if offersIndexes, preview?.fields.contains(where: \.isNew) ?? false {
            notes.append("Ticked: the indexes that CloudKit adds by default. Untick those you don’t need.")
        }
        if preview?.nameField != nil { notes.append("A record with the same name is replaced.") }
        self.notes = notes
        let goodRows = preview?.goodRows ?? 0
        good = Digits.count(goodRows, "row")
        let count = preview?.problemCount ?? 0
        problemTitle = count == 0 ? nil : "\(Digits.count(count, "row")) can’t be imported"
        problems = (preview?.problems ?? []).map { ImportingView.ProblemRow(line: String($0.line), reason: $0.reason) }
        moreProblems = count > problems.count ? "… and \(Digits.grouped(count - problems.count)) more" : nil
        skips = form.skipsBadRows
        let changesSchema = preview.map { $0.madeType || !$0.indexesMade.isEmpty || $0.fields.contains(where: \.isNew) } ?? false
        refusal = changesSchema && visit.place.address.environment == .production
            ? "The production schema has no such type, field or index. Import into development, deploy its schema, then import here." : nil
        let isBlocked = count > 0 && !skips
        button = count > 0 && skips ? "Import \(Digits.grouped(goodRows)), skip \(Digits.grouped(count))" : "Import \(Digits.count(goodRows, "record"))"
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

extension ImportingView.IndexTick {
    fileprivate static func all(of field: ImportPreview.Column, _ form: ImportForm, _ visit: Visit) -> [ImportingView.IndexTick] {
        let there = visit.schema?.types[Name(form.typeName)]?.fields[field.fieldName]?.indexes ?? []
        return Indexes.named.filter { field.type.allowedIndexes.contains($0.index) && !there.contains($0.index) }.map { name, index in
            ImportingView.IndexTick(
                index: name, value: "\(field.fieldName):\(name)", label: "Add \(name) to \(field.fieldName)",
                isTicked: form.indexes[field.fieldName]?.contains(index) ?? false)
        }
    }
}
