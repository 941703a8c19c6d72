internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// A change of all records that match a query, as URL parameters: the parameters of the query, and `change=set&changed=rank&text-1-1=5`.
struct BulkForm: Sendable {
    enum Change: String, Sendable, CaseIterable {
        case set, clear, delete
    }

    let query: QueryForm
    let change: Change
    /// The field that is set or cleared, with the new value in its inputs; `nil` if no field is chosen.
    var field: EditedField?

    init(_ visit: Visit) throws {
        var query = QueryForm(visit.fields)
        // The change covers all matching records, so it starts at the first page.
        (query.markers, query.page, query.keys, query.returnsSystemFieldsOnly) = ([], 1, [], false)
        self.query = query
        change = visit.fields["change"].flatMap { Change(rawValue: $0) } ?? .set
        guard change != .delete, let type = query.type.flatMap({ visit.schema?.types[$0] }), let name = visit.fields.text("changed").map({ Name($0) }),
            let definition = type.fields[name], definition.type.valueType != .asset || change == .clear
        else { return }
        var field = EditedField(name, definition.type, was: nil, showing: nil, place: visit.place)
        let sent = Dictionary(visit.fields.pairs.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
        if definition.type.isList {
            let count = visit.fields.number("count1", in: 1...EditedField.elementLimit) ?? 1
            field.entries = (1...count).map { FieldEntry(sent, suffix: "1-\($0)") }
            field.isEmptyList = sent["emptylist1"] != nil
            if visit.fields["do"] == "grow-1", count < EditedField.elementLimit { field.entries.append(FieldEntry()) }
        } else {
            field.entries = [FieldEntry(sent, suffix: "1-1")]
        }
        self.field = field
    }

    /// The URL parameters of this form.
    var parameters: [(name: String, value: String)] {
        query.parameters + [("change", change.rawValue)] + (field.map { [("changed", $0.name.string)] + Self.parameters(of: $0) } ?? [])
    }

    private static func parameters(of field: EditedField) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = field.type.isList ? [("count1", String(field.entries.count))] : []
        if field.isEmptyList { parameters.append(("emptylist1", "1")) }
        for (index, entry) in field.entries.enumerated() {
            let suffix = "1-\(index + 1)"
            if !entry.text.isEmpty { parameters.append(("text-\(suffix)", entry.text.string)) }
            if entry.isEmptyText { parameters.append(("empty-\(suffix)", "1")) }
            if entry.notation != .base64 { parameters.append(("as-\(suffix)", entry.notation.rawValue)) }
            if entry.action != .none { parameters.append(("action-\(suffix)", entry.action.rawValue)) }
            if !entry.zone.isEmpty { parameters.append(("zone-\(suffix)", entry.zone.string)) }
            for part in FieldEntry.Part.allCases {
                if let text = entry.parts[part] { parameters.append(("\(part.rawValue)-\(suffix)", text.string)) }
            }
        }
        return parameters
    }

    /// The new value of the field in each record.
    /// - Throws: ``EntryProblem`` if the input is not a value of the field's type, or is empty.
    func input(in place: Place) throws(EntryProblem) -> FieldInput {
        guard let field else { throw EntryProblem(reason: "Choose a field.") }
        if change == .clear { return .cleared }
        guard let value = try field.value(in: place) else {
            throw EntryProblem(reason: "Enter a value for the field. To clear it, choose ‘clear a field’.")
        }
        return EditedField.input(value, field.type)
    }
}
