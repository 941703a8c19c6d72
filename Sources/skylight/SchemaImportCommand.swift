import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Make the development schema what a .ckdb file says.",
        discussion: """
            As with CloudKit the file replaces the schema: types, fields and indexes that it does not have go, with the records and values that \
            are in them. What would be lost is shown first, and is lost only with --yes. What was deployed to production can't go. With --merge \
            the file only adds.

            Indexes on records that are there are built in the background; the command waits for them unless --no-wait is given. Then a server \
            goes on with them; without one the work goes on when the data folder is opened next, and queries that need such an index are \
            answered to try again until it is complete.

            Examples:
              skylight schema import --file schema.ckdb --dry-run \\
                --container iCloud.com.example.App
                Only says what would change.
              skylight schema import --file schema.ckdb --merge \\
                --container iCloud.com.example.App
            """)

    @OptionGroup var input: SchemaFileOptions

    @Flag(help: "Only add what the file has beyond the schema; nothing goes.")
    var merge = false

    @Flag(help: "Change nothing; only say what would change, and what would be lost.")
    var dryRun = false

    @Flag(help: "Lose what goes. Without this flag a loss is only shown.")
    var yes = false

    @Flag(inversion: .prefixedNo, help: "Wait until the indexes are built that come with it.")
    var wait = true

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let file = try SchemaFile(input.file)
        if database.environment == .production {
            throw CommandFailure(
                .notPermitted, "The production schema can't be imported", remedy: "Import into development, and deploy it with skylight schema deploy")
        }
        let outcome = try await store.withStore(isNew: !dryRun) { try await carryOut(file, in: $0) }
        if store.json { sayJSON(file, outcome) } else { say(file, outcome) }
    }

    private struct Outcome {
        let plan: SchemaImportPlan
        let losses: [SchemaLoss]
        /// The index builds that the command did not wait for.
        var builds: IndexesUnderWay?
    }

    private func carryOut(_ file: SchemaFile, in store: any OpenStore) async throws -> Outcome {
        let plan = try await plan(file, in: store)
        let isThere = try await store.has(.development, of: database.container)
        // A missing environment has nothing to lose, and must not be created by the check.
        let losses = plan.difference.losses.isEmpty || !isThere ? [] : try await losses(of: plan, in: store)
        var outcome = Outcome(plan: plan, losses: losses)
        if dryRun { return outcome }
        if !losses.isEmpty, !yes { throw Self.needsConfirmation(losses) }
        let editing = try await store.schemaEditing(.development, in: database.schemas)
        if !plan.isEmpty {
            let (edits, waits) = (plan.edits, wait)
            _ = try await store.change(editing, showingProgress: wait) {
                try await $0.edit(edits, because: .schemaImport, waitingForIndexes: waits)
            }
        }
        outcome.builds = try await store.indexesUnderWay(editing)
        return outcome
    }

    private func plan(_ file: SchemaFile, in store: any OpenStore) async throws -> SchemaImportPlan {
        let production = try await store.has(.production, of: database.container) ? try await store.schema(of: .production, in: database.schemas) : nil
        return try SchemaImportPlan(
            importing: file.schema, into: try await store.schema(of: .development, in: database.schemas), merging: merge, production: production)
    }

    private func losses(of plan: SchemaImportPlan, in store: any OpenStore) async throws -> [SchemaLoss] {
        try await plan.losses(measuredBy: try await store.schemaEditing(.development, in: database.schemas) as? any SchemaMeasuring)
    }

    private static func needsConfirmation(_ losses: [SchemaLoss]) -> CommandFailure {
        var failure = CommandFailure(
            .usage, "The import would lose what the file does not have", code: "CONFIRMATION_NEEDED",
            remedy: "Add --yes to do it, or --merge to add only what the file has more")
        failure.details = losses.map(\.line)
        failure.members = { $0.member("losses", losses) }
        return failure
    }

    private func say(_ file: SchemaFile, _ outcome: Outcome) {
        let (plan, losses) = (outcome.plan, outcome.losses)
        file.sayNotes()
        for line in SchemaChangeLines.lines(for: plan.difference) + SchemaChangeLines.lines(for: plan.respellings) { Output.say(line) }
        let place = "\(database.container) (development)"
        let count = plan.lines.count
        if count == 0 {
            Output.say("\(place) has the schema of \(file.name)\(merge ? ", or more," : "") already.")
        } else if dryRun {
            if !losses.isEmpty {
                Output.say("What would be lost, and only with --yes:")
                for loss in losses { Output.say("  \(loss.line)") }
            }
            Output.say("Would import \(file.name) into \(place): \(SchemaChangeLines.count(count)). Nothing was changed.")
        } else {
            Output.say("Imported \(file.name) into \(place): \(SchemaChangeLines.count(count)).")
        }
        outcome.builds?.say()
    }

    private func sayJSON(_ file: SchemaFile, _ outcome: Outcome) {
        let plan = outcome.plan
        Output.say { writer in
            writer.member("dryRun", dryRun)
            writer.member("container", database.container.description)
            writer.member("environment", Environment.development.rawValue)
            writer.member("changes", plan.difference)
            writer.member("respellings", plan.respellings)
            writer.member("losses", outcome.losses)
            file.writeNotes(into: &writer)
            writer.member("indexesBeingBuilt", Int64(outcome.builds?.count ?? 0))
        }
    }
}
