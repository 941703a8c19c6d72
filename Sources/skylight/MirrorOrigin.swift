import Accounts
import ArgumentParser
import AssetStore
import CloudKitClient
import CloudKitRecordStore
import Foundation
import JSON
import Mirroring
import Records
import RecordStore

/// The connected container of a mirror, and the local copy.
struct MirrorOrigin: ParsableArguments {
    @Argument(help: "The connected container, such as iCloud.com.example.App.", transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @Option(
        name: .customLong("into"), help: ArgumentHelp("The container of the copy. (default: the same with .mirror at its end)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var copy: ContainerID?

    @OptionGroup var store: StoreOptions

    /// Opens the data folder and the connection.
    /// - Throws: `CommandFailure` if the container is not connected, CloudKit does not answer, or a server has the folder open.
    func withMirror<Value>(
        _ options: (inout MirrorOptions) throws -> Void = { _ in }, _ work: (ContainerMirror, ContainerConnection) async throws -> Value
    ) async throws -> Value {
        guard let copy = copy ?? container.mirror else {
            throw CommandFailure(.usage, "The name of the container is too long for a copy beside it", remedy: "Choose a name with --into")
        }
        return try await store.withStore(isNew: true) { open in
            guard let folder = open as? DataFolder.Store else {
                throw CommandFailure(
                    .tryAgain, "A running server has the data open, and this command needs the folder itself", code: "SERVER_RUNNING",
                    remedy: "Stop the server, or use another folder with --data")
            }
            guard copy != container, folder.accounts.connections(of: copy).isEmpty else {
                throw CommandFailure(.usage, "\(copy) is connected, so the copy needs another name", remedy: "Choose one with --into")
            }
            guard let engine = try folder.containers.connected(container, environment) else {
                throw CommandFailure(
                    .failed, "\(container) is not connected", code: "NOT_FOUND", remedy: "Connect it with skylight connect \(container)")
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
    static func showing<Value: Sendable>(_ mirror: ContainerMirror, _ work: @Sendable () async throws -> Value) async throws -> Value {
        let bar = ProgressBar()
        defer { bar.finish() }
        let progress = mirror.progress
        let watch = Task { for await value in progress { bar.show(value) } }
        defer { watch.cancel() }
        return try await work()
    }
}
