import ArgumentParser
import DataTransfer
import Foundation
import JSON
import Records
import RecordStore

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
        help: ArgumentHelp("Another container. (default: that of the snapshot)", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
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
        if store.json {
            return Output.say { writer in
                writer.member("name", snapshot.name)
                writer.member("container", container.description)
                writer.member("environment", environment.rawValue)
                writer.member("restored", report != nil)
                if let report { writer.members(of: report) }
            }
        }
        Output.say("Added '\(snapshot.name)' to the snapshots of \(place): \(snapshot.words).")
        if let report {
            for line in report.lines(of: snapshot, in: place) { Output.say(line) }
        } else {
            Output.say("Nothing else was changed. 'skylight snapshot compare' and 'skylight snapshot restore' continue.")
        }
    }
}
