import ArgumentParser
import RecordStore
import Records

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
        if database.environment == .production {
            throw ValidationError("only development can be deployed: remove --environment.")
        }
    }

    func run() async throws {
        let (waits, isQuiet) = (wait, store.output.isJSON)
        let (plan, builds): (SchemaDeploymentPlan, IndexesUnderWay?) = try await store.withStore(isNew: false) {
            store in
            let development = try await store.existingSchema(of: .development, in: database.schemas)
            let plan = SchemaDeploymentPlan(
                from: development, to: try await store.schema(of: .production, in: database.schemas))
            if let refusal = plan.refusal, !dryRun { throw refusal }
            if dryRun || plan.isEmpty { return (plan, nil) }
            if !plan.indexLosses.isEmpty, !yes { throw Self.needsConfirmation(plan) }
            if !isQuiet { for line in Self.lines(of: plan) { Output.say(line) } }
            let editing = try await store.schemaDatabase(.production, in: database.schemas)
            _ = try await store.change(editing, showingProgress: waits) {
                try await $0.require(.deploySchema).deploy(development, waitingForIndexes: waits)
            }
            return (plan, try await store.indexesUnderWay(editing))
        }
        store.output.say(lines: lines(plan), notes: builds.map { [$0.note] } ?? []) { writer in
            writer.member("dryRun", dryRun)
            writer.member("container", database.container.description)
            writer.member("canRun", plan.canRun)
            if let refusal = plan.refusal { writer.member("refusal", refusal.reason) }
            writer.member("changes", plan.difference)
            writer.member("respellings", plan.respellings)
            writer.member("droppedIndexes", values: plan.indexLosses) { $0.value($1) }
            writer.member("indexesBeingBuilt", Int64(builds?.count ?? 0))
        }
        // A dry run also reports a refused plan as a failure.
        if plan.refusal != nil { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func lines(_ plan: SchemaDeploymentPlan) -> [String] {
        if plan.isEmpty { return ["Production of \(database.container) already has the development schema."] }
        let count = SchemaChangeLines.count(plan.lines.count)
        guard dryRun else { return ["Deployed \(count) to production of \(database.container)."] }
        if let refusal = plan.refusal { return Self.lines(of: plan) + ["\(refusal.reason)."] }
        return Self.lines(of: plan)
            + plan.indexLosses.map { "Warning: \($0.line); queries of existing clients may need it." }
            + ["Would deploy \(count). Nothing was changed."]
    }

    private static func lines(of plan: SchemaDeploymentPlan) -> [String] {
        SchemaChangeLines.lines(for: plan.difference) + SchemaChangeLines.lines(for: plan.respellings)
    }

    private static func needsConfirmation(_ plan: SchemaDeploymentPlan) -> CommandFailure {
        let changes = plan.indexLosses
        var failure = CommandFailure.confirmationNeeded(
            "Deploying would remove indexes that queries of existing clients may need",
            remedy: "Add --yes to confirm, or add the indexes to development to keep them")
        failure.details = changes.map(\.line)
        failure.members = { $0.member("droppedIndexes", values: changes) { $0.value($1) } }
        return failure
    }
}

// MARK: - Reset

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
            records.filter { $0.count > 0 }.map { "\($0.type): \(SchemaResetCommand.records($0.count))" }
                + difference.lines
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
            throw CommandFailure(
                .notPermitted, "Production can't be reset; only development can", remedy: "Remove --environment")
        }
        let loss: Loss = try await store.withStore(isNew: false) { store in
            let before = try await store.existingSchema(of: .development, in: database.schemas)
            let production = try await store.schema(of: .production, in: database.schemas)
            let editing = try await store.schemaDatabase(.development, in: database.schemas)
            let loss = Loss(
                records: try await Self.records(of: before, in: editing),
                difference: SchemaDifference(from: before, to: production))
            if dryRun { return loss }
            guard yes else { throw needsConfirmation(loss) }
            _ = try await editing.require(.editSchema).reset(to: production)
            return loss
        }
        let count = Self.records(loss.total)
        let last =
            dryRun
            ? "Would delete \(count) of all users in development of \(database.container). Nothing was changed."
            : "Development of \(database.container) was reset: \(count) of all users deleted."
        store.output.say(lines: loss.lines + [last]) { writer in
            writer.member("dryRun", dryRun)
            writer.member("container", database.container.description)
            loss.write(into: &writer)
        }
    }

    private func needsConfirmation(_ loss: Loss) -> CommandFailure {
        var failure = CommandFailure.confirmationNeeded(
            "Resetting development of \(database.container) permanently deletes all zones, shares and records of all users, \(Self.records(loss.total))"
        )
        failure.details = loss.lines
        failure.members = { loss.write(into: &$0) }
        return failure
    }

    private static func records(_ count: Int) -> String {
        "\(Output.grouped(count)) record\(count == 1 ? "" : "s")"
    }

    /// The record counts by type, in all databases of all users.
    private static func records(of schema: Schema, in editing: any RecordDatabase) async throws -> [(
        type: Name, count: Int
    )] {
        guard editing.can(.measureTypes) else { return [] }
        var records: [(Name, Int)] = []
        for type in schema.sortedTypes {
            records.append(
                (type.name, try await editing.require(.measureTypes).valueCounts(of: [], in: type.name).records))
        }
        return records
    }
}
