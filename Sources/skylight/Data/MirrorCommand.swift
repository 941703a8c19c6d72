import Accounts
import ArgumentParser
import AssetStore
import CloudKitClient
import DataTransfer
import Foundation
import RecordStore
import Records
import RemoteRecordStore

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
                if !origin.store.output.isJSON { try await saySchema(mirror) }
                return !report.problems.isEmpty
            }
            try await mirror.follow(every: .seconds(every)) { result in
                switch result {
                case .success(let report): if report != PullReport() { say(report) }
                case .failure(let failure) where failure.isPassing:
                    Output.note("\(failure). The next pull is in \(every) seconds")
                case .failure(let failure): throw failure
                }
            }
            return false
        }
        if isIncomplete { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private func say(_ report: PullReport) {
        let outcome = report.outcome
        var notes: [String] = []
        if !outcome.conflicts.isEmpty {
            notes.append(
                "\(outcome.conflicts.count) edits of the copy are of records that changed in the origin; see skylight push \(origin.container) --dry-run."
            )
        }
        notes += report.problems.map { "\($0)." }
        if let sentence = RecordFinding.encryptedInPublic(outcome.encryptedInPublic) { notes.append(sentence) }
        origin.store.output.say(
            "\(Output.grouped(outcome.saved)) saved, \(Output.grouped(outcome.deleted)) deleted, \(Output.grouped(outcome.unchanged)) unchanged.",
            notes: notes
        ) { writer in
            writer.member("saved", Int64(outcome.saved))
            writer.member("deleted", Int64(outcome.deleted))
            writer.member("unchanged", Int64(outcome.unchanged))
            writer.member("conflicts", Int64(outcome.conflicts.count))
            writer.member("encryptedInPublic", Int64(outcome.encryptedInPublic))
            writer.member("problems", values: report.problems) { $0.value("\($1)") }
        }
    }

    private func saySchema(_ mirror: ContainerMirror) async throws {
        let evidence = try await mirror.schemaEvidence()
        let observed = evidence.types.values.count { $0.source == .observed }
        if evidence.isComplete || evidence.types.isEmpty { return }
        Output.note(
            "The copy's schema is partly from records: \(observed) of \(evidence.types.count) types. Fields that no record has are unknown; --schema adds them."
        )
    }
}

// MARK: - Edits sent back

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
        if dryRun, !(keepMine + keepTheirs).isEmpty {
            throw ValidationError("--dry-run changes nothing: remove --keep-mine and --keep-theirs.")
        }
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
                .notPermitted, "\(connection.place) is connected read-only",
                remedy: "Connect it again with --writable to change production")
        }
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .usage, "\(report.items.count) changes would be sent to \(connection.place)",
                remedy: "Add --yes to send them")
        }
        say(report, verb: "to be sent")
        Output.write("Send them to \(connection.place)? [y/N] ")
        guard let answer = readLine()?.lowercased(), ["y", "yes"].contains(answer) else {
            throw CommandFailure(.failed, "Nothing was sent", code: "CANCELLED")
        }
    }

    private func say(_ report: PushReport, verb: String) {
        let conflicts = report.conflicts.map { edit in
            let mine = edit.mine == nil ? "deleted here" : "changed here"
            let theirs = edit.theirs?.record == nil ? "deleted in the origin" : "changed in the origin"
            return "Conflict: '\(edit.recordID.recordName)' was \(mine) and \(theirs). Choose with --keep-mine or "
                + "--keep-theirs."
        }
        let refused = report.refused.sorted { $0.key.recordName < $1.key.recordName }
        let lines = Output.lines(
            table: report.items,
            [
                .init("CHANGE", \.kind.rawValue), .init("DATABASE", \.scope.rawValue),
                .init("ZONE", \.recordID.zoneID.zoneName.string), .init("RECORD", \.recordID.recordName.string),
                .init("FIELDS") { $0.fields.sorted().map(\.string).joined(separator: " ") },
            ])
        origin.store.output.say(
            lines: report.items.isEmpty ? [] : lines,
            notes: ["\(Output.grouped(report.items.count)) \(verb)."] + conflicts
                + refused.map { "Not sent: '\($0.key.recordName)': \($0.value)." }
        ) { write(report, into: &$0) }
    }

    private func write(_ report: PushReport, into writer: inout JSONWriter) {
        writer.member("items", objects: report.items) { writer, item in
            writer.member("act", item.kind.rawValue)
            writer.member("database", item.scope.rawValue)
            writer.member("zoneID") { $0.value(item.recordID.zoneID) }
            writer.member("recordName", item.recordID.recordName)
            if let base = item.base { writer.member("base", base) }
            writer.member("fields", values: item.fields.sorted()) { $0.value($1) }
        }
        writer.member("conflicts", values: report.conflicts) { $0.value($1.recordID.recordName) }
        let refused = report.refused.sorted { $0.key.recordName < $1.key.recordName }
        writer.member("refused", objects: refused) { writer, refused in
            writer.member("recordName", refused.key.recordName)
            writer.member("reason", refused.value)
        }
    }
}

