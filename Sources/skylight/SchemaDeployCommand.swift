import ArgumentParser
import JSON
import Records
import RecordStore

struct SchemaDeployCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deploy",
        abstract: "Take the development schema over to production.",
        discussion: """
            Types and fields are only added, never removed or changed: where that would be needed nothing is deployed, and the command says \
            where. Roles and grants are added or changed. Indexes are added; where some would be dropped, which queries of clients that are out \
            there may need, --yes is needed. It is all or nothing.

            Indexes on records that are there are built in the background; the command waits for them unless --no-wait is given. Then a server \
            goes on with them; without one the work goes on when the data folder is opened next.

            Examples:
              skylight schema deploy --container iCloud.com.example.App --dry-run
                Only says what would change.
              skylight schema deploy --container iCloud.com.example.App
            """)

    @Flag(help: "Change nothing; only say what would change.")
    var dryRun = false

    @Flag(help: "Drop indexes that production has and development does not.")
    var yes = false

    @Flag(inversion: .prefixedNo, help: "Wait until the indexes are built that come with it.")
    var wait = true

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func validate() throws {
        if database.environment == .production { throw ValidationError("it is always development that is deployed: leave --environment out.") }
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
            let editing = try await store.schemaEditing(.production, in: database.schemas)
            _ = try await store.change(editing, showingProgress: waits) { try await $0.deploy(development, waitingForIndexes: waits) }
            return (plan, try await store.indexesUnderWay(editing))
        }
        if store.json {
            sayJSON(plan, builds)
        } else if plan.isEmpty {
            Output.say("Production of \(database.container) has the development schema already.")
        } else if dryRun {
            say(plan)
            if let refusal = plan.refusal {
                Output.say("\(refusal.reason).")
            } else {
                for change in plan.indexLosses { Output.say("Warning: \(change.line); queries of clients that are out there may need it.") }
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
            .usage, "Deploying would drop indexes, which queries of clients that are out there may need", code: "CONFIRMATION_NEEDED",
            remedy: "Add --yes to do it, or the indexes to development to keep them")
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
