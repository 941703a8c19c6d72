internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

// Buttons that change the form without a save.

extension RecordForm {
    /// The action of a button.
    enum Button: Sendable {
        case save
        case saveAnew
        /// Adds the field with the name `newField` and the type `newType`.
        case addField
        case addElement(field: Int)
        case removeElement(field: Int, element: Int)
        case removeField(field: Int)
        /// Searches for records whose names begin with the text of a reference.
        case find(field: Int, element: Int)
        case pick(field: Int, element: Int, Name)
        /// Shows the same form again.
        case redraw

        init(_ fields: FormFields) {
            if let picked = fields.pairs.first(where: { $0.name.hasPrefix("pick-") }) {
                let numbers = Self.numbers(picked.name)
                self = numbers.count == 2 ? .pick(field: numbers[0], element: numbers[1], Name(picked.value)) : .redraw
                return
            }
            let text = fields["do"] ?? "save"
            let numbers = Self.numbers(text)
            switch (text.split(separator: "-").first.map(String.init) ?? "", numbers.count) {
            case ("save", 0): self = .save
            case ("anew", 0): self = .saveAnew
            case ("field", 0): self = .addField
            case ("grow", 1): self = .addElement(field: numbers[0])
            case ("drop", 2): self = .removeElement(field: numbers[0], element: numbers[1])
            case ("drop", 1): self = .removeField(field: numbers[0])
            case ("find", 2): self = .find(field: numbers[0], element: numbers[1])
            default: self = .redraw
            }
        }

        /// `3` and `1` of `find-3-1`.
        private static func numbers(_ text: String) -> [Int] {
            text.split(separator: "-").dropFirst().compactMap { Int($0) }.filter { $0 > 0 }
        }
    }

    /// Applies a button that adds or removes inputs.
    /// - Throws: `RecordError` BAD_REQUEST if the field can't be added.
    mutating func press(_ button: Button, _ sent: FormFields, visit: Visit) throws {
        switch button {
        case .save, .saveAnew, .find, .redraw: break
        case .addField: try addField(sent, visit: visit)
        case .addElement(let number):
            guard fields.indices.contains(number - 1), fields[number - 1].type.isList else { return }
            if fields[number - 1].entries.count < EditedField.elementLimit { fields[number - 1].entries.append(FieldEntry()) }
        case .removeElement(let number, let element):
            guard fields.indices.contains(number - 1), fields[number - 1].entries.indices.contains(element - 1) else { return }
            fields[number - 1].entries.remove(at: element - 1)
        case .removeField(let number):
            // Only fields that the form added can be removed from it. A field of the type stays without a value.
            if fields.indices.contains(number - 1), fields[number - 1].isNew { fields.remove(at: number - 1) }
        case .pick(let number, let element, let name):
            guard fields.indices.contains(number - 1), fields[number - 1].entries.indices.contains(element - 1) else { return }
            fields[number - 1].entries[element - 1].text = name
        }
    }

    private mutating func addField(_ sent: FormFields, visit: Visit) throws {
        let name = Name((sent["newField"] ?? "").trimmingSpaces)
        guard visit.place.address.environment == .development else {
            throw RecordError(known: .newFieldInProduction, name, recordType)
        }
        try NameRules.checkFieldName(name)
        if SystemField(named: name) != nil { throw RecordError(.badRequest, "Field '\(name)' is a system field and can't be set") }
        if fields.contains(where: { $0.name == name }) { throw RecordError(.badRequest, "The record already has a field '\(name)'") }
        if fields.count >= Self.fieldLimit { throw RecordError(.badRequest, "A form can't have more than \(Self.fieldLimit) fields") }
        guard let type = FieldTypeChoices.type(named: sent["newType"] ?? "") else { throw RecordError(.badRequest, "Choose a type for field '\(name)'") }
        if type.valueType == .asset { throw RecordError(.badRequest, "Add an ASSET field on the page of the record type, then upload files on the record's page") }
        var field = EditedField(name, type, was: nil, showing: nil, isNew: true, place: visit.place)
        if type.isList { field.entries = [FieldEntry()] }
        fields.append(field)
    }
}
