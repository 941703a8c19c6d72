package import Console
internal import RecordStore
internal import Records

/// The form for the type and the zone of a new record.
struct EditStart: Page {
    static let template = "record_new"
    static let tab = Tab.query

    let title = "New record"
    let action: String
    let hidden: [Frame.Hidden]
    let types: [Choice]
    /// With a question first, unless the zone is known.
    let zones: [Choice]
    /// True if the form accepts a new type.
    let canMakeTypes: Bool
    let nameLimit = String(RecordType.nameLimit)

    init(_ visit: Visit) {
        let place = visit.place
        action = "\(place.path)/record/new"
        hidden = place.userParameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        let chosen = visit.fields.text("type").map { Name($0) }
        types = visit.types.map { Choice($0.name.string, $0.name.string, isSelected: $0.name == chosen) }
        zones = visit.chosenZoneChoices
        canMakeTypes = place.address.environment == .development && visit.schema != nil
    }
}

extension Visit {
    /// The zone for new records: that of the address, or the only one; `nil` if somebody must choose.
    var chosenZoneID: ZoneID? { place.zoneID ?? (zones.count == 1 ? zones[0].zoneID : nil) }

    /// The zones for new records. A page about all zones asks for one.
    var chosenZoneChoices: [Choice] {
        guard let chosenZoneID else {
            return [Choice("", "choose a zone", isSelected: true)] + zoneChoices(allowsAll: false)
        }
        return inZone(chosenZoneID).zoneChoices(allowsAll: false)
    }
}

// MARK: - Form

/// The form that creates or changes a record.
package struct EditView: Page {
    package static let template = "record_edit"
    package static let tab = Tab.fetch

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
        /// False for a container in iCloud: its files are not uploaded from here.
        let takesUploads: Bool
        let takesMany: Bool
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

    package let title: String
    /// The heading of a new record.
    let heading: String?
    /// The existing record.
    let record: RecordLink?
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
    let complaint: PageError?
    /// True if the record was deleted during the edit, so the form offers to create it again.
    let canSaveAnew: Bool
    /// A remark above the form.
    let remark: String?
    let problemCount: String?
    let action: String
    let verb: String
    let cancel: String
}

extension EditView {
    /// - Parameters:
    ///   - found: search results, with the numbers of the field and the value that they are for.
    ///   - remark: a remark above the form.
    init(
        _ form: RecordForm, problems: RecordForm.Problems = RecordForm.Problems(),
        found: (field: Int, element: Int, [RecordNames.Found])? = nil,
        remark: String? = nil, visit: Visit
    ) {
        let place = visit.place
        let known = visit.schema?.types[form.recordType]
        title = form.isNew ? "New \(form.recordType)" : "Edit \(form.recordName)"
        heading = form.isNew ? title : nil
        let stored = Dictionary(
            form.fields.compactMap { field in field.was.map { (field.name, $0) } },
            uniquingKeysWith: { first, _ in first })
        record =
            form.isNew
            ? nil
            : RecordLink(
                href: place.link("record", [("name", form.recordName.string)]), recordName: form.recordName.string,
                title: visit.titles.title(of: form.recordType, stored))
        zone = place.zoneID.map(visit.zoneName) ?? ""
        recordType = form.recordType.string
        typeHref = known == nil ? nil : place.link("type", [("type", form.recordType.string)])
        isNewType = known == nil
        recordName = form.recordName.string
        tag = form.tag ?? ""
        newName =
            form.isNew
            ? NewName(
                text: form.recordName.string, problem: problems.recordName,
                existing: problems.recordName == nil || form.recordName.isEmpty
                    ? nil
                    : place.zoneID.map { place.inZone($0).link("record/edit", [("name", form.recordName.string)]) })
            : nil
        rows = form.fields.enumerated().map { index, field in
            let isAsked = found?.field == index + 1
            return Row(
                field, number: index + 1, problem: problems.fields[index],
                found: isAsked ? found.map { ($0.element, $0.2) } : nil, visit: visit)
        }
        parent = Parent(text: form.parent.string, was: form.parentWas.string, problem: problems.parent)
        let makesSchema = place.address.environment == .development && visit.schema != nil
        newField = makesSchema ? NewField(types: Self.newTypes, nameLimit: String(Field.nameLimit)) : nil
        complaint = problems.general.map { PageError($0) }
        canSaveAnew = !form.isNew && problems.general?.code == .notFound
        self.remark = remark
        let count = problems.fields.count + (problems.recordName == nil ? 0 : 1) + (problems.parent == nil ? 0 : 1)
        problemCount =
            count == 0
            ? nil
            : count == 1
                ? "Nothing was saved. Correct the marked field."
                : "Nothing was saved. Correct the \(count) marked fields."
        action = place.link("record/save")
        verb = form.isNew ? "Create the record" : "Save"
        cancel =
            place.zoneID.flatMap { form.isNew ? nil : place.link(toRecord: form.recordName, in: $0) }
            ?? place.link("query", [("type", form.recordType.string)])
    }

