import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Replace the development schema with a .ckdb file.",
        discussion: """
            Like in CloudKit, the file replaces the schema: types, fields and indexes that it does not have are deleted, with their records \
            and values. The command first shows what would be deleted, and deletes it only with --yes. Types and fields in production can't be deleted. With --merge \
            the file only adds.

            Indexes of existing records are built in the background. The command waits for them, except with --no-wait. Then a server \
            continues the work; without a server, it continues when the data folder is opened again. Queries that need such an index get \
            TRY_AGAIN_LATER until it is complete.

            Examples:
              skylight schema import --file schema.ckdb --dry-run \\
                --container iCloud.com.example.App
                Only shows the changes.
              skylight schema import --file schema.ckdb --merge \\
                --container iCloud.com.example.App
            """)

    @OptionGroup var input: SchemaFileOptions

    @Flag(help: "Only add what the schema lacks; delete nothing.")
    var merge = false

    @Flag(help: "Change nothing; only show the changes and deletions.")
    var dryRun = false

    @Flag(help: "Confirm deletions. Without this flag they are only shown.")
    var yes = false

    @Flag(inversion: .prefixedNo, help: "Wait until the new indexes are built.")
    var wait = true

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let file = try SchemaFile(input.file)
        if database.environment == .production {
            throw CommandFailure(
                .notPermitted, "A schema can't be imported into production", remedy: "Import it into development, and deploy it with skylight schema deploy")
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
        let isThere = try await store.engine.has(database.container, .development)
        // A missing environment has nothing to lose, and must not be created by the check.
        let losses = plan.difference.losses.isEmpty || !isThere ? [] : try await losses(of: plan, in: store)
        var outcome = Outcome(plan: plan, losses: losses)
        if dryRun { return outcome }
        if !losses.isEmpty, !yes { throw Self.needsConfirmation(losses) }
        let editing = try await store.schemaDatabase(.development, in: database.schemas)
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
        let production = try await store.engine.has(database.container, .production) ? try await store.schema(of: .production, in: database.schemas) : nil
        return try SchemaImportPlan(
            importing: file.schema, into: try await store.schema(of: .development, in: database.schemas), merging: merge, production: production)
    }

    private func losses(of plan: SchemaImportPlan, in store: any OpenStore) async throws -> [SchemaLoss] {
        try await plan.losses(measuredBy: try await store.schemaDatabase(.development, in: database.schemas))
    }

    private static func needsConfirmation(_ losses: [SchemaLoss]) -> CommandFailure {
        var failure = CommandFailure(
            .usage, "The import would delete what the file does not have", code: "CONFIRMATION_NEEDED",
            remedy: "Add --yes to confirm, or --merge to only add")
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
            Output.say("\(place) already has the schema of \(file.name)\(merge ? ", or more" : "").")
        } else if dryRun {
            if !losses.isEmpty {
                Output.say("Would be deleted, only with --yes:")
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
