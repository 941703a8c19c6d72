import ArgumentParser
import RecordStore
import Records

struct SchemaDiffCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Compare a .ckdb file with an environment, two environments, or two files.",
        discussion: """
            With --file, shows the differences of the file from the environment: what its import would change. Without --file, shows the \
            differences from the container's other environment: for development, what a deployment would change. With two files, shows the \
            differences of the second from the first.

            The exit code is 0 without and 1 with differences, for scripts. Errors end with 64 to 77.

            Examples:
              skylight schema diff --container iCloud.com.example.App
                Shows what is not deployed yet.
              skylight schema diff --file schema.ckdb \\
                --container iCloud.com.example.App || echo "Not imported."
              skylight schema diff --file old.ckdb --file new.ckdb
            """)

    @Option(
        name: [.customLong("file"), .customShort("f")],
        help: ArgumentHelp(
            "A schema file (.ckdb); - is standard input. Can be given twice, to compare two files.", valueName: "file"))
    var files: [String] = []

    @Option(
        help: ArgumentHelp(
            "The container, such as iCloud.com.example.App. Two files need none.", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "The environment to compare.")
    var environment: Environment = .development

    @OptionGroup var store: StoreOptions

    /// A schema with its display name.
    private struct Side {
        let name: String
        let schema: Schema
    }

    func validate() throws {
        if files.count > 2 { throw ValidationError("--file can be given at most twice.") }
        if files.count == 2, container != nil {
            throw ValidationError("two files are compared with each other: remove --container, or one --file.")
        }
        if files.count < 2, container == nil {
            throw ValidationError("there is nothing to compare with: add --container, or a second --file.")
        }
        if files == ["-", "-"] { throw ValidationError("standard input can be read only once.") }
    }

    func run() async throws {
        let files = try files.map { try SchemaFile($0) }
        let sides = try await sides(files)
        let difference = SchemaDifference(from: sides.from.schema, to: sides.to.schema)
        let respellings = SchemaRespelling.all(from: sides.from.schema, to: sides.to.schema)
        let isDifferent = !difference.isEmpty || !respellings.isEmpty
        let lines = SchemaChangeLines.lines(for: difference) + SchemaChangeLines.lines(for: respellings)
        store.output.say(
            lines: isDifferent
                ? ["--- \(sides.from.name)", "+++ \(sides.to.name)"] + lines
                : ["No difference between \(sides.from.name) and \(sides.to.name)."]
        ) { writer in
            writer.member("different", isDifferent)
            writer.member("from", sides.from.name)
            writer.member("to", sides.to.name)
            writer.member("changes", difference)
            writer.member("respellings", respellings)
        }
        if isDifferent { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func sides(_ files: [SchemaFile]) async throws -> (from: Side, to: Side) {
        let sides = files.map { Side(name: $0.name, schema: $0.schema) }
        guard let container else { return (sides[0], sides[1]) }
        let place = SchemaAccess(container: container)
        do {
            return try await store.withStore(isNew: false) { store -> (from: Side, to: Side) in
                let own = Side(
                    name: "\(container) (\(environment.rawValue))",
                    schema: try await store.existingSchema(of: environment, in: place))
                if let file = sides.first { return (own, file) }
                let other: Environment = environment == .development ? .production : .development
                return (
                    Side(
                        name: "\(container) (\(other.rawValue))", schema: try await store.schema(of: other, in: place)),
                    own
                )
            }
        } catch {
            throw CommandFailure.otherThanDifferent(error)
        }
    }
}

// MARK: - Changes as lines

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
        case .changeField(let key, let before, let after, _):
            ["    - \(text(key, before))", "    + \(text(key, after))"]
        case .setIndexes(let key, let before, let after, _):
            [
                "    ~ \(Schema.quoted(key.schemaName))"
                    + after.subtracting(before).names.map { " +\($0)" }.joined()
                    + before.subtracting(after).names.map { " -\($0)" }.joined()
            ]
        case .setGrants(let before, let after, _):
            before.filter { !after.contains($0) }.map { "    - \($0.schemaText)" }
                + after.filter { !before.contains($0) }.map { "    + \($0.schemaText)" }
        }
    }

    private static func text(_ key: FieldKey, _ definition: FieldDefinition) -> String {
        "\(Schema.quoted(key.schemaName)) \(definition.schemaText)"
    }

    private static func items(of type: RecordType) -> [String] {
        let system = type.systemIndexes.filter { !$0.value.isEmpty }.map {
            (FieldKey.system($0.key), FieldDefinition(type: $0.key.type, indexes: $0.value))
        }
        let fields = system + type.fields.map { (FieldKey.custom($0.key), $0.value) }
        return fields.sorted { $0.0.schemaName < $1.0.schemaName }.map { text($0.0, $0.1) }
            + Grant.canonical(type.grants).map(\.schemaText)
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
