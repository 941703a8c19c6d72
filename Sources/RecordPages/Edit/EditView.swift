internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// The form that creates or changes a record.
struct EditView: Page {
    static let template = "record_edit"
    static let tab = Tab.fetch

    struct Row: ViewModel {
        let number: String
        let name: String
        let type: String
        /// The type in the schema language, which the form uses.
        let schemaType: String
        /// The stored value at the time when the form was opened, as JSON.
        let was: String
        let isEncrypted: Bool
        /// True if the save adds the field to the type.
        let isNew: Bool
        /// True if the field has several inputs, which its name labels as a group.
        let isGroup: Bool
        let isList: Bool
        let entries: [EntryView]
        let count: String
        let isEmptyList: Bool
        let canGrow: Bool
        /// True if the list is too long for one input per value.
        let isJSON: Bool
        let json: String
        /// The files of an asset field; `nil` for other fields.
        let files: Files?
        let problem: String?
        let problemID: String
        /// The button value that removes an added field from the form.
        let removal: String?
    }

    struct Files: ViewModel {
        let names: [String]
        let isCleared: Bool
        let hint: String
    }

    /// The input for the name of a new record.
    struct NewName: ViewModel {
        let text: String
        let problem: String?
        /// The link to the existing record of that name.
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
    /// The heading of the form for a new record.
    let heading: String
    let zone: String
    let recordType: String
    let typeHref: String?
    /// True if the save creates the type.
    let isNewType: Bool
    let newName: NewName?
    let recordName: String
    let tag: String
    let rows: [Row]
    let parent: Parent
    /// `nil` if saves can't extend the schema.
    let newField: NewField?
    let complaint: Complaint?
    /// True if the record was deleted during the edit, so the form offers to create it again.
    let canSaveAnew: Bool
    /// A remark above the form.
    let remark: String?
    let problemCount: String?
    let action: String
    let verb: String
    let cancel: String
    let milliseconds: String
}

extension EditView {
    /// - Parameters:
    ///   - found: search results, with the numbers of the field and the value that they are for.
    ///   - remark: a remark above the form.
    init(
        _ form: RecordForm, problems: RecordForm.Problems = RecordForm.Problems(), found: (field: Int, element: Int, [RecordNames.Found])? = nil,
        remark: String? = nil, visit: Visit
    ) {
        let place = visit.place
        let known = visit.schema?.types[form.recordType]
        title = form.isNew ? "New \(form.recordType)" : "Edit \(form.recordName)"
        heading = "New \(form.recordType)"
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
        problemCount = count == 0 ? nil : count == 1 ? "Nothing was saved. Correct the marked field." : "Nothing was saved. Correct the \(count) marked fields."
        action = place.link("record/save")
        verb = form.isNew ? "Create the record" : "Save"
        cancel = place.zoneID.flatMap { form.isNew ? nil : place.link(toRecord: form.recordName, in: $0) }
            ?? place.link("query", [("type", form.recordType.string)])
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }

    /// Types for new fields. Uploads need an existing record and field, so asset types are excluded.
    private static let newTypes = FieldTypeChoices.groups.map { group in
        ChoiceGroup(label: group.label, choices: group.choices.filter { !$0.value.contains("ASSET") })
    }
}

extension EditView.Row {
    fileprivate init(_ field: EditedField, number: Int, problem: String?, found: (element: Int, [RecordNames.Found])?, visit: Visit) {
        self.number = String(number)
        name = field.name.string
        type = field.type.label
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
        hint = assets.isEmpty ? "Save the record, then add files on its page." : "Add other files on the record's page."
    }
}
