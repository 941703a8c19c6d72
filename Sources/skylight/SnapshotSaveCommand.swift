import ArgumentParser
import DataTransfer
import Foundation
import JSON
import Records
import RecordStore

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
            return try await folder.save(name, of: store.snapshotSource(options.container, options.environment)) { bar.show($0) }
        }
        if options.store.json { return Output.say { $0.members(of: snapshot) } }
        Output.say("Saved '\(snapshot.name)' of \(options.place): \(snapshot.words).")
    }
}

extension OpenStore {
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
        return "\(records)\(users), \(Output.grouped(assets.references)) asset\(assets.references == 1 ? "" : "s") with \(ByteCount(assets.bytes))"
    }
}

extension JSONWriter {
    mutating func members(of snapshot: Snapshot) {
        member("name", snapshot.name)
        member("container", snapshot.container.description)
        member("environment", snapshot.environment.rawValue)
        member("saved", snapshot.saved.milliseconds)
        member("records", Int64(snapshot.recordCount))
        name("types")
        object { writer in for (type, count) in snapshot.records.sorted(by: { $0.key < $1.key }) { writer.member(type, Int64(count)) } }
        member("users", Int64(snapshot.userCount))
        member("assets", Int64(snapshot.assets.references))
        member("assetBytes", snapshot.assets.bytes)
        if let requests = snapshot.requests { member("requests", Int64(requests)) }
        member("folder", snapshot.url.path(percentEncoded: false))
    }
}
