import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaDeployCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy",
        abstract: "Deploy the development schema to production.",
        discussion: """
            Types and fields are only added, never deleted or changed. If that would be needed, nothing is deployed, and the command says \
            why. Roles and grants are added or changed. Indexes are added; removing one, which queries of existing clients may \
            need, requires --yes. All changes are made together, or none.

            Indexes of existing records are built in the background. The command waits for them, except with --no-wait. Then a server \
            continues the work; without a server, it continues when the data folder is opened again.

            Examples:
              skylight schema deploy --container iCloud.com.example.App --dry-run
                Only shows the changes.
              skylight schema deploy --container iCloud.com.example.App
            """)

    @Flag(help: "Change nothing; only show the changes.")
    var dryRun = false

    @Flag(help: "Remove indexes that production has and development does not.")
    var yes = false

    @Flag(inversion: .prefixedNo, help: "Wait until the new indexes are built.")
    var wait = true

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func validate() throws {
        if database.environment == .production { throw ValidationError("only development can be deployed: remove --environment.") }
    }

    func run() async throws {
        let (waits, isQuiet) = (wait, store.json)
        let (plan, builds): (SchemaDeploymentPlan, IndexesUnderWay?) = try await store.withStore(isNew: false) { store in
            let development = try await store.existingSchema(of: .development, in: database.schemas)
            let plan = SchemaDeploymentPlan(from: development, to: try await store.schema(of: .production, in: database.schemas))
            if let refusal = plan.refusal, !dryRun { throw refusal }
            if dryRun || plan.isEmpty { return (plan, nil) }
            if !plan.indexLosses.isEmpty, !yes { throw Self.needsConfirmation(plan) }
            if !isQuiet { say(plan) }
            let editing = try await store.schemaDatabase(.production, in: database.schemas)
            _ = try await store.change(editing, showingProgress: waits) { try await $0.deploy(development, waitingForIndexes: waits) }
            return (plan, try await store.indexesUnderWay(editing))
        }
        if store.json {
            sayJSON(plan, builds)
        } else if plan.isEmpty {
            Output.say("Production of \(database.container) already has the development schema.")
        } else if dryRun {
            say(plan)
            if let refusal = plan.refusal {
                Output.say("\(refusal.reason).")
            } else {
                for change in plan.indexLosses { Output.say("Warning: \(change.line); queries of existing clients may need it.") }
                Output.say("Would deploy \(SchemaChangeLines.count(plan.lines.count)). Nothing was changed.")
            }
        } else {
            Output.say("Deployed \(SchemaChangeLines.count(plan.lines.count)) to production of \(database.container).")
            builds?.say()
        }
        // A dry run also reports a refused plan as a failure.
        if plan.refusal != nil { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func say(_ plan: SchemaDeploymentPlan) {
        for line in SchemaChangeLines.lines(for: plan.difference) + SchemaChangeLines.lines(for: plan.respellings) { Output.say(line) }
    }

    private static func needsConfirmation(_ plan: SchemaDeploymentPlan) -> CommandFailure {
        let changes = plan.indexLosses
        var failure = CommandFailure(
            .usage, "Deploying would remove indexes that queries of existing clients may need", code: "CONFIRMATION_NEEDED",
            remedy: "Add --yes to confirm, or add the indexes to development to keep them")
        failure.details = changes.map(\.line)
        failure.members = { writer in
            writer.name("droppedIndexes")
            writer.array { writer in
                for change in changes { writer.value(change) }
            }
        }
        return failure
    }

    private func sayJSON(_ plan: SchemaDeploymentPlan, _ builds: IndexesUnderWay?) {
        Output.say { writer in
            writer.member("dryRun", dryRun)
            writer.member("container", database.container.description)
            writer.member("canRun", plan.canRun)
            if let refusal = plan.refusal { writer.member("refusal", refusal.reason) }
            writer.member("changes", plan.difference)
            writer.member("respellings", plan.respellings)
            writer.name("droppedIndexes")
            writer.array { writer in
                for change in plan.indexLosses { writer.value(change) }
            }
            writer.member("indexesBeingBuilt", Int64(builds?.count ?? 0))
        }
    }
}