    /// Types for new fields. Uploads need an existing record and field, so asset types are excluded.
    private static let newTypes = FieldTypeChoices.groups.map { group in
        ChoiceGroup(label: group.label, choices: group.choices.filter { !$0.value.contains("ASSET") })
    }
}

extension EditView.Row {
    fileprivate init(
        _ field: EditedField, number: Int, problem: String?, found: (element: Int, [RecordNames.Found])?, visit: Visit
    ) {
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
        entries =
            isAsset
            ? []
            : field.entries.enumerated().map { index, entry in
                EntryView(
                    entry, of: field, number: number, element: index + 1,
                    found: found?.element == index + 1 ? found?.1 : nil, isWrong: problem != nil,
                    visit: visit)
            }
        count = String(field.entries.count)
        isEmptyList = field.isEmptyList
        canGrow = field.entries.count < EditedField.elementLimit
        isJSON = field.json != nil
        json = field.json?.string ?? ""
        files = isAsset ? EditView.Files(field, takesUploads: visit.connection == nil) : nil
        self.problem = problem
        problemID = "problem-\(number)"
        removal = field.isNew ? "drop-\(number)" : nil
    }
}

extension EditView.Files {
    fileprivate init(_ field: EditedField, takesUploads: Bool) {
        self.takesUploads = takesUploads
        takesMany = field.type.isList
        let assets = field.was?.assets ?? []
        names = assets.map { "\($0.shownName(in: field.name)), \(Digits.bytes($0.size))" }
        isCleared = field.isCleared
        hint = assets.isEmpty ? "Save the record, then add files on its page." : "Add other files on the record's page."
    }
}

// MARK: - Actions

