internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// Creates, changes and copies records.
enum EditActions {
    /// The form of a new record. Asks for the type and the zone first if the address does not name them.
    static func new(_ visit: Visit) async throws -> any Page {
        let typed = visit.fields.text("newType").map { Name($0.trimmingSpaces) } ?? visit.fields.text("type").map { Name($0) }
        guard let typeName = typed, let zoneID = visit.place.zoneID else { return EditStart(visit) }
        try checkType(typeName, visit: visit)
        let type = visit.schema?.types[typeName] ?? RecordType(name: typeName)
        let there = visit.inZone(zoneID)
        return EditView(RecordForm(newRecordOf: type, place: there.place), visit: there)
    }

    /// The form of an existing record, or the redirect to the place of a field in it.
    static func edit(_ visit: Visit) async throws -> Answer {
        let (record, there) = try await target(visit)
        let form = try form(of: record, visit: there)
        if let field = visit.fields.text("field"), let index = form.fields.firstIndex(where: { $0.name == Name(field) }) {
            return .redirect("\(there.place.link("record/edit", [("name", record.recordID.recordName.string)]))#f\(index + 1)")
        }
        return .page(EditView(form, visit: there))
    }

    /// The form of a new record with the values of an existing one.
    static func duplicate(_ visit: Visit) async throws -> EditView {
        let (record, there) = try await target(visit)
        let hasFiles = record.fields.mayHoldAssets
        let remark = "This is a copy of \(record.recordID.recordName), not saved yet.\(hasFiles ? " Its files are not copied: upload them to the new record." : "")"
        return EditView(try form(of: record, visit: there).duplicated(place: there.place), remark: remark, visit: there)
    }

    /// Handles the submitted form: applies the change of a button, saves the record, or shows the errors.
    static func submit(_ visit: Visit) async throws -> Answer {
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
    static func resolve(_ visit: Visit) async throws -> Answer {
        guard let zoneID = visit.place.zoneID else { throw RecordError(.badRequest, "The address needs a zone") }
        let visit = visit.inZone(zoneID)
        let chosen = try ConflictForm(visit.fields, visit: visit)
        let name = RecordID(recordName: chosen.recordName, zoneID: zoneID)
        let record = try await RecordView.record(name.recordName, in: zoneID, visit: visit)
        let form = try chosen.applied(to: form(of: record, visit: visit), place: visit.place)
        if visit.fields["do"] == "edit" { return .page(EditView(form, visit: visit)) }
        let (operation, problems) = form.operation(in: visit.place)
        // Every choice is the server's version, which is already stored.
        if operation == nil, problems.isEmpty { return .redirect(visit.place.link(toRecord: chosen.recordName, in: zoneID)) }
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
            let results = try await visit.measure { try await visit.database.modify(ModifyRequest([operation], zoneID: zoneID)) }
            guard case .saved(let record)? = try results.first?.get() else { throw RecordError(.internalError, "The store did not return the saved record") }
            let notice = form.isNew ? Notice.recordCreated : .recordSaved
            return .redirect(visit.place.inZone(zoneID).link("record", [("name", record.recordID.recordName.string), notice.parameter]))
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
        if name == Schema.usersType { throw RecordError(.accessDenied, "Records of the type Users belong to the system and can't be edited") }
        if visit.schema?.types[name] != nil { return }
        // A schema that was learned does not have all types: only the store can tell.
        if visit.database.can(.showSchema), visit.place.address.environment == .production {
            throw RecordError(known: .newTypeInProduction, name)
        }
        try NameRules.checkTypeName(name)
    }
}
