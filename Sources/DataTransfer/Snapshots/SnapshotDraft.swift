internal import Foundation
internal import JSON
internal import Records

/// A folder that is being filled. It gets its name when it is complete, so a stop or a full disk leaves no half snapshot.
final class SnapshotDraft: Sendable {
    static let prefix = ".partial-"

    let url: URL

    /// - Parameter folder: the folder of all snapshots of the environment, created if it is missing.
    init(in folder: URL) throws {
        url = folder.appending(path: Self.prefix + UUID().uuidString, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { abandon() }

    /// Removes the folder, if it has no name yet.
    func abandon() {
        // If it can't be removed, a later snapshot does it.
        try? FileManager.default.removeItem(at: url)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = try DraftFile(url.appending(path: name))
        try file.write(bytes)
        try file.finish()
    }

    /// Syncs files that were written without that, and the folder of assets.
    /// - Parameter names: with their paths in the folder.
    func sync(_ names: [String]) async throws {
        let folders = Set(names.compactMap { $0.split(separator: "/").dropLast().first.map(String.init) })
        for name in names + folders { try await AssetFileFolder(url.appending(path: name)).sync() }
    }

    /// Gives the complete folder its name.
    func finish(as final: URL) async throws {
        try await AssetFileFolder(url).sync()
        // A folder with files is never replaced.
        guard rename(url.path(percentEncoded: false), final.path(percentEncoded: false)) == 0 else {
            let number = errno
            throw number == EEXIST || number == ENOTEMPTY
                ? SnapshotError(.exists, "A snapshot has this name already: choose another one, or delete it first")
                : SnapshotError(.unwritable, "'\(final.path(percentEncoded: false))' can't be written: \(String(cString: strerror(number)))")
        }
        try await AssetFileFolder(final.deletingLastPathComponent()).sync()
    }

    /// Exports the databases of an environment into the folder.
    /// - Parameter assets: the folder for the bytes of assets; `nil` to name the files alone.
    func export(_ source: SnapshotSource, assets: AssetFileFolder?, progress: (SnapshotProgress) -> Void) async throws -> Exported {
        var exported = Exported()
        for user in [nil] + source.users.map(Optional.some) {
            let database = try await source.database(of: user)
            let name = user == nil ? Snapshot.publicFile : Snapshot.privateFile(exported.files.count)
            let file = try DraftFile(url.appending(path: name))
            var options = ExportOptions(userHandle: user?.handle)
            options.namesAssets = true
            let exchange = assets.map { AssetExchange(folder: $0, transport: source.transport) }
            let before = exported.records.values.reduce(0, +)
            let report = try await Exporter(database, options: options, assets: exchange).run(
                progress: { progress(SnapshotProgress(phase: .saving, count: before + $0.count, assetBytes: exported.assets.bytes + $0.assetBytes)) },
                write: file.write)
            try file.finish()
            guard let export = try ExportFile(file.url) else { throw SnapshotError(.damaged, "'\(name)' was changed while it was written") }
            if user != nil, report.records == 0, export.header.isEmpty {
                try FileManager.default.removeItem(at: file.url)
                continue
            }
            exported.files.append(name)
            exported.assets += report.assets
            exported.records.merge(report.types, uniquingKeysWith: +)
        }
        return exported
    }

    struct Exported {
        var files: [String] = []
        var records: [Name: Int] = [:]
        var assets = ExportReport.AssetCount()
    }
}