/// Creates, changes and copies records.
package enum EditActions {
    /// The form of a new record. Asks for the type and the zone first if the address does not name them.
    package static func new(_ visit: Visit) async throws -> any Page {
        let typed =
            visit.fields.text("newType").map { Name($0.trimmingSpaces) } ?? visit.fields.text("type").map { Name($0) }
        guard let typeName = typed, let zoneID = visit.place.zoneID else { return EditStart(visit) }
        try checkType(typeName, visit: visit)
        let type = visit.schema?.types[typeName] ?? RecordType(name: typeName)
        let there = visit.inZone(zoneID)
        return EditView(RecordForm(newRecordOf: type, place: there.place), visit: there)
    }

    /// The form of an existing record, or the redirect to the place of a field in it.
    package static func edit(_ visit: Visit) async throws -> Answer {
        let (record, there) = try await target(visit)
        let form = try form(of: record, visit: there)
        if let field = visit.fields.text("field"), let index = form.fields.firstIndex(where: { $0.name == Name(field) })
        {
            return .redirect(
                "\(there.place.link("record/edit", [("name", record.recordID.recordName.string)]))#f\(index + 1)")
        }
        return .page(EditView(form, visit: there))
    }

    /// The form of a new record with the values of an existing one.
    package static func duplicate(_ visit: Visit) async throws -> EditView {
        let (record, there) = try await target(visit)
        let hasFiles = record.fields.mayHoldAssets
        let remark =
            "This is a copy of \(record.recordID.recordName), not saved yet.\(hasFiles ? " Its files are not copied: upload them to the new record." : "")"
        return EditView(try form(of: record, visit: there).duplicated(place: there.place), remark: remark, visit: there)
    }

    /// Handles the submitted form: applies the change of a button, saves the record, or shows the errors.
    package static func submit(_ visit: Visit) async throws -> Answer {
        guard let zoneID = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs a zone") }
        let visit = visit.inZone(zoneID)
        var form = try RecordForm(visit.fields, visit: visit)
        let button = RecordForm.Button(visit.fields)
        switch button {
        case .save: return try await save(form, visit: visit)
        case .saveAnew: return try await save(form.madeAnew(), visit: visit)
        default: break
        }
        do {
            try form.press(button, visit.fields, visit: visit)
        } catch let error as RecordError {
            var problems = RecordForm.Problems()
            problems.general = error
            return .page(EditView(form, problems: problems, visit: visit))
        }
        guard case .find(let number, let element) = button, form.fields.indices.contains(number - 1),
            form.fields[number - 1].entries.indices.contains(element - 1)
        else { return .page(EditView(form, visit: visit)) }
        let entry = form.fields[number - 1].entries[element - 1]
        let zone = Place.zone(entry.zone.isEmpty ? nil : entry.zone.string, owner: nil, in: visit.place.address.scope)
        let there = if case .one(let other) = zone { other } else { zoneID }
        let found = try await RecordNames.matching(entry.text.string.trimmingSpaces, in: [there], visit: visit)
        return .page(EditView(form, found: (number, element, found), visit: visit))
    }

    /// Handles the choices of an edit conflict: saves them, or shows the form with them.
    package static func resolve(_ visit: Visit) async throws -> Answer {
        guard let zoneID = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs a zone") }
        let visit = visit.inZone(zoneID)
        let chosen = try ConflictForm(visit.fields, visit: visit)
        let name = RecordID(recordName: chosen.recordName, zoneID: zoneID)
        let record = try await RecordView.record(name.recordName, in: zoneID, visit: visit)
        let form = try chosen.applied(to: form(of: record, visit: visit), place: visit.place)
        if visit.fields["do"] == "edit" { return .page(EditView(form, visit: visit)) }
        let (operation, problems) = form.operation(in: visit.place)
        // Every choice is the server's version, which is already stored.
        if operation == nil, problems.isEmpty {
            return .redirect(visit.place.link(toRecord: chosen.recordName, in: zoneID))
        }
        return try await save(form, visit: visit)
    }

    // MARK: Parts

    private static func save(_ form: RecordForm, visit: Visit) async throws -> Answer {
        let (operation, problems) = form.operation(in: visit.place)
        guard let operation else {
            let remark = problems.isEmpty ? "Nothing was changed, so nothing was saved." : nil
            return .page(EditView(form, problems: problems, remark: remark, visit: visit))
        }
        let zoneID = visit.place.zoneID ?? .default
        do {
            let results = try await visit.measure {
                try await visit.database.modify(ModifyRequest([operation], zoneID: zoneID))
            }
            guard case .saved(let record)? = try results.first?.get() else {
                throw RecordError(.internalError, "The store did not return the saved record")
            }
            let notice = form.isNew ? Notice.recordCreated : .recordSaved
            return .redirect(
                visit.place.inZone(zoneID).link(
                    "record", [("name", record.recordID.recordName.string)] + (await visit.notice(notice))))
        } catch let error as RecordError {
            if error.code == .conflict, !form.isNew {
                let record = try await RecordView.record(form.recordName, in: zoneID, visit: visit)
                return .page(try ConflictView(form, record, visit: visit))
            }
            return .page(EditView(form, problems: form.place(error), visit: visit))
        }
    }

    private static func form(of record: StoredRecord, visit: Visit) throws -> RecordForm {
        try checkType(record.recordType, visit: visit)
        return try RecordForm(record, type: visit.schema?.types[record.recordType], place: visit.place)
    }

    private static func target(_ visit: Visit) async throws -> (StoredRecord, Visit) {
        guard let name = visit.fields.text("name"), let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the record's name and its zone")
        }
        let there = visit.inZone(zoneID)
        return (try await RecordView.record(Name(name), in: zoneID, visit: there), there)
    }

    private static func checkType(_ name: Name, visit: Visit) throws {
        if name == Schema.usersType {
            throw RecordError(.accessDenied, "Records of the type Users belong to the system and can't be edited")
        }
        if visit.schema?.types[name] != nil { return }
        // A schema that was learned does not have all types: only the store can tell.
        if visit.database.can(.showSchema), visit.place.address.environment == .production {
            throw RecordError(known: .newTypeInProduction, name)
        }
        try NameRules.checkTypeName(name)
    }
}
