import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export the schema of a container in CloudKit's schema language (.ckdb).",
        discussion: """
            The text has the format of Apple's tools, which can import it. Equal schemas have equal texts, so a file under version control shows \
            only changes. It has no composite indexes, because CloudKit has none.

            Example:
              skylight schema export --container iCloud.com.example.App \\
                --output schema.ckdb
            """,
        aliases: ["show"])

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"))
    var output: String?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let schema = try await store.withStore(isNew: false) { try await $0.existingSchema(of: database.environment, in: database.schemas) }
        if let output {
            let file = try OutputFile(output)
            do {
                try file.write(Array(schema.text.utf8))
            } catch {
                file.abandon()
                throw error
            }
            try file.finish()
            let types = schema.types.count == 1 ? "1 record type" : "\(schema.types.count) record types"
            if store.json {
                Output.say { writer in
                    writer.member("file", output)
                    writer.member("recordTypes", Int64(schema.types.count))
                }
            } else {
                Output.note("Exported \(types) of \(database.container) (\(database.environment.rawValue)) into \(output).")
            }
        } else if store.json {
            Output.say { $0.member("schema", schema.text) }
        } else {
            try OutputFile.standardOutput.write(Array(schema.text.utf8))
        }
    }
}
