import ArgumentParser
import CloudKitClient
import Foundation
import JSON
import Mirroring
import Records
import RecordStore

struct MirrorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mirror", abstract: "Copy a connected container to this machine, and follow it.",
        discussion: """
            The copy is a container of its own, with every record as it is in iCloud: name, change tag, who saved it and when. It answers any query \
            without indexes of the origin. Stop the command at any moment; the next one goes on from there.

            Private and shared zones are followed by their change tokens. The public database has no tokens: its types are read by modification time, \
            which needs the indexes modifiedTimestamp QUERYABLE and SORTABLE, and recordName QUERYABLE to find deletions. Name its types with \
            --public-types or --schema, since CloudKit does not list them.

            Changes made in the copy are sent with skylight push.

            Examples:
              skylight mirror iCloud.com.example.App
              skylight mirror iCloud.com.example.App --follow --assets all \\
                --schema app.ckdb
            """)

    @OptionGroup var origin: MirrorOrigin

    @Flag(help: "Pull once. This is the default.")
    var once = false

    @Flag(help: "Pull again and again, until Ctrl-C.")
    var follow = false

    @Option(help: ArgumentHelp("The pause between two pulls with --follow, in seconds.", valueName: "seconds"))
    var every = 30

    @Option(help: ArgumentHelp("The files of assets: all, none, or on-demand.", valueName: "which"))
    var assets: MirrorOptions.Files = .onDemand

    @Option(help: ArgumentHelp("The container's schema, as exported by cktool.", valueName: "file"))
    var schema: String?

    @Option(parsing: .upToNextOption, help: ArgumentHelp("Types of the public database.", valueName: "type"))
    var publicTypes: [String] = []

    func validate() throws {
        if once, follow { throw ValidationError("Use either --once or --follow.") }
        if !(1...86_400).contains(every) { throw ValidationError("--every is a number of seconds from 1 to 86400.") }
    }

    func run() async throws {
        let file = try schema.map { try SchemaFile($0) }
        let isIncomplete = try await origin.withMirror({ options in
            options.files = assets
            options.schema = file?.schema
            options.publicTypes = Set(publicTypes.map { Name($0) })
        }) { mirror, connection in
            if !follow {
                let report = try await MirrorOrigin.showing(mirror) { try await mirror.pull() }
                say(report)
                if !origin.store.json { try await saySchema(mirror) }
                return !report.problems.isEmpty
            }
            try await mirror.follow(every: .seconds(every)) { result in
                switch result {
                case .success(let report): if report != PullReport() { say(report) }
                case .failure(let failure) where failure.isPassing: Output.note("\(failure). The next pull is in \(every) seconds")
                case .failure(let failure): throw failure
                }
            }
            return false
        }
        if isIncomplete { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func say(_ report: PullReport) {
        let outcome = report.outcome
        if origin.store.json {
            return Output.say { writer in
                writer.member("saved", Int64(outcome.saved))
                writer.member("deleted", Int64(outcome.deleted))
                writer.member("unchanged", Int64(outcome.unchanged))
                writer.member("conflicts", Int64(outcome.conflicts.count))
                writer.member("encryptedInPublic", Int64(outcome.encryptedInPublic))
                writer.name("problems")
                writer.array { writer in for problem in report.problems { writer.value("\(problem)") } }
            }
        }
        Output.say("\(Output.grouped(outcome.saved)) saved, \(Output.grouped(outcome.deleted)) deleted, \(Output.grouped(outcome.unchanged)) unchanged.")
        if !outcome.conflicts.isEmpty {
            Output.note("\(outcome.conflicts.count) edits of the copy are of records that changed in the origin; see skylight push \(origin.container) --dry-run.")
        }
        for problem in report.problems { Output.note("\(problem).") }
        if let sentence = RecordFinding.encryptedInPublic(outcome.encryptedInPublic) { Output.note(sentence) }
    }

    private func saySchema(_ mirror: ContainerMirror) async throws {
        let evidence = try await mirror.schemaEvidence()
        let observed = evidence.types.values.count { $0.source == .observed }
        if evidence.isComplete || evidence.types.isEmpty { return }
        Output.note(
            "The copy's schema is partly from records: \(observed) of \(evidence.types.count) types. Fields that no record has are unknown; --schema adds them.")
    }
}
