import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Delete all data of development, and give it the schema of production.",
        discussion: """
            Deletes all records, zones and shares of all users in development, like CloudKit's 'Reset Environment'; clients see it as a \
            purge. The schema becomes that of production, or of a new container if nothing was deployed. Without --yes the command only \
            shows what would be deleted.

            Example:
              skylight schema reset --container iCloud.com.example.App --yes
            """)

    @Flag(help: "Change nothing; only show what would be deleted.")
    var dryRun = false

    @Flag(help: "Confirm it. Without this flag the command only shows what would be deleted.")
    var yes = false

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    /// The data that a reset deletes.
    private struct Loss {
        let records: [(type: Name, count: Int)]
        let difference: SchemaDifference

        var total: Int { records.reduce(0) { $0 + $1.count } }

        var lines: [String] {
            records.filter { $0.count > 0 }.map { "\($0.type): \(SchemaResetCommand.records($0.count))" } + difference.lines
        }

        func write(into writer: inout JSONWriter) {
            writer.name("records")
            writer.object { writer in
                for (type, count) in records { writer.member(type, Int64(count)) }
            }
            writer.member("changes", difference)
        }
    }

    func run() async throws {
        if database.environment == .production {
            throw CommandFailure(.notPermitted, "Production can't be reset; only development can", remedy: "Remove --environment")
        }
        let loss: Loss = try await store.withStore(isNew: false) { store in
            let before = try await store.existingSchema(of: .development, in: database.schemas)
            let production = try await store.schema(of: .production, in: database.schemas)
            let editing = try await store.schemaDatabase(.development, in: database.schemas)
            let loss = Loss(records: try await Self.records(of: before, in: editing), difference: SchemaDifference(from: before, to: production))
            if dryRun { return loss }
            guard yes else { throw needsConfirmation(loss) }
            _ = try await editing.reset(to: production)
            return loss
        }
        if store.json {
            Output.say { writer in
                writer.member("dryRun", dryRun)
                writer.member("container", database.container.description)
                loss.write(into: &writer)
            }
            return
        }
        for line in loss.lines { Output.say(line) }
        let count = Self.records(loss.total)
        Output.say(
            dryRun
                ? "Would delete \(count) of all users in development of \(database.container). Nothing was changed."
                : "Development of \(database.container) was reset: \(count) of all users deleted.")
    }

    private func needsConfirmation(_ loss: Loss) -> CommandFailure {
        var failure = CommandFailure(
            .usage,
            "Resetting development of \(database.container) permanently deletes all zones, shares and records of all users, \(Self.records(loss.total))",
            code: "CONFIRMATION_NEEDED", remedy: "Add --yes to confirm")
        failure.details = loss.lines
        failure.members = { loss.write(into: &$0) }
        return failure
    }

    private static func records(_ count: Int) -> String {
        "\(Output.grouped(count)) record\(count == 1 ? "" : "s")"
    }

    /// The record counts by type, in all databases of all users.
    private static func records(of schema: Schema, in editing: any RecordDatabase) async throws -> [(type: Name, count: Int)] {
        guard editing.can(.measureTypes) else { return [] }
        var records: [(Name, Int)] = []
        for type in schema.sortedTypes { records.append((type.name, try await editing.valueCounts(of: [], in: type.name).records)) }
        return records
    }
}
