internal import JSON

extension Schema {
    /// The schema in CloudKit's schema language (.ckdb), laid out as Apple's tools export it:
    /// types by name, fields by name in aligned columns, grants last
    /// (Apple: "Integrating a text-based schema into your workflow").
    public var text: String {
        var lines = ["DEFINE SCHEMA"]
        for role in roles.sorted() { lines += ["    CREATE ROLE \(Self.quoted(role));"] }
        for type in sortedTypes {
            lines.append("")
            lines.append("    RECORD TYPE \(Self.quoted(type.name)) (")
            lines.append(type.itemLines.map { "        \($0)" }.joined(separator: ",\n"))
            lines.append("    );")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static let reservedWords: Set<String> = ["grant", "preferred", "queryable", "sortable", "searchable"]

    /// A name as the language writes it: in double quotes unless it is a plain identifier.
    static func quoted(_ name: Name) -> String {
        let isPlain =
            name.utf8.allSatisfy { $0 < 0x80 && (Character(Unicode.Scalar($0)).isLetter || Character(Unicode.Scalar($0)).isNumber || $0 == UInt8(ascii: "_")) }
            && name.string.first?.isLetter == true && !reservedWords.contains(name.string.lowercased())
        return isPlain ? name.string : "\"\(name)\""
    }
}

extension RecordType {
    fileprivate var itemLines: [String] {
        var rows: [(name: Name, definition: FieldDefinition)] = fields.map { ($0.key, $0.value) }
        let shown = Set(SystemField.implicit).union(systemIndexes.filter { !$0.value.isEmpty }.keys)
        rows += shown.compactMap { field in definition(of: .system(field)).map { (field.schemaName, $0) } }
        // Quotes count in the order: a quoted ___ name stands among the others as Apple's export has it.
        let cells = rows.map { (Schema.quoted($0.name), ([$0.definition.type.schemaName] + $0.definition.indexes.names).joined(separator: " ")) }
            .sorted { Name($0.0.replacing("\"", with: "")) < Name($1.0.replacing("\"", with: "")) }
        let width = cells.map(\.0.count).max() ?? 0
        let fieldLines = cells.map { name, rest in name + String(repeating: " ", count: width - name.count + 1) + rest }
        let grantLines = grants.map { grant in
            let permissions = Grant.Permission.allCases.filter(grant.permissions.contains).map(\.rawValue).joined(separator: ", ")
            return "GRANT \(permissions) TO \"\(grant.role)\""
        }
        return fieldLines + grantLines
    }
}
