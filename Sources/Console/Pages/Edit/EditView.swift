internal import JSON
internal import RecordStore
internal import Records

/// The form that makes or changes a record.
struct EditView: Page {
    static let template = "record_edit"
    static let tab = Tab.fetch

    struct Row: ViewModel {
        let number: String
        let name: String
        let type: String
        /// The same in the schema language, which a form names types in.
        let schemaType: String
        /// What the record held when the form was opened, as JSON.
        let was: String
        let isEncrypted: Bool
        /// Whether saving the record adds the field to its type.
        let isNew: Bool
        /// Whether the field has several inputs, which go by its name together.
        let isGroup: Bool
        let isList: Bool
        let entries: [EntryView]
        let count: String
        let isEmptyList: Bool
        let canGrow: Bool
        /// Whether the list is too long for an input for each value.
        let isJSON: Bool
        let json: String
        /// The files of an asset field; `nil` for other fields.
        let files: Files?
        let problem: String?
        let problemID: String
        /// Takes a field that was added out of the form again.
        let removal: String?
    }

    struct Files: ViewModel {
        let names: [String]
        let isCleared: Bool
        let hint: String
    }

    /// What is typed for the name of a new record.
    struct NewName: ViewModel {
        let text: String
        let problem: String?
        /// The record that has the name.
        let existing: String?
    }

    struct NewField: ViewModel {
        let types: [ChoiceGroup]
        let nameLimit: String
    }

    struct Parent: ViewModel {
        let text: String
        let was: String
        let problem: String?
    }

    let title: String
    let heading: String
    let zone: String
    let recordType: String
    let typeHref: String?
    /// Whether saving the record makes its type.
    let isNewType: Bool
    let newName: NewName?
    let recordName: String
    let tag: String
    let rows: [Row]
    let parent: Parent
    /// `nil` where saves make no schema.
    let newField: NewField?
    let complaint: Complaint?
    /// Offered when the record was deleted while it was edited.
    let canSaveAnew: Bool
    /// Said above the form.
    let remark: String?
    let problemCount: String?
    let action: String
    let verb: String
    let cancel: String
    let milliseconds: String
}

extension EditView {
    /// - Parameters:
    ///   - found: records that were looked for, and the number of the field and value that they are for.
    ///   - remark: said above the form.
    init(
        _ form: RecordForm, problems: RecordForm.Problems = RecordForm.Problems(), found: (field: Int, element: Int, [RecordNames.Found])? = nil,
        remark: String? = nil, visit: Visit
    ) {
        let place = visit.place
        let known = visit.schema?.types[form.recordType]
        title = form.isNew ? "New \(form.recordType)" : "Edit \(form.recordName)"
        heading = form.isNew ? "New \(form.recordType)" : form.recordName.string
        zone = place.zoneID.map(visit.zoneName) ?? ""
        recordType = form.recordType.string
        typeHref = known == nil ? nil : place.link("type", [("type", form.recordType.string)])
        isNewType = known == nil
        recordName = form.recordName.string
        tag = form.tag ?? ""
        newName = form.isNew
            ? NewName(
                text: form.recordName.string, problem: problems.recordName,
                existing: problems.recordName == nil || form.recordName.isEmpty
                    ? nil : place.zoneID.map { place.inZone($0).link("record/edit", [("name", form.recordName.string)]) }) : nil
        rows = form.fields.enumerated().map { index, field in
            let isAsked = found?.field == index + 1
            return Row(
                field, number: index + 1, problem: problems.fields[index], found: isAsked ? found.map { ($0.element, $0.2) } : nil, visit: visit)
        }
        parent = Parent(text: form.parent.string, was: form.parentWas.string, problem: problems.parent)
        let makesSchema = place.address.environment == .development && visit.schema != nil
        newField = makesSchema ? NewField(types: Self.newTypes, nameLimit: String(Field.nameLimit)) : nil
        complaint = problems.general.map { Complaint($0) }
        canSaveAnew = !form.isNew && problems.general?.code == .notFound
        self.remark = remark
        let count = problems.fields.count + (problems.recordName == nil ? 0 : 1) + (problems.parent == nil ? 0 : 1)
        problemCount = count == 0 ? nil : count == 1 ? "One thing is to be put right first. Nothing was saved." : "\(count) things are to be put right first. Nothing was saved."
        action = place.link("record/save")
        verb = form.isNew ? "Create the record" : "Save"
        cancel = place.zoneID.flatMap { form.isNew ? nil : place.link(toRecord: form.recordName, in: $0) }
            ?? place.link("query", [("type", form.recordType.string)])
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }

    /// Files are uploaded for a record that is there, so a new field can't be one of theirs.
    private static let newTypes = FieldTypeChoices.groups.map { group in
        ChoiceGroup(label: group.label, choices: group.choices.filter { !$0.value.contains("ASSET") })
    }
}

extension EditView.Row {
    fileprivate init(_ field: EditedField, number: Int, problem: String?, found: (element: Int, [RecordNames.Found])?, visit: Visit) {
        self.number = String(number)
        name = field.name.string
        type = field.type.wireName
        schemaType = field.type.schemaName
        was = EditedField.text(of: field.was, field.type).string
        isEncrypted = field.type.isEncrypted
        isNew = field.isNew
        isGroup = field.type.isList || [.location, .reference, .asset].contains(field.type.valueType)
        isList = field.type.isList && field.type.valueType != .asset && field.json == nil
        let isAsset = field.type.valueType == .asset
        entries = isAsset ? [] : field.entries.enumerated().map { index, entry in
            EntryView(
                entry, of: field, number: number, element: index + 1, found: found?.element == index + 1 ? found?.1 : nil, isWrong: problem != nil,
                visit: visit)
        }
        count = String(field.entries.count)
        isEmptyList = field.isEmptyList
        canGrow = field.entries.count < EditedField.elementLimit
        isJSON = field.json != nil
        json = field.json?.string ?? ""
        files = isAsset ? EditView.Files(field) : nil
        self.problem = problem
        problemID = "problem-\(number)"
        removal = field.isNew ? "drop-\(number)" : nil
    }
}

extension EditView.Files {
    fileprivate init(_ field: EditedField) {
        let assets = field.was?.assets ?? []
        names = assets.map { "\($0.shownName(in: field.name)), \(Digits.bytes($0.size))" }
        isCleared = field.isCleared
        hint = assets.isEmpty ? "Files are dropped onto the record's page once it is saved." : "Other files are dropped onto the record's page."
    }
}
