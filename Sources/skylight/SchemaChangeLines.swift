import JSON
import Records
import RecordStore

/// Schema changes in the style of a diff: each type once, followed by added (+), removed (-) and changed (~) lines.
enum SchemaChangeLines {
    static func lines(for difference: SchemaDifference) -> [String] {
        var lines: [String] = []
        var shown: Name?
        for change in difference.changes {
            if let type = change.recordType, type != shown {
                shown = type
                lines.append("\(mark(change)) type \(Schema.quoted(type))")
            }
            lines += self.lines(for: change)
        }
        return lines
    }

    static func lines(for respellings: [SchemaRespelling]) -> [String] {
        respellings.map { "~ \($0.line)" }
    }

    private static func mark(_ change: SchemaDifference.Change) -> String {
        switch change {
        case .addType: "+"
        case .removeType: "-"
        default: "~"
        }
    }

    private static func lines(for change: SchemaDifference.Change) -> [String] {
        switch change {
        case .addRole(let role): ["+ role \(Schema.quoted(role))"]
        case .removeRole(let role): ["- role \(Schema.quoted(role))"]
        case .addType(let type): items(of: type).map { "    + \($0)" }
        case .removeType(let type): items(of: type).map { "    - \($0)" }
        case .addField(let key, let definition, _): ["    + \(text(key, definition))"]
        case .removeField(let key, let definition, _): ["    - \(text(key, definition))"]
        case .changeField(let key, let before, let after, _): ["    - \(text(key, before))", "    + \(text(key, after))"]
        case .setIndexes(let key, let before, let after, _):
            ["    ~ \(Schema.quoted(key.schemaName))"
                + after.subtracting(before).names.map { " +\($0)" }.joined() + before.subtracting(after).names.map { " -\($0)" }.joined()]
        case .setGrants(let before, let after, _):
            before.filter { !after.contains($0) }.map { "    - \($0.schemaText)" } + after.filter { !before.contains($0) }.map { "    + \($0.schemaText)" }
        }
    }

    private static func text(_ key: FieldKey, _ definition: FieldDefinition) -> String {
        "\(Schema.quoted(key.schemaName)) \(definition.schemaText)"
    }

    private static func items(of type: RecordType) -> [String] {
        let system = type.systemIndexes.filter { !$0.value.isEmpty }.map { (FieldKey.system($0.key), FieldDefinition(type: $0.key.type, indexes: $0.value)) }
        let fields = system + type.fields.map { (FieldKey.custom($0.key), $0.value) }
        return fields.sorted { $0.0.schemaName < $1.0.schemaName }.map { text($0.0, $0.1) } + Grant.canonical(type.grants).map(\.schemaText)
    }

    /// `1 change`, `12 changes`.
    static func count(_ count: Int) -> String {
        "\(Output.grouped(count)) change\(count == 1 ? "" : "s")"
    }
}

extension JSONWriter {
    /// Writes each change with its kind and its line.
    mutating func member(_ name: Name, _ difference: SchemaDifference) {
        self.name(name)
        value(difference)
    }

    mutating func member(_ name: Name, _ respellings: [SchemaRespelling]) {
        self.name(name)
        array { writer in
            for respelling in respellings { writer.value(respelling.line) }
        }
    }

    mutating func member(_ name: Name, _ losses: [SchemaLoss]) {
        self.name(name)
        array { writer in
            for loss in losses { writer.value(loss) }
        }
    }
}
