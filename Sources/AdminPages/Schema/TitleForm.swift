internal import Accounts
internal import Console
internal import JSON
internal import Records

/// The form that chooses the field with the titles of a type's records.
struct TitleForm: ViewModel {
    /// The value of the choice without a title.
    private static let none = "-"

    let action: String
    let choices: [Choice]

    init(_ type: RecordType, _ visit: Visit) {
        action = visit.place.link("type/title")
        let chosen = visit.titles.chosen[type.name]
        let fields = type.fields.filter { RecordTitles.canBeTitle($0.value.type) }.map(\.key).sorted()
        choices = [
            Choice("", "the first text of title, name, text and subject", isSelected: chosen == nil),
            Choice(Self.none, "no title", isSelected: chosen?.isEmpty ?? false),
        ] + fields.map { Choice($0.string, $0.string, isSelected: chosen == $0) }
    }

    /// Saves the choice, for both environments of the container.
    /// - Throws: `RecordError` NOT_FOUND if the type does not exist, BAD_REQUEST if the field can't be a title.
    static func choose(_ visit: Visit) async throws -> String {
        let typeName = Name(visit.fields["type"] ?? "")
        guard let type = visit.schema?.types[typeName] else { throw RecordError(known: .unknownType, typeName) }
        let field: Name? =
            switch visit.fields["field"] ?? "" {
            case "": nil
            case none: ""
            case let name: Name(name)
            }
        if let field, !field.isEmpty {
            guard let definition = type.fields[field] else { throw RecordError(.badRequest, "The type '\(typeName)' has no field '\(field)'; choose another title") }
            guard RecordTitles.canBeTitle(definition.type) else {
                throw RecordError(
                    .badRequest, "The field '\(field)' has the type \(definition.type.schemaName) and can't be a title; choose a STRING, INT64, DOUBLE or TIMESTAMP field")
            }
        }
        try await visit.accounts.setTitleField(field, of: typeName, in: visit.place.address.container)
        return visit.place.link("type", [("type", typeName.string), Notice.titleChosen.parameter])
    }
}
