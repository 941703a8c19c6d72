import Accounts
import ArgumentParser
import DataTransfer
import Foundation
import JSON
import Records
import RecordStore
import UnixSignals

/// The options of the commands for snapshots: the environment, and the data folder that has its snapshots.
struct SnapshotOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @OptionGroup var store: StoreOptions

    /// The snapshots of the environment.
    /// - Throws: `CommandFailure` for a server whose data folder is unknown.
    func folder() throws -> SnapshotFolder {
        try folder(of: container, environment)
    }

    func folder(of container: ContainerID, _ environment: Environment) throws -> SnapshotFolder {
        try store.snapshotFolder(of: container, environment)
    }

    /// The container and the environment in words.
    var place: String { "\(container) (\(environment.rawValue))" }
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

extension OpenStore {
    /// An environment whose databases a snapshot saves or restores.
    /// - Throws: `CommandFailure` for a container in iCloud.
    func snapshotSource(_ container: ContainerID, _ environment: Environment) async throws -> SnapshotSource {
        if try await accounts.connections().contains(where: { $0.container == container }) {
            throw CommandFailure(
                .failed, "\(container) is in iCloud, and snapshots are of containers on this machine", code: "BAD_REQUEST",
                remedy: "Copy it with skylight mirror, then save a snapshot of the mirror")
        }
        var users: [ExportHeader.User] = []
        for (user, _) in try await accounts.seenUsers() where !user.isServerKey {
            // A running server does not tell which users it knows. Then a database without anything says it.
            if engine.can(.knowUsers), try await !engine.knows(user.userRecordName, in: container, environment) { continue }
            users.append(ExportHeader.User(userRecordName: user.userRecordName, handle: user.handle))
        }
        let production = environment == .development ? try await schema(of: .production, in: SchemaPlace(container: container)) : .initial
        return SnapshotSource(container, environment, users: users, transport: try await assets(container, environment).transport(), production: production) { scope, user in
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
