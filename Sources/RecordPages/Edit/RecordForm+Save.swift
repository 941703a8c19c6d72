internal import Console
internal import JSON
internal import RecordStore
internal import Records

// Conversion from the form to a database operation.

extension RecordForm {
    /// The errors that prevent a save, each for its input.
    struct Problems: Sendable {
        var fields: [Int: String] = [:]
        var recordName: String?
        var parent: String?
        /// An error that concerns no single field.
        var general: RecordError?

        var isEmpty: Bool { fields.isEmpty && recordName == nil && parent == nil && general == nil }
    }

    /// The operation that saves the form: all values of a new record, or the changed values of an existing one.
    /// - Returns: `nil` with problems if an input is invalid; `nil` without problems if nothing has changed.
    func operation(in place: Place) -> (operation: RecordOperation?, problems: Problems) {
        var problems = Problems()
        var inputs: [Name: FieldInput] = [:]
        for (index, field) in fields.enumerated() {
            do {
                // A copy saves all values of its original, and unedited values stay exactly the same.
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

    /// Assigns an error of the database to the field that it names.
    func place(_ error: RecordError) -> Problems {
        var problems = Problems()
        if isNew, error.code == .conflict || error.code == .exists {
            problems.recordName = "The zone already has a record with this name. Choose another name, or edit that record."
            return problems
        }
        let named = error.field
        for (index, field) in fields.enumerated() where field.name == named { problems.fields[index] = error.reason }
        if problems.fields.isEmpty { problems.general = error }
        return problems
    }
}
