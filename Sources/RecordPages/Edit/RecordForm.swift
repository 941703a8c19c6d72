internal import Console
internal import RecordStore
internal import Records

/// A record in an edit form. The form carries the whole state, so the server is stateless and no input is lost.
struct RecordForm: Sendable {
    /// The maximum number of fields in a form.
    static let fieldLimit = 1000

    var recordType: Name
    /// The name input of a new record, empty for a generated name; or the name of the existing record.
    var recordName: Name
    /// The change tag when the form was opened; `nil` for a new record.
    var tag: String?
    /// The name of the parent, empty for none.
    var parent: Name
    var parentWas: Name
    var fields: [EditedField]

    var isNew: Bool { tag == nil }

    /// An empty form for a new record.
    init(newRecordOf type: RecordType, place: Place) {
        recordType = type.name
        (recordName, tag, parent, parentWas) = ("", nil, "", "")
        fields = Self.declared(type).map { EditedField($0.name, $0.type, was: nil, showing: nil, place: place) }
    }

    /// The form of an existing record.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    init(_ record: StoredRecord, type: RecordType?, place: Place) throws {
        recordType = record.recordType
        recordName = record.recordID.recordName
        tag = record.recordChangeTag
        parent = record.parent ?? ""
        parentWas = parent
        let held = Dictionary(
            try record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var fields = Self.declared(type ?? RecordType(name: record.recordType))
        let known = Set(fields.map(\.name))
        for (name, field) in held where !known.contains(name) {
            var fieldType = field.value.type ?? .list(.string)
            fieldType.isEncrypted = field.isEncrypted
            fields.append((name, fieldType))
        }
        // Most records of a type with many fields fill a few.
        fields.sort { left, right in
            let (leftIsEmpty, rightIsEmpty) = (held[left.name] == nil, held[right.name] == nil)
            return leftIsEmpty == rightIsEmpty ? left.name < right.name : rightIsEmpty
        }
        self.fields = fields.map { name, type in
            EditedField(name, type, was: held[name]?.value, showing: held[name]?.value, place: place)
        }
    }

    /// The fields of a type, sorted by name.
    private static func declared(_ type: RecordType) -> [(name: Name, type: FieldType)] {
        type.fields.map { (name: $0.key, type: $0.value.type) }.sorted { $0.name < $1.name }
    }

    /// A copy for a new record: the same values with another name. Files belong to one record, so the copy has none.
    func duplicated(place: Place) -> RecordForm {
        var form = self
        form.tag = nil
        form.recordName = ""
        for index in form.fields.indices where form.fields[index].type.valueType == .asset {
            form.fields[index].was = nil
            form.fields[index].show(nil, place: place)
        }
        return form
    }

    /// The same values for a new record with the same name, if the record was deleted during the edit.
    func madeAnew() -> RecordForm {
        var form = self
        form.tag = nil
        return form
    }
}

// MARK: Submitted forms

extension RecordForm {
    /// Reads a submitted form.
    /// - Throws: `RecordError` BAD_REQUEST if the form is malformed.
    init(_ sent: FormFields, visit: Visit) throws {
        let fields = Dictionary(sent.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        guard let type = fields["type"], !type.isEmpty else {
            throw RecordError(.badRequest, "The form has no record type: type=…")
        }
        recordType = Name(type)
        tag = fields["tag"].flatMap { $0.isEmpty ? nil : $0 }
        // Removes surrounding spaces, because users type the names.
        recordName = tag == nil ? Name((fields["name"] ?? "").trimmingSpaces) : Name(fields["name"] ?? "")
        parent = Name((fields["parent"] ?? "").trimmingSpaces)
        parentWas = Name(fields["parentWas"] ?? "")
        let declared = visit.schema?.types[recordType]?.fields ?? [:]
        var read: [EditedField] = []
        for number in 1...Self.fieldLimit {
            guard let name = fields["field\(number)"].map({ Name($0) }) else { break }
            guard
                let type = declared[name]?.type ?? fields["type\(number)"].flatMap({ FieldTypeChoices.type(named: $0) })
            else {
                throw RecordError(.badRequest, "The form has no type for the field '\(name)'")
            }
            read.append(
                try EditedField(name, type, number: number, fields, isNew: declared[name] == nil, place: visit.place))
        }
        self.fields = read
    }
}

extension EditedField {
    fileprivate init(
        _ name: Name, _ type: FieldType, number: Int, _ fields: [String: String], isNew: Bool, place: Place
    ) throws {
        let was = try Self.value(of: fields["was\(number)"] ?? "", field: name)
        self.init(name, type, was: was, showing: nil, isNew: isNew, place: place)
        isCleared = fields["clear\(number)"] != nil
        if let text = fields["json\(number)"] {
            json = FieldEntry.carried(text)
            return
        }
        guard type.isList else {
            if type.valueType != .asset { entries = [FieldEntry(fields, suffix: "\(number)-1")] }
            return
        }
        let count = fields["count\(number)"]?.number(in: 0...Self.elementLimit) ?? 0
        entries = (0..<count).map { FieldEntry(fields, suffix: "\(number)-\($0 + 1)") }
        isEmptyList = fields["emptylist\(number)"] != nil
    }
}

// MARK: - Fields

/// A field in the form of a record: the value when the form was opened, and the current text of its inputs.
struct EditedField: Sendable {
    /// The maximum number of list elements with separate inputs. Longer lists are edited as JSON.
    static let elementLimit = 100