// MARK: - Origin

/// The connected container of a mirror, and the local copy.
struct MirrorOrigin: ParsableArguments {
    @Argument(
        help: "The connected container, such as iCloud.com.example.App.", transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @Option(
        name: .customLong("into"),
        help: ArgumentHelp(
            "The container of the copy. (default: the same with .mirror at its end)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var copy: ContainerID?

    @OptionGroup var store: StoreOptions

    /// Opens the data folder and the connection.
    /// - Throws: `CommandFailure` if the container is not connected, CloudKit does not answer, or a server has the
    ///   folder open.
    func withMirror<Value>(
        _ options: (inout MirrorOptions) throws -> Void = { _ in },
        _ work: (ContainerMirror, ContainerConnection) async throws -> Value
    ) async throws -> Value {
        guard let copy = copy ?? container.mirror else {
            throw CommandFailure(
                .usage, "The name of the container is too long for a copy beside it",
                remedy: "Choose a name with --into")
        }
        return try await store.withStore(isNew: true) { open in
            guard let folder = open as? DataFolder.Store else {
                throw CommandFailure(
                    .tryAgain, "A running server has the data open, and this command needs the folder itself",
                    code: "SERVER_RUNNING",
                    remedy: "Stop the server, or use another folder with --data")
            }
            guard copy != container, folder.accounts.connections(of: copy).isEmpty else {
                throw CommandFailure(
                    .usage, "\(copy) is connected, so the copy needs another name", remedy: "Choose one with --into")
            }
            guard let engine = try folder.containers.connected(container, environment) else {
                throw CommandFailure(
                    .failed, "\(container) is not connected", code: "NOT_FOUND",
                    remedy: "Connect it with skylight connect \(container)")
            }
            let connection = engine.connection
            var settings = MirrorOptions(scopes: connection.reach)
            try options(&settings)
            // A key has no user; its copy belongs to the developer.
            let developer = try await folder.caller(named: nil).userRecordName
            let mirror = ContainerMirror(
                of: engine.client, in: copy, of: folder.local, as: connection.userRecordName ?? developer,
                assets: try await folder.assets.store(copy, environment), options: settings)
            do {
                return try await work(mirror, connection)
            } catch let failure as CloudKitFailure {
                throw CommandFailure(failure, to: container)
            }
        }
    }

    /// Shows the progress while something is done.
    static func showing<Value: Sendable>(_ mirror: ContainerMirror, _ work: @Sendable () async throws -> Value)
        async throws -> Value
    {
        let bar = ProgressBar()
        defer { bar.finish() }
        let progress = mirror.progress
        let watch = Task { for await value in progress { bar.show(value) } }
        defer { watch.cancel() }
        return try await work()
    }
}
