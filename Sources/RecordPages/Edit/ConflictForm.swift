internal import Console
internal import JSON
internal import Records

/// The choices, field by field, between two versions of a record.
struct ConflictForm: Sendable {
    enum Choice: String, Sendable {
        case mine, was, theirs
    }

    struct Row: Sendable {
        let name: Name
        let type: FieldType
        let mine: FieldValue?
        let was: FieldValue?
        let theirs: FieldValue?
        /// `nil` if no choice is made.
        let choice: Choice?

        var chosen: FieldValue? {
            switch choice {
            case .mine: mine
            case .was: was
            case .theirs, nil: theirs
            }
        }
    }

    let recordName: Name
    /// The change tag of the version on which the choices are based.
    let tag: String
    let rows: [Row]

    /// Reads a submitted form.
    /// - Throws: `RecordError` BAD_REQUEST if the form is malformed, or a field that both sides changed has no choice.
    init(_ sent: FormFields, visit: Visit) throws {
        let fields = Dictionary(sent.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        guard let name = fields["name"], !name.isEmpty, let tag = fields["tag"], !tag.isEmpty, let typeName = fields["type"] else {
            throw RecordError(.badRequest, "The form is incomplete; open the record again")
        }
        recordName = Name(name)
        self.tag = tag
        let declared = visit.schema?.types[Name(typeName)]?.fields ?? [:]
        // One button chooses for all fields that have no choice yet.
        let usual: Choice? = fields["do"] == "mine" ? .mine : nil
        var rows: [Row] = []
        for number in 1...RecordForm.fieldLimit {
            guard let field = fields["field\(number)"].map({ Name($0) }) else { break }
            guard let type = field == ConflictView.parent ? FieldType.reference
                : declared[field]?.type ?? fields["type\(number)"].flatMap({ FieldTypeChoices.type(named: $0) })
            else { throw RecordError(.badRequest, "The form has no type for the field '\(field)'; open the record again") }
            func value(_ side: String) throws -> FieldValue? { try EditedField.value(of: fields["\(side)\(number)"] ?? "", field: field) }
            guard let choice = fields["pick\(number)"].flatMap({ Choice(rawValue: $0) }) ?? usual else {
                throw RecordError(.badRequest, "Nothing was saved: choose a version of the field '\(field)' first")
            }
            rows.append(Row(name: field, type: type, mine: try value("mine"), was: try value("was"), theirs: try value("theirs"), choice: choice))
        }
        self.rows = rows
    }

    /// The form of the current record, with the choices in its inputs.
    /// - Parameter form: the form of the current record. If that is newer than the version of the choices, the save detects the conflict.
    func applied(to form: RecordForm, place: Place) -> RecordForm {
        var form = form
        form.tag = tag
        for row in rows {
            if row.name == ConflictView.parent {
                form.parentWas = Self.name(row.theirs)
                form.parent = Self.name(row.chosen)
            } else if let index = form.fields.firstIndex(where: { $0.name == row.name }) {
                form.fields[index].was = row.theirs
                form.fields[index].settle(on: row.chosen, place: place)
                // This form can keep or remove files, but can't upload the files of another version.
            } else {
                var field = EditedField(row.name, row.type, was: row.theirs, showing: nil, isNew: true, place: place)
                field.settle(on: row.chosen, place: place)
                form.fields.append(field)
            }
        }
        return form
    }

    private static func name(_ value: FieldValue?) -> Name {
        if case .reference(let reference)? = value { reference.recordName } else { "" }
    }
}
