import Accounts
import ArgumentParser
import CloudKitClient
import Foundation
import JSON
import Mirroring
import Records
import RecordStore

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", abstract: "Send the changes made in the copy of a container.",
        discussion: """
            Changes made in the copy of skylight mirror are kept until they are sent, in order, each with the change tag it was made on. Changes of one \
            record are sent as one. If the record changed in the origin meanwhile, this is a conflict: it stops this record only, until you say which \
            version to keep.

            Examples:
              skylight push iCloud.com.example.App --dry-run
              skylight push iCloud.com.example.App --keep-mine Room/general
            """)

    @OptionGroup var origin: MirrorOrigin

    @Flag(help: "List what would be sent, and send nothing.")
    var dryRun = false

    @Flag(help: "Send without a question.")
    var yes = false

    @Option(help: ArgumentHelp("End the conflict of this record with the copy's version.", valueName: "record name"))
    var keepMine: [String] = []

    @Option(help: ArgumentHelp("End the conflict of this record with the origin's version.", valueName: "record name"))
    var keepTheirs: [String] = []

    func validate() throws {
        if dryRun, !(keepMine + keepTheirs).isEmpty { throw ValidationError("--dry-run changes nothing: remove --keep-mine and --keep-theirs.") }
    }

    func run() async throws {
        let isDone = try await origin.withMirror { mirror, connection in
            for (names, version) in [(keepMine, .mine), (keepTheirs, .theirs)] as [([String], ConflictSettlement)] {
                for name in names where try await mirror.settle(Name(name), keeping: version) == 0 {
                    throw CommandFailure(.failed, "The record '\(name)' has no change in conflict", code: "NOT_FOUND")
                }
            }
            if !dryRun { try await mirror.reconcile() }
            let planned = try await mirror.push(isDryRun: true)
            if dryRun || planned.items.isEmpty {
                say(planned, verb: "would be sent")
                return planned.conflicts.isEmpty && planned.refused.isEmpty
            }
            try confirm(planned, to: connection)
            let report = try await MirrorOrigin.showing(mirror) { try await mirror.push() }
            say(report, verb: "sent")
            return report.conflicts.isEmpty && report.refused.isEmpty
        }
        if !isDone { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func confirm(_ report: PushReport, to connection: ContainerConnection) throws {
        if connection.isReadOnly {
            throw CommandFailure(
                .notPermitted, "\(connection.place) is connected read-only", remedy: "Connect it again with --writable to change production")
        }
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(.usage, "\(report.items.count) changes would be sent to \(connection.place)", remedy: "Add --yes to send them")
        }
        say(report, verb: "to be sent")
        Output.write("Send them to \(connection.place)? [y/N] ")
        guard let answer = readLine()?.lowercased(), ["y", "yes"].contains(answer) else {
            throw CommandFailure(.failed, "Nothing was sent", code: "CANCELLED")
        }
    }

    private func say(_ report: PushReport, verb: String) {
        if origin.store.json { return Output.say { write(report, into: &$0) } }
        if !report.items.isEmpty {
            Output.say(
                table: [["CHANGE", "DATABASE", "ZONE", "RECORD", "FIELDS"]]
                    + report.items.map { item in
                        [
                            item.act.rawValue, item.scope.rawValue, item.recordID.zoneID.zoneName.string, item.recordID.recordName.string,
                            item.fields.sorted().map(\.string).joined(separator: " "),
                        ]
                    })
        }
        Output.note("\(Output.grouped(report.items.count)) \(verb).")
        for edit in report.conflicts {
            let (mine, theirs) = (edit.mine == nil ? "deleted here" : "changed here", edit.theirs?.record == nil ? "deleted in the origin" : "changed in the origin")
            Output.note("Conflict: '\(edit.recordID.recordName)' was \(mine) and \(theirs). Choose with --keep-mine or --keep-theirs.")
        }
        for (recordID, reason) in report.refused.sorted(by: { $0.key.recordName < $1.key.recordName }) {
            Output.note("Not sent: '\(recordID.recordName)': \(reason).")
        }
    }

    private func write(_ report: PushReport, into writer: inout JSONWriter) {
        writer.name("items")
        writer.array { writer in
            for item in report.items {
                writer.object { writer in
                    writer.member("act", item.act.rawValue)
                    writer.member("database", item.scope.rawValue)
                    writer.name("zoneID")
                    writer.value(item.recordID.zoneID)
                    writer.member("recordName", item.recordID.recordName)
                    if let base = item.base { writer.member("base", base) }
                    writer.name("fields")
                    writer.array { writer in for field in item.fields.sorted() { writer.value(field) } }
                }
            }
        }
        writer.name("conflicts")
        writer.array { writer in for edit in report.conflicts { writer.value(edit.recordID.recordName) } }
        writer.name("refused")
        writer.array { writer in
            for (recordID, reason) in report.refused.sorted(by: { $0.key.recordName < $1.key.recordName }) {
                writer.object { writer in
                    writer.member("recordName", recordID.recordName)
                    writer.member("reason", reason)
                }
            }
        }
    }
}
