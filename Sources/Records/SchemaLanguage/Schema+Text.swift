public import JSON

extension Schema {
    /// The schema in CloudKit's schema language (.ckdb), formatted like the export of Apple's tools: types by name,
    /// fields by name in aligned columns, then grants by role (Apple: "Integrating a text-based schema into your
    /// workflow").
    ///
    /// Equal schemas have equal texts, and parsing and printing such a text reproduces it exactly. The `Users` type,
    /// which each container has, is always included. Composite indexes, which CloudKit does not have, are not.
    public var text: String {
        var statements = roles.sorted().map { "    CREATE ROLE \(Self.quoted($0));\n" }
        if !statements.isEmpty { statements = [statements.joined()] }
        let types = self.types[Self.usersType] == nil ? self.types.merging([Self.usersType: Self.users]) { own, _ in own } : self.types
        for type in types.values.sorted(by: { $0.name < $1.name }) {
            let items = type.itemLines.map { "        \($0)" }.joined(separator: ",\n")
            statements.append("    RECORD TYPE \(Self.quoted(type.name)) (\n\(items)\n    );\n")
        }
        return "DEFINE SCHEMA\n\n" + statements.joined(separator: "\n")
    }

    /// Words that must be quoted when used as names.
    static let reservedWords: Set<String> = ["grant", "preferred", "queryable", "sortable", "searchable"]

    /// A name in the schema language: in double quotes unless it is a plain identifier.
    public static func quoted(_ name: Name) -> String {
        let isPlain = name.utf8.enumerated().allSatisfy { index, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): index > 0
            default: false
            }
        }
        return isPlain && !name.isEmpty && !reservedWords.contains(name.string.lowercased()) ? name.string : "\"\(name)\""
    }
}

extension FieldDefinition {
    /// The declaration of a field without its name in the schema language: `STRING QUERYABLE SORTABLE`.
    public var schemaText: String {
        ([type.schemaName] + indexes.union(idleIndexes).names).joined(separator: " ")
    }
}

extension Grant {
    /// The grant in the schema language: `GRANT READ, WRITE TO "_creator"`.
    public var schemaText: String {
        let names = Permission.allCases.filter(permissions.contains).map(\.rawValue)
        return "GRANT \(names.joined(separator: ", ")) TO \(Schema.quoted(role))"
    }
}

extension RecordType {
    fileprivate var itemLines: [String] {
        let shown = Set(SystemField.implicit).union(systemIndexes.filter { !$0.value.isEmpty }.keys)
        let rows =
            fields.map { (name: $0.key, definition: $0.value) }
            + shown.compactMap { field in definition(of: .system(field)).map { (name: field.schemaName, definition: $0) } }
        // Quotes don't affect the order, as in Apple's export: quoted `___` names are sorted like the others.
        let cells = rows.sorted { $0.name < $1.name }.map { (name: Schema.quoted($0.name), declaration: $0.definition.schemaText) }
        let width = cells.map(\.name.utf8.count).max() ?? 0
        let fieldLines = cells.map { $0.name + String(repeating: " ", count: width - $0.name.utf8.count + 1) + $0.declaration }
        return fieldLines + Grant.canonical(grants).map(\.schemaText)
    }
}