    let name: Name
    let type: FieldType
    /// The value when the form was opened; for a copy, the value in the original record. `nil` for no value.
    var was: FieldValue?
    /// One entry, or one per list element.
    var entries: [FieldEntry]
    /// True if the value is an empty list, rather than no value.
    var isEmptyList = false
    /// True if the form removes the files of an asset field.
    var isCleared = false
    /// The text of the single input of a long list.
    var json: Name?
    /// True if the record type does not have the field yet.
    var isNew = false
    /// A chosen value that replaces the inputs, which may not show it exactly; `nil` if the inputs hold the value.
    private var chosenValue: ChosenValue?

    private struct ChosenValue {
        let value: FieldValue?
    }

    init(
        _ name: Name, _ type: FieldType, was: FieldValue?, showing value: FieldValue?, isNew: Bool = false, place: Place
    ) {
        self.name = name
        self.type = type
        self.was = was
        self.isNew = isNew
        entries = []
        show(value, place: place)
    }

    /// Shows a value in the inputs.
    mutating func show(_ value: FieldValue?, place: Place) {
        isEmptyList = false
        chosenValue = nil
        isCleared = type.valueType == .asset && value == nil && was != nil
        json = nil
        switch value {
        case nil: entries = type.isList ? [] : [FieldEntry()]
        case .list(let elements, _)? where elements.count > Self.elementLimit && type.valueType != .asset:
            entries = []
            var writer = JSONWriter()
            writer.value(.list(elements, of: type.valueType))
            json = Name(String(decoding: writer.bytes, as: UTF8.self))
        case .list(let elements, _)?:
            entries = elements.map { FieldEntry($0, place: place) }
            isEmptyList = elements.isEmpty
        case let value?: entries = [FieldEntry(value, place: place)]
        }
    }

    /// Sets an exact value of the field, and shows as much of it in the inputs as they can hold.
    mutating func settle(on value: FieldValue?, place: Place) {
        show(value, place: place)
        chosenValue = ChosenValue(value: value)
    }

    // MARK: Values of the form

    /// The value of the inputs; `nil` for none. Unchanged inputs give exactly the original value. The same holds for
    /// each list element.
    func value(in place: Place) throws(EntryProblem) -> FieldValue? {
        if type.valueType == .asset { return isCleared ? nil : was }
        if let chosenValue { return chosenValue.value }
        if isAsShown(place) { return was }
        if let json { return try list(json) }
        guard type.isList else { return try entries.first?.value(as: type.valueType, in: place) }
        var elements: [FieldValue] = []
        var held = heldElements(place)
        for (index, entry) in entries.enumerated() {
            if let element = held[entry]?.popLast() {
                elements.append(element)
                continue
            }
            do {
                if let element = try entry.value(as: type.valueType, in: place) { elements.append(element) }
            } catch {
                throw EntryProblem(reason: "Value \(index + 1): \(error.reason)")
            }
        }
        if elements.isEmpty { return isEmptyList ? .list([], of: type.valueType) : nil }
        return .list(elements, of: type.valueType)
    }

    /// The original list elements, by the text of their inputs. Elements with the same text are in reverse order.
    private func heldElements(_ place: Place) -> [FieldEntry: [FieldValue]] {
        guard case .list(let elements, _)? = was, elements.count <= Self.elementLimit else { return [:] }
        return Dictionary(grouping: elements.reversed()) { FieldEntry($0, place: place) }
    }

    private func isAsShown(_ place: Place) -> Bool {
        let shown = EditedField(name, type, was: was, showing: was, place: place)
        if json != nil || shown.json != nil { return json == shown.json }
        if type.isList, entries.allSatisfy({ $0.isBlank(as: type.valueType) }), shown.entries.isEmpty {
            return isEmptyList == shown.isEmptyList
        }
        return entries == shown.entries
    }

