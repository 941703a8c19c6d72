import ArgumentParser
import DataTransfer
import RecordStore
import Records

struct SnapshotRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Bring an environment back to the state of a snapshot.",
        discussion: """
            Saves the records that the snapshot has otherwise, with their authors and dates, deletes later ones, and gives development the schema of the \
            snapshot. Without --yes the command only shows what would change. The present is saved before, as 'Before restoring NAME': restore that to \
            undo it.

            All change tokens of the environment expire: clients drop their tokens and fetch everything again. Subscriptions fire for what is changed.

            Example:
              skylight snapshot restore 'Before the migration' \\
                --container iCloud.com.example.App --yes
            """)

    @Argument(help: "The snapshot.")
    var name: String

    @Flag(help: "Change nothing; only show what would change.")
    var dryRun = false

    @Flag(help: "Confirm it. Without this flag the command only shows what would change.")
    var yes = false

    @OptionGroup var options: SnapshotOptions

    func run() async throws {
        let folder = try options.folder()
        let snapshot = try folder.snapshot(named: name)
        let watch = folder.abandonedAtSignals()
        defer { watch.cancel() }
        let isReal = yes && !dryRun
        let (plan, report) = try await options.store.withStore(isNew: false) {
            store -> (SnapshotComparison?, SnapshotRestoreReport?) in
            let source = try await store.snapshotSource(options.container, options.environment)
            let restorer = try SnapshotRestorer(snapshot, in: folder, into: source)
            let bar = ProgressBar()
            defer { bar.finish() }
            if isReal { return (nil, try await restorer.run { bar.show($0) }) }
            return (try await restorer.plan { bar.show($0) }, nil)
        }
        if let report {
            return options.store.output.say(lines: report.lines(of: snapshot, in: options.place)) { writer in
                writer.member("dryRun", false)
                writer.member("name", snapshot.name)
                writer.members(of: report)
            }
        }
        guard let plan else { return }
        if !dryRun, !plan.isEmpty { throw needsConfirmation(plan) }
        let state = plan.isEmpty ? "\(options.place) has the state of '\(snapshot.name)' already. " : ""
        options.store.output.say(lines: plan.lines + ["\(state)Nothing was changed."]) { writer in
            writer.member("dryRun", true)
            writer.member("name", snapshot.name)
            writer.members(of: plan)
        }
    }

    private func needsConfirmation(_ plan: SnapshotComparison) -> CommandFailure {
        var failure = CommandFailure.confirmationNeeded(
            "Restoring '\(name)' changes \(options.place)\(plan.records.total == 0 ? "" : " (records: \(plan.records.words))"), and expires all its change "
                + "tokens: clients fetch everything again",
            remedy: "Add --yes to confirm. The present is saved before, as a snapshot that undoes it")
        failure.details = plan.lines
        failure.members = { $0.members(of: plan) }
        return failure
    }
}

extension SnapshotRestoreReport {
    func lines(of snapshot: Snapshot, in place: String) -> [String] {
        let records =
            "\(Output.grouped(saved)) record\(saved == 1 ? "" : "s") saved, \(Output.grouped(deleted)) deleted"
        var lines = ["Restored '\(snapshot.name)' in \(place): \(records)."]
        if deletedZones > 0 { lines.append("Zones deleted: \(Output.grouped(deletedZones)).") }
        if schemaChanges > 0 { lines.append("Changes of the schema: \(Output.grouped(schemaChanges)).") }
        if hasExpiredTokens { lines.append("All change tokens have expired: clients fetch everything again.") }
        lines += notes
        if let remaining, !remaining.hasEqualData {
            lines.append("Still different: \(remaining.lines.joined(separator: "\n  "))")
        }
        if let before { lines.append("The state before is the snapshot '\(before)'.") }
        return lines
    }
}

extension JSONWriter {
    mutating func members(of report: SnapshotRestoreReport) {
        member("saved", Int64(report.saved))
        member("deleted", Int64(report.deleted))
        member("deletedZones", Int64(report.deletedZones))
        member("schemaChanges", Int64(report.schemaChanges))
        member("tokensExpired", report.hasExpiredTokens)
        if let before = report.before { member("before", before) }
        member("notes", values: report.notes) { $0.value($1) }
        member("complete", report.remaining?.hasEqualData ?? true)
    }
}
