import Accounts
import ArgumentParser
import DataTransfer
import Foundation
import RecordStore
import Records
import UnixSignals

struct SnapshotSaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save",
        abstract: "Save the present state of an environment under a name.",
        discussion: """
            Saves the public database and the private ones of all users, with schema, zones, shares, subscriptions, key-value stores and the bytes of \
            assets, in the folder snapshots of the container. A snapshot is written completely or not at all. A record that is saved meanwhile may be \
            in it or not.

            Example:
              skylight snapshot save 'Before the migration' \\
                --container iCloud.com.example.App
            """)

    @Argument(help: "The name: 1 to 100 characters.")
    var name: String

    @OptionGroup var options: SnapshotOptions

    func run() async throws {
        let folder = try options.folder()
        let name = try Snapshot.checkedName(name)
        let watch = folder.abandonedAtSignals()
        defer { watch.cancel() }
        let snapshot = try await options.store.withStore(isNew: false) { store in
            try await store.checkExists(options.container, options.environment)
            let bar = ProgressBar()
            defer { bar.finish() }
            return try await folder.save(name, of: store.snapshotSource(options.container, options.environment)) {
                bar.show($0)
            }
        }
        options.store.output.say("Saved '\(snapshot.name)' of \(options.place): \(snapshot.words).") {
            $0.members(of: snapshot)
        }
    }
}

extension CommandData {
    /// - Throws: `CommandFailure` if the container or its environment does not exist.
    func checkExists(_ container: ContainerID, _ environment: Environment) async throws {
        try await checkExists(container)
        if try await engine.has(container, environment) { return }
        throw CommandFailure(.failed, "\(container) has no \(environment.rawValue) environment yet", code: "NOT_FOUND")
    }
}

extension Snapshot {
    /// `1,204 records of 3 users, 12 assets with 4.1 MB`
    var words: String {
        let records = "\(Output.grouped(recordCount)) record\(recordCount == 1 ? "" : "s")"
        let users = userCount == 0 ? "" : " of \(Output.grouped(userCount)) user\(userCount == 1 ? "" : "s")"
        if assets.references == 0 { return records + users }
        return
            "\(records)\(users), \(Output.grouped(assets.references)) asset\(assets.references == 1 ? "" : "s") with \(ByteCount(assets.bytes))"
    }
}

extension JSONWriter {
    mutating func members(of snapshot: Snapshot) {
        member("name", snapshot.name)
        member("container", snapshot.container.description)
        member("environment", snapshot.environment.rawValue)
        member("saved", snapshot.saved.milliseconds)
        member("records", Int64(snapshot.recordCount))
        member("types", counts: snapshot.records)
        member("users", Int64(snapshot.userCount))
        member("assets", Int64(snapshot.assets.references))
        member("assetBytes", snapshot.assets.bytes)
        if let requests = snapshot.requests { member("requests", Int64(requests)) }
        member("folder", snapshot.url.path(percentEncoded: false))
    }
}

struct SnapshotListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the snapshots of an environment, the latest first.",
        discussion: """
            Example:
              skylight snapshot list --container iCloud.com.example.App
            """)

    @OptionGroup var options: SnapshotOptions

    func run() throws {
        let snapshots = try options.folder().all()
        options.store.output.say(
            list: "snapshots", snapshots,
            none: "There are no snapshots of \(options.place). 'skylight snapshot save NAME' saves one.",
            [
                .init("saved (UTC)") { Output.moment($0.saved) }, .init("records") { Output.grouped($0.recordCount) },
                .init("users") { Output.grouped($0.userCount) }, .init("name", \.name),
            ]
        ) { writer, snapshot in writer.object { $0.members(of: snapshot) } }
    }
}

struct SnapshotDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a snapshot.",
        discussion: """
            The records of the environment stay.

            Example:
              skylight snapshot delete 'Before the migration' \\
                --container iCloud.com.example.App --yes
            """)

    @Argument(help: "The snapshot.")
    var name: String

    @Flag(help: "Confirm it. A deleted snapshot can't be restored.")
    var yes = false

    @OptionGroup var options: SnapshotOptions

    func run() throws {
        let folder = try options.folder()
        let snapshot = try folder.snapshot(named: name)
        guard yes else {
            throw CommandFailure.confirmationNeeded(
                "The snapshot '\(snapshot.name)' of \(options.place) would be deleted: \(snapshot.words)")
        }
        try folder.delete(snapshot)
        options.store.output.say("Deleted '\(snapshot.name)' of \(options.place).") {
            $0.member("deleted", snapshot.name)
        }
    }
}

// MARK: - Files

struct SnapshotExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write a snapshot as one file, to share it.",
        discussion: """
            The file is a tar archive of the snapshot's folder: exports of the databases, with schema and records, and the bytes of assets. It has the data \
            of all users. Another Skylight opens it with skylight snapshot import, or on its start page.

            Example:
              skylight snapshot export 'Failing sync' \\
                --container iCloud.com.example.App --output failing.skylight.tar
            """)

    @Argument(help: "The snapshot.")
    var name: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"))
    var output: String?

    @OptionGroup var options: SnapshotOptions

    func run() async throws {
        let archive = try SnapshotArchive(options.folder().snapshot(named: name))
        let file = if let output { try OutputFile(output) } else { OutputFile.standardOutput }
        let watch = output == nil ? nil : file.abandonedAtSignals()
        defer { watch?.cancel() }
        do {
            try await archive.write { try file.write($0) }
        } catch {
            file.abandon()
            throw error
        }
        try file.finish()
        guard let output else { return }
        let note = "Wrote '\(name)' into \(output): \(ByteCount(archive.size))."
        options.store.output.say(lines: [], notes: [note]) { writer in
            writer.member("file", output)
            writer.member("bytes", archive.size)
        }
    }
}

