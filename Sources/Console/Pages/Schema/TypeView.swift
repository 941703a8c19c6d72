internal import JSON
internal import RecordStore
internal import Records

/// The page of a record type: fields, indexes, grants.
struct TypeView: Page {
    static let template = "type"
    static let tab = Tab.types

    struct FieldRow: ViewModel {
        let name: String
        /// The name in schema files, where it is another one.
        let schemaName: String?
        let type: String
        let cells: [IndexCell]
    }

    /// One index of one field: there, possible or impossible.
    struct IndexCell: ViewModel {
        let index: String
        let isThere: Bool
        let isPossible: Bool
        /// `nil` where schema can't be edited.
        let button: IndexButton?
    }

    struct IndexButton: ViewModel {
        /// `add` or `drop`.
        let verb: String
        let value: String
        let label: String
    }

    struct GrantRow: ViewModel {
        let role: String
        let meaning: String
        let permissions: String
    }

    let title: String
    let name: String
    let isSystemType: Bool
    let fields: [FieldRow]
    let systemFields: [FieldRow]
    let indexNames: [String]
    let grants: [GrantRow]
    let canEdit: Bool
    let isProduction: Bool
    let action: String
    let back: String
    let query: String
    let text: String
    let notice: String?
    let milliseconds: String

    static func load(_ visit: Visit) async throws -> TypeView {
        let name = Name(visit.fields["type"] ?? "")
        guard let type = visit.schema?.types[name] else { throw RecordError(.notFound, "Did not find record type: \(name)") }
        let canEdit = visit.canEditSchema && name != Schema.usersType
        let fields = QueryField.all(of: type)
        return TypeView(
            title: name.string, name: name.string, isSystemType: name == Schema.usersType,
            fields: fields.filter { !$0.isSystem }.sorted { $0.name < $1.name }.map { FieldRow($0, canEdit: canEdit) },
            systemFields: fields.filter(\.isSystem).map { FieldRow($0, canEdit: canEdit) }, indexNames: Indexes.named.map(\.name),
            grants: type.grants.map { GrantRow($0) }, canEdit: canEdit, isProduction: visit.place.address.environment == .production,
            action: visit.place.link("type/indexes"), back: visit.place.link("type", [("type", name.string), Notice.indexesChanged.parameter]),
            query: visit.place.link("query", [("type", name.string)]), text: Schema(types: [type]).text,
            notice: Notice.text(visit.fields["notice"]), milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension TypeView.FieldRow {
    fileprivate init(_ field: QueryField, canEdit: Bool) {
        name = field.name.string
        schemaName = field.name == field.key.schemaName ? nil : field.key.schemaName.string
        type = field.definition.type.schemaName
        cells = Indexes.named.map { name, index in
            let isThere = field.definition.indexes.contains(index)
            let isPossible = field.allowedIndexes.contains(index)
            let verb = isThere ? "drop" : "add"
            return TypeView.IndexCell(
                index: name, isThere: isThere, isPossible: isPossible,
                button: canEdit && isPossible
                    ? TypeView.IndexButton(
                        verb: verb, value: "\(field.key.schemaName):\(name)",
                        label: isThere ? "Drop \(name) from \(field.name)" : "Add \(name) to \(field.name)") : nil)
        }
    }
}

extension TypeView.GrantRow {
    fileprivate init(_ grant: Grant) {
        role = grant.role.string
        permissions = Grant.Permission.allCases.filter(grant.permissions.contains).map(\.rawValue).joined(separator: ", ")
        meaning =
            switch grant.role {
            case "_world": "anyone"
            case "_icloud": "anyone who is signed in"
            case "_creator": "who made the record"
            default: "a role of your own"
            }
    }
}
