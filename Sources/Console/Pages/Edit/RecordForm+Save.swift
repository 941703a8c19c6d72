internal import JSON
internal import RecordStore
internal import Records

// What a save of the form asks of the database.

extension RecordForm {
    /// What keeps the form from being saved, each beside what it is about.
    struct Problems: Sendable {
        var fields: [Int: String] = [:]
        var recordName: String?
        var parent: String?
        /// What is about no field in particular.
        var general: RecordError?

        var isEmpty: Bool { fields.isEmpty && recordName == nil && parent == nil && general == nil }
    }

    /// The operation that saves the form: all that was typed of a new record, and what was changed of one that is there.
    /// - Returns: `nil` and problems when something typed is no value; `nil` without problems when nothing was changed.
    func operation(in place: Place) -> (operation: RecordOperation?, problems: Problems) {
        var problems = Problems()
        var inputs: [Name: FieldInput] = [:]
        for (index, field) in fields.enumerated() {
            do {
                // A copy has all the values of its original, to the byte where nothing was typed.
                let now = try field.value(in: place)
                if isNew, let now { inputs[field.name] = EditedField.input(now, field.type) }
                if !isNew, field.isChanged(to: now) { inputs[field.name] = EditedField.input(now, field.type) }
            } catch {
                problems.fields[index] = error.reason
            }
        }
        if isNew, !recordName.isEmpty { problems.recordName = Self.problem(of: recordName) }
        if !parent.isEmpty { problems.parent = Self.problem(of: parent) }
        if !problems.isEmpty { return (nil, problems) }
        let parentChange: RecordOperation.Parent = !isNew && parent == parentWas || isNew && parent.isEmpty ? .unchanged : parent.isEmpty ? .cleared : .record(parent)
        if !isNew, inputs.isEmpty, parentChange == .unchanged { return (nil, problems) }
        let operation = RecordOperation(
            isNew ? .create : .update, recordName: recordName.isEmpty ? nil : recordName, zoneID: place.zoneID, recordType: recordType,
            recordChangeTag: tag, fields: inputs, parent: parentChange)
        return (operation, problems)
    }

    private static func problem(of name: Name) -> String? {
        do {
            try NameRules.checkRecordName(name)
            return nil
        } catch {
            return (error as? RecordError)?.reason ?? "\(error)"
        }
    }

    /// Where a refusal of the database belongs: beside the field that it names.
    func place(_ error: RecordError) -> Problems {
        var problems = Problems()
        if isNew, error.code == .conflict || error.code == .exists {
            problems.recordName = "A record of this name is in the zone already. Choose another name, or edit that record."
            return problems
        }
        for (index, field) in fields.enumerated() where error.reason.contains("ield '\(field.name)'") || error.reason.contains("ield: '\(field.name)'") {
            problems.fields[index] = error.reason
        }
        if problems.fields.isEmpty { problems.general = error }
        return problems
    }
}