struct SnapshotImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Open a snapshot that somebody shared.",
        discussion: """
            Adds it to the snapshots of its container and environment, or to those that the options name. If that environment does not exist, it is created \
            and gets the state of the snapshot at once. Otherwise nothing of it changes: compare or restore the snapshot.

            Examples:
              skylight snapshot import failing.skylight.tar
              skylight snapshot import failing.skylight.tar \\
                --container iCloud.com.example.Copy
            """)

    @Argument(help: "The file, from skylight snapshot export or from the console.")
    var file: String

    @Option(
        help: ArgumentHelp("Another container. (default: that of the snapshot)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "The other environment. (default: that of the snapshot)")
    var environment: Environment?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let url = URL(filePath: file)
        let origin = try SnapshotArchive.describe(url)
        let (container, environment) = (container ?? origin.container, environment ?? origin.environment)
        let folder = try store.snapshotFolder(of: container, environment)
        let watch = folder.abandonedAtSignals()
        defer { watch.cancel() }
        let place = "\(container) (\(environment.rawValue))"
        let (snapshot, report) = try await store.withStore(isNew: true) { store -> (Snapshot, SnapshotRestoreReport?) in
            let isNew = try await !store.engine.has(container, environment)
            let source = try await store.snapshotSource(container, environment)
            let snapshot = try await folder.add(url)
            if !isNew { return (snapshot, nil) }
            let bar = ProgressBar()
            defer { bar.finish() }
            return (snapshot, try await SnapshotRestorer(snapshot, in: folder, into: source).run { bar.show($0) })
        }
        let rest =
            report?.lines(of: snapshot, in: place)
            ?? ["Nothing else was changed. 'skylight snapshot compare' and 'skylight snapshot restore' continue."]
        store.output.say(
            lines: ["Added '\(snapshot.name)' to the snapshots of \(place): \(snapshot.words)."] + rest
        ) { writer in
            writer.member("name", snapshot.name)
            writer.member("container", container.description)
            writer.member("environment", environment.rawValue)
            writer.member("restored", report != nil)
            if let report { writer.members(of: report) }
        }
    }
}

// MARK: - Options

/// The options of the commands for snapshots: the environment, and the data folder that has its snapshots.
struct SnapshotOptions: ParsableArguments {
    @OptionGroup var target: EnvironmentOptions

    @OptionGroup var store: StoreOptions

    /// The snapshots of the environment.
    /// - Throws: `CommandFailure` for a server whose data folder is unknown.
    func folder() throws -> SnapshotFolder {
        try store.snapshotFolder(of: container, environment)
    }

    var container: ContainerID { target.container }
    var environment: Environment { target.environment }
    /// The container and the environment in words.
    var place: String { target.place }
}

extension StoreOptions {
    /// The snapshots of an environment, in the data folder.
    /// - Throws: `CommandFailure` for a server whose data folder is unknown.
    func snapshotFolder(of container: ContainerID, _ environment: Environment) throws -> SnapshotFolder {
        if try namesServer {
            throw CommandFailure(
                .usage, "Snapshots are in the data folder, and a server's address does not tell its folder",
                remedy: "Replace --url and SKYLIGHT_URL by --data: the server of the folder is found by itself")
        }
        return SnapshotFolder(in: common.dataFolder.url, container, environment)
    }
}

extension CommandData {
    /// An environment whose databases a snapshot saves or restores.
    /// - Throws: `CommandFailure` for a container in iCloud.
    func snapshotSource(_ container: ContainerID, _ environment: Environment) async throws -> SnapshotSource {
        if try await accounts.connections().contains(where: { $0.container == container }) {
            throw CommandFailure(
                .failed, "\(container) is in iCloud, and snapshots are of containers on this machine",
                code: "BAD_REQUEST",
                remedy: "Copy it with skylight mirror, then save a snapshot of the mirror")
        }
        var users: [ExportHeader.User] = []
        for (user, _) in try await accounts.seenUsers() where !user.isServerKey {
            // A running server does not tell which users it knows. Then a database without anything says it.
            if let known = engine.part(.knowUsers),
                try await !known.knows(user.userRecordName, in: container, environment)
            {
                continue
            }
            users.append(ExportHeader.User(userRecordName: user.userRecordName, handle: user.handle))
        }
        let production =
            environment == .development
            ? try await schema(of: .production, in: SchemaAccess(container: container)) : .initial
        return SnapshotSource(
            container, environment, users: users, transport: try await assets(container, environment).transport(),
            production: production
        ) { scope, user in
            let address = DatabaseAddress(container: container, environment: environment, scope: scope)
            return try await database(address, as: user.map { $0.handle ?? $0.userRecordName.string })
        }
    }
}

extension SnapshotFolder {
    /// Removes unfinished folders when a signal ends the process. Works until the task is cancelled.
    func abandonedAtSignals() -> Task<Void, Never> {
        Task {
            for await asked in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                abandon()
                _exit(128 + asked.rawValue)
            }
        }
    }
}

extension ProgressBar {
    func show(_ progress: SnapshotProgress) {
        let verb =
            switch progress.phase {
            case .saving: "Saving"
            case .comparing: "Comparing"
            case .restoring: "Restoring"
            case .deleting: "Deleting"
            case .checking: "Checking"
            }
        show(verb, fraction: nil, count: progress.count, "records", andBytes: progress.assetBytes)
    }
}
