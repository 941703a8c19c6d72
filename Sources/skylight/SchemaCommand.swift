import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Look at record types, fields and indexes.", subcommands: [Show.self])

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Print the schema of a container in CloudKit's schema language (.ckdb).",
            discussion: """
                What is printed is what Apple's tools export and import.

                Example:
                  skylight schema show --container iCloud.com.example.App > schema.ckdb
                """)

        @OptionGroup var store: StoreOptions
        @OptionGroup var database: DatabaseOptions

        func run() async throws {
            let schema = try await store.withStore(isNew: false) { store in
                guard let editor = try await store.existingDatabase(database.address(.public), as: database.user) as? any SchemaEditing else {
                    throw CommandFailure(.failed, "This store shows no schema")
                }
                return try await editor.schema()
            }
            if store.json {
                Output.say { $0.member("schema", schema.text) }
            } else {
                Output.write(schema: schema.text)
            }
        }
    }
}

extension Output {
    fileprivate static func write(schema: String) {
        say(schema.hasSuffix("\n") ? String(schema.dropLast()) : schema)
    }
}
