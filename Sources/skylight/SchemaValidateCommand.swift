import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a .ckdb file.",
        discussion: """
            Shows all errors with their lines, and ends with exit code 65. Notes are about parts that Apple's tools may refuse.

            With --container, also checks if the file could be imported into development, and exits with code 1 if not, for example because it \
            lacks something that was deployed to production. Changes nothing.

            Examples:
              skylight schema validate --file schema.ckdb
              skylight schema validate --file schema.ckdb \\
                --container iCloud.com.example.App
            """)

    @OptionGroup var input: SchemaFileOptions

    @Option(
        help: ArgumentHelp("The container to check the file against. (default: none)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let file = try SchemaFile(input.file)
        let plan = if let container { try await plan(file, for: container) } else { nil as SchemaImportPlan? }
        let counts = Counts(file.schema)
        if store.json {
            Output.say { writer in
                writer.member("valid", true)
                writer.member("recordTypes", Int64(counts.types))
                writer.member("fields", Int64(counts.fields))
                writer.member("indexes", Int64(counts.indexes))
                writer.member("roles", Int64(counts.roles))
                file.writeNotes(into: &writer)
                if let plan { writer.member("changes", plan.difference) }
            }
        } else {
            file.sayNotes()
            Output.say("\(file.name) is a valid schema: \(counts).")
            if let plan, let container {
                Output.say(
                    plan.isEmpty
                        ? "\(container) (development) already has it."
                        : "It can be imported into \(container) (development): \(SchemaChangeLines.count(plan.lines.count))"
                            + (plan.difference.losses.isEmpty ? "." : ", of which \(plan.difference.losses.count) would delete data."))
            }
        }
    }

    private func plan(_ file: SchemaFile, for container: ContainerID) async throws -> SchemaImportPlan {
        let place = SchemaPlace(container: container)
        return try await store.withStore(isNew: false) { store in
            let development = try await store.existingSchema(of: .development, in: place)
            return try SchemaImportPlan(
                importing: file.schema, into: development, merging: false, production: try await store.schema(of: .production, in: place))
        }
    }

    /// The number of elements in a schema.
    private struct Counts: CustomStringConvertible {
        let types, fields, indexes, roles: Int

        init(_ schema: Schema) {
            let all = schema.types.values
            types = all.count
            fields = all.reduce(0) { $0 + $1.fields.count }
            indexes = all.flatMap { Array($0.fields.values.map(\.indexes)) + Array($0.systemIndexes.values) }.reduce(0) { $0 + $1.names.count }
            roles = schema.roles.count
        }

        var description: String {
            [(types, "record type"), (fields, "field"), (indexes, "index"), (roles, "role")].map { count, noun in
                "\(Output.grouped(count)) \(noun)" + (count == 1 ? "" : noun == "index" ? "es" : "s")
            }.joined(separator: ", ")
        }
    }
}