    private func list(_ text: Name) throws(EntryProblem) -> FieldValue? {
        if text.string.trimmingSpaces.isEmpty { return nil }
        do {
            let tagged: JSONValue = [
                "value": try JSONReader.value(of: text.string),
                "type": .string(FieldType(type.valueType, isList: true).wireName),
            ]
            guard case .tagged(let value, _, _) = try FieldInput(tagged, field: name) else { return nil }
            return value
        } catch let error as RecordError {
            throw EntryProblem(reason: error.reason)
        } catch {
            throw EntryProblem(reason: "This is not a JSON array: \(error). Write it as [1, 2, 3].")
        }
    }

    /// True if a value differs from the original in its bytes. Swift compares
    /// strings by canonical equivalence, which ignores how accents are composed.
    func isChanged(to now: FieldValue?) -> Bool {
        Self.text(of: now, type) != Self.text(of: was, type)
    }

    static func input(_ value: FieldValue?, _ type: FieldType) -> FieldInput {
        guard let value else { return .cleared }
        return .tagged(value, FieldType(type.valueType, isList: type.isList), isEncrypted: type.isEncrypted)
    }
}

// MARK: Values in hidden inputs

extension EditedField {
    /// A value with its type as JSON for a hidden input; empty for none.
    static func text(of value: FieldValue?, _ type: FieldType) -> Name {
        guard let value else { return "" }
        var writer = JSONWriter()
        writer.value(Field(name: "", value: value, isEncrypted: type.isEncrypted))
        return Name(String(decoding: writer.bytes, as: UTF8.self))
    }

    /// - Throws: `RecordError` BAD_REQUEST if the text is malformed.
    static func value(of text: String, field: Name) throws -> FieldValue? {
        if text.isEmpty { return nil }
        do {
            guard case .tagged(let value, _, _) = try FieldInput(try JSONReader.value(of: text), field: field) else {
                return nil
            }
            return value
        } catch {
            throw RecordError(
                .badRequest, "The form's earlier value of the field '\(field)' can't be read. Open the form again")
        }
    }
}

// MARK: - Buttons without a save

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
            if fields[number - 1].entries.count < EditedField.elementLimit {
                fields[number - 1].entries.append(FieldEntry())
            }
        case .removeElement(let number, let element):
            guard fields.indices.contains(number - 1), fields[number - 1].entries.indices.contains(element - 1) else {
                return
            }
            fields[number - 1].entries.remove(at: element - 1)
        case .removeField(let number):
            // Only fields that the form added can be removed from it. A field of the type stays without a value.
            if fields.indices.contains(number - 1), fields[number - 1].isNew { fields.remove(at: number - 1) }
        case .pick(let number, let element, let name):
            guard fields.indices.contains(number - 1), fields[number - 1].entries.indices.contains(element - 1) else {
                return
            }
            fields[number - 1].entries[element - 1].text = name
        }
    }

    private mutating func addField(_ sent: FormFields, visit: Visit) throws {
        let name = Name((sent["newField"] ?? "").trimmingSpaces)
        guard visit.place.address.environment == .development else {
            throw RecordError(known: .newFieldInProduction, name, recordType)
        }
        try NameRules.checkFieldName(name)
        if SystemField(named: name) != nil {
            throw RecordError(.badRequest, "Field '\(name)' is a system field and can't be set")
        }
        if fields.contains(where: { $0.name == name }) {
            throw RecordError(.badRequest, "The record already has a field '\(name)'")
        }
        if fields.count >= Self.fieldLimit {
            throw RecordError(.badRequest, "A form can't have more than \(Self.fieldLimit) fields")
        }
        guard let type = FieldTypeChoices.type(named: sent["newType"] ?? "") else {
            throw RecordError(.badRequest, "Choose a type for field '\(name)'")
        }
        if type.valueType == .asset {
            throw RecordError(
                .badRequest, "Add an ASSET field on the page of the record type, then upload files on the record's page"
            )
        }
        var field = EditedField(name, type, was: nil, showing: nil, isNew: true, place: visit.place)
        if type.isList { field.entries = [FieldEntry()] }
        fields.append(field)
    }
}

// MARK: - Conversion to a database operation

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
        let parentChange: RecordOperation.Parent =
            !isNew && parent == parentWas || isNew && parent.isEmpty
            ? .unchanged : parent.isEmpty ? .cleared : .record(parent)
        if !isNew, inputs.isEmpty, parentChange == .unchanged { return (nil, problems) }
        let operation = RecordOperation(
            isNew ? .create : .update, recordName: recordName.isEmpty ? nil : recordName, zoneID: place.zoneID,
            recordType: recordType,
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
            problems.recordName =
                "The zone already has a record with this name. Choose another name, or edit that record."
            return problems
        }
        let named = error.field
        for (index, field) in fields.enumerated() where field.name == named { problems.fields[index] = error.reason }
        if problems.fields.isEmpty { problems.general = error }
        return problems
    }
}
