internal import JSON
internal import RecordStore
internal import Records

/// A record as a form edits it. All of it travels with the form, so that the server remembers nothing and nothing typed is lost.
struct RecordForm: Sendable {
    /// Fields that a form may have.
    static let fieldLimit = 1000

    var recordType: Name
    /// What was typed for a new record, empty to let the server make a name; of a record that is there, its name.
    var recordName: Name
    /// The change tag that the record had when the form was opened; `nil` for a new record.
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

    /// The form of a record that is there.
    /// - Throws: `RecordError` INTERNAL_ERROR when the stored fields are damaged.
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
        self.fields = fields.map { name, type in
            EditedField(name, type, was: held[name]?.value, showing: held[name]?.value, place: place)
        }
    }

    /// The fields of a type, by name.
    private static func declared(_ type: RecordType) -> [(name: Name, type: FieldType)] {
        type.fields.map { (name: $0.key, type: $0.value.type) }.sorted { $0.name < $1.name }
    }

    /// A copy as a new record: the same values under another name. Files are uploaded for one record, so they stay behind.
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

    /// The same values as a new record of the same name, for one that was deleted while it was edited.
    func madeAnew() -> RecordForm {
        var form = self
        form.tag = nil
        return form
    }
}

// MARK: A form that was sent

extension RecordForm {
    /// Reads a form that was sent.
    /// - Throws: `RecordError` BAD_REQUEST when it is not one of ours.
    init(_ sent: FormFields, visit: Visit) throws {
        let fields = Dictionary(sent.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        guard let type = fields["type"], !type.isEmpty else {
            throw RecordError(.badRequest, "The form does not say of which record type the record is: type=…")
        }
        recordType = Name(type)
        tag = fields["tag"].flatMap { $0.isEmpty ? nil : $0 }
        // Names are typed by people, who leave spaces behind.
        recordName = tag == nil ? Name((fields["name"] ?? "").trimmedSpaces) : Name(fields["name"] ?? "")
        parent = Name((fields["parent"] ?? "").trimmedSpaces)
        parentWas = Name(fields["parentWas"] ?? "")
        let declared = visit.schema?.types[recordType]?.fields ?? [:]
        var read: [EditedField] = []
        for number in 1...Self.fieldLimit {
            guard let name = fields["field\(number)"].map({ Name($0) }) else { break }
            guard let type = declared[name]?.type ?? fields["type\(number)"].flatMap({ FieldTypeChoices.type(named: $0) }) else {
                throw RecordError(.badRequest, "The form does not say of which type field '\(name)' is")
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
        let count = min(max(fields["count\(number)"].flatMap { Int($0) } ?? 0, 0), Self.elementLimit)
        entries = (0..<count).map { FieldEntry(fields, suffix: "\(number)-\($0 + 1)") }
        isEmptyList = fields["emptylist\(number)"] != nil
    }
}
