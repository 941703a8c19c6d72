internal import Console
internal import JSON
internal import RecordStore
internal import Records
internal import Text

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
        let held = Dictionary(try record.fields.decoded().map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
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
            guard let type = declared[name]?.type ?? fields["type\(number)"].flatMap({ FieldTypeChoices.type(named: $0) }) else {
                throw RecordError(.badRequest, "The form has no type for the field '\(name)'")
            }
            read.append(try EditedField(name, type, number: number, fields, isNew: declared[name] == nil, place: visit.place))
        }
        self.fields = read
    }
}

extension EditedField {
    fileprivate init(_ name: Name, _ type: FieldType, number: Int, _ fields: [String: String], isNew: Bool, place: Place) throws {
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
