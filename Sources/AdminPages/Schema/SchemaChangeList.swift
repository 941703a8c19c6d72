internal import Console
internal import RecordStore
internal import Records

/// The differences between two schemas, side by side in the syntax of schema files.
struct SchemaChangeList: Component {
    static let template = "schema_changes"

    struct Group: ViewModel {
        /// The name of a type; `nil` for roles.
        let typeName: String?
        var rows: [Row]
    }

    struct Row: ViewModel {
        /// `added`, `removed` or `changed`.
        let kind: String
        let before: String?
        let after: String?
        /// A warning, for example that queries which need the index will be refused.
        let warning: String?
    }

    let beforeTitle: String
    let afterTitle: String
    let groups: [Group]
    let count: String
}

extension SchemaChangeList {
    /// - Parameters:
    ///   - schema: either schema; both have the fields whose indexes differ.
    ///   - warning: a warning about a change; `nil` for none.
    init(
        _ difference: SchemaDifference, _ respellings: [SchemaRespelling] = [], of schema: Schema, before: String,
        after: String,
        warning: (SchemaDifference.Change) -> String? = { _ in nil }
    ) {
        beforeTitle = before
        afterTitle = after
        var groups: [Group] = []
        let rows =
            difference.changes.map { (type: $0.recordType, row: Row($0, of: schema, warning: warning($0))) }
            + respellings.map { (type: $0.recordType, row: Row($0, of: schema)) }
        var places: [Name?: Int] = [:]
        for (type, row) in rows {
            if let place = places[type] {
                groups[place].rows.append(row)
            } else {
                places[type] = groups.count
                groups.append(Group(typeName: type?.string, rows: [row]))
            }
        }
        self.groups = groups
        count = Digits.count(rows.count, "difference")
    }
}

extension SchemaChangeList.Row {
    /// A field whose name differs only in its Unicode spelling.
    fileprivate init(_ respelling: SchemaRespelling, of schema: Schema) {
        let key = FieldKey.custom(respelling.field)
        let indexes = schema.types[respelling.recordType]?.definition(of: key)?.indexes ?? []
        kind = "changed"
        func line(_ spelling: FieldDefinition) -> String {
            FieldDefinition(type: spelling.type, indexes: indexes, idleIndexes: spelling.idleIndexes).schemaLine(key)
        }
        before = line(respelling.from)
        after = line(respelling.to)
        warning = nil
    }

    fileprivate init(_ change: SchemaDifference.Change, of schema: Schema, warning: String?) {
        self.warning = warning
        func role(_ name: Name) -> String { "CREATE ROLE \(Schema.quoted(name))" }
        func grants(_ grants: [Grant]) -> String? {
            grants.isEmpty ? nil : grants.sorted { $0.role < $1.role }.map(\.schemaText).joined(separator: "\n")
        }
        switch change {
        case .addRole(let name): (kind, before, after) = ("added", nil, role(name))
        case .removeRole(let name): (kind, before, after) = ("removed", role(name), nil)
        case .addType(let type): (kind, before, after) = ("added", nil, type.schemaStatement)
        case .removeType(let type): (kind, before, after) = ("removed", type.schemaStatement, nil)
        case .addField(let key, let definition, _): (kind, before, after) = ("added", nil, definition.schemaLine(key))
        case .removeField(let key, let definition, _):
            (kind, before, after) = ("removed", definition.schemaLine(key), nil)
        case .changeField(let key, let old, let new, _):
            (kind, before, after) = ("changed", old.schemaLine(key), new.schemaLine(key))
        case .setIndexes(let key, let old, let new, let typeName):
            func line(_ indexes: Indexes) -> String {
                let type = schema.types[typeName]?.definition(of: key)?.type
                return type.map { FieldDefinition(type: $0, indexes: indexes).schemaLine(key) }
                    ?? Schema.quoted(key.schemaName)
            }
            (kind, before, after) = ("changed", line(old), line(new))
        case .setGrants(let old, let new, _): (kind, before, after) = ("changed", grants(old), grants(new))
        }
    }
}

extension RecordType {
    /// The type declaration in the syntax of schema files, without the six system fields.
    var schemaStatement: String {
        let system = systemIndexes.compactMap { field, indexes in
            indexes.isEmpty
                ? nil
                : (
                    name: field.schemaName,
                    line: FieldDefinition(type: field.type, indexes: indexes).schemaLine(.system(field))
                )
        }
        let own = fields.map { (name: $0.key, line: $0.value.schemaLine(.custom($0.key))) }
        let lines =
            (own + system).sorted { $0.name < $1.name }.map(\.line)
            + grants.sorted { $0.role < $1.role }.map(\.schemaText)
        return "RECORD TYPE \(Schema.quoted(name)) (\n" + lines.map { "    \($0)" }.joined(separator: ",\n") + "\n)"
    }
}

// MARK: - Fingerprint

/// A short hash of two schemas, so that a confirmation can detect changes since the preview.
enum SchemaFingerprint {
    /// 16 hexadecimal digits.
    static func text(from before: Schema, to after: Schema) -> String {
        var hash = FNV1a()
        hash.add(text: before.text)
        hash.add(text: after.text)
        return hash.text
    }
}
