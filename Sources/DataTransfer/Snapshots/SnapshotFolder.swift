public import Foundation
public import Records
internal import Synchronization

/// The snapshots of a container's environment: `FOLDER/iCloud.com.example.App/snapshots/development`.
public struct SnapshotFolder: Sendable {
    /// The age in seconds after which the unfinished folders of a killed process are removed.
    private static let remainsLifetime: TimeInterval = 86_400

    let url: URL
    private let container: ContainerID
    private let environment: Records.Environment
    private let drafts = OpenDrafts()

    /// - Parameter data: the data folder.
    public init(in data: URL, _ container: ContainerID, _ environment: Records.Environment) {
        url = data.appending(path: container.description).appending(path: "snapshots").appending(
            path: environment.rawValue, directoryHint: .isDirectory)
        (self.container, self.environment) = (container, environment)
    }

    // MARK: Reading

    /// All snapshots, the latest first. Damaged folders are omitted: ``snapshot(named:)`` reports the problem.
    public func all() throws -> [Snapshot] {
        let path = url.path(percentEncoded: false)
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw SnapshotError(.damaged, "The snapshots in '\(path)' can't be listed: \(error.localizedDescription)")
        }
        return names.filter { !$0.hasPrefix(".") }.compactMap {
            try? Snapshot(in: url.appending(path: $0, directoryHint: .isDirectory))
        }
        .sorted { $0.saved == $1.saved ? Name($0.name) < Name($1.name) : $0.saved > $1.saved }
    }

    /// - Throws: ``SnapshotError`` if the snapshot does not exist or cannot be read.
    public func snapshot(named text: String) throws -> Snapshot {
        let name = try Snapshot.checkedName(text)
        let folder = place(of: name)
        if FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) {
            return try Snapshot(in: folder)
        }
        let known = try all().map { "'\($0.name)'" }
        let first = known.prefix(10).joined(separator: ", ") + (known.count > 10 ? " and \(known.count - 10) more" : "")
        throw SnapshotError(
            .missing,
            "There is no snapshot '\(name)' of \(container) (\(environment.rawValue)); \(known.isEmpty ? "there are none yet" : "there are \(first)")"
        )
    }

    func place(of name: String) -> URL { url.appending(path: Snapshot.folderName(name), directoryHint: .isDirectory) }

    /// The name, with a number added if a snapshot already has it.
    func freeName(_ name: String) -> String {
        func fitting(_ end: String) -> String { String(name.prefix(Snapshot.nameLimit - end.count)) + end }
        var (free, number) = (fitting(""), 2)
        while FileManager.default.fileExists(atPath: place(of: free).path(percentEncoded: false)) {
            free = fitting(" (\(number))")
            number += 1
        }
        return free
    }

    // MARK: Changing

    /// Saves the current state as a snapshot.
    /// - Parameter requests: the logged requests to save with the snapshot, as JSON objects; `nil` for none.
    /// - Throws: ``SnapshotError``; `RecordError` if a database cannot be read. No snapshot is saved then.
    public func save(
        _ text: String, of source: SnapshotSource, requests: [[UInt8]]? = nil, at now: Timestamp = .now(),
        progress: (SnapshotProgress) -> Void = { _ in }
    ) async throws -> Snapshot {
        let name = try Snapshot.checkedName(text)
        if FileManager.default.fileExists(atPath: place(of: name).path(percentEncoded: false)) {
            throw SnapshotError(
                .exists, "There is a snapshot '\(name)' already: choose another name, or delete it first")
        }
        return try await filling(name) { draft in
            let exported = try await draft.export(
                source,
                assets: AssetFileFolder(draft.url.appending(path: Snapshot.assetsFolder, directoryHint: .isDirectory)),
                progress: progress)
            if let requests {
                try draft.write(requests.flatMap { $0 + [UInt8(ascii: "\n")] }, to: Snapshot.requestsFile)
            }
            let snapshot = Snapshot(
                name: name, container: container, environment: environment, saved: now, records: exported.records,
                assets: exported.assets,
                files: exported.files, requests: requests?.count, url: place(of: name))
            try draft.write(snapshot.manifest, to: Snapshot.manifestFile)
            return snapshot
        }
    }

    /// Fills a folder, and renames it when it is complete.
    func filling(_ name: String, _ fill: (SnapshotDraft) async throws -> Snapshot) async throws -> Snapshot {
        do {
            let draft = try draft()
            defer { close(draft) }
            let snapshot = try await fill(draft)
            try await draft.finish(as: snapshot.url)
            return snapshot
        } catch let error as CocoaError {
            throw SnapshotError(
                .unwritable,
                "The snapshot '\(name)' can't be saved in '\(url.path(percentEncoded: false))': \(error.words)")
        } catch let error as AssetFileError {
            throw SnapshotError(.unwritable, "The snapshot '\(name)' can't be saved: \(error)")
        }
    }

    /// Deletes a snapshot.
    public func delete(_ snapshot: Snapshot) throws {
        // Renamed first, so that an interruption does not leave an incomplete snapshot.
        let removed = url.appending(path: SnapshotDraft.prefix + UUID().uuidString)
        do {
            try FileManager.default.moveItem(at: snapshot.url, to: removed)
            try FileManager.default.removeItem(at: removed)
        } catch {
            throw SnapshotError(
                .unwritable, "The snapshot '\(snapshot.name)' can't be deleted: \(error.localizedDescription)")
        }
    }

    // MARK: Unfinished folders

    /// Creates a folder for unfinished work. The caller must close it.
    func draft() throws -> SnapshotDraft {
        removeRemains()
        let draft = try SnapshotDraft(in: url)
        drafts.open.withLock { $0.append(draft) }
        return draft
    }

    func close(_ draft: SnapshotDraft) {
        drafts.open.withLock { $0.removeAll { $0 === draft } }
        draft.abandon()
    }

    /// Removes unfinished folders before the process ends.
    public func abandon() {
        for draft in drafts.open.withLock({ $0 }) { draft.abandon() }
    }

    /// Removes old unfinished folders. Errors are harmless, because the next snapshot tries again.
    private func removeRemains() {
        let folders = try? FileManager.default.contentsOfDirectory(
            at: url, includingPropertiesForKeys: [.contentModificationDateKey])
        for folder in folders ?? [] where folder.lastPathComponent.hasPrefix(SnapshotDraft.prefix) {
            guard
                let changed = try? folder.resourceValues(forKeys: [.contentModificationDateKey])
                    .contentModificationDate,
                -changed.timeIntervalSinceNow > Self.remainsLifetime
            else { continue }
            try? FileManager.default.removeItem(at: folder)
        }
    }
}

/// The folders that this process is filling.
private final class OpenDrafts: Sendable {
    let open = Mutex<[SnapshotDraft]>([])
}

// MARK: - Drafts

/// A folder that is being filled. It gets its name when it is complete, so that an interruption or a full disk leaves
/// no incomplete snapshot.
final class SnapshotDraft: Sendable {
    static let prefix = ".partial-"

    let url: URL

    /// - Parameter folder: the folder of all snapshots of the environment. It is created if it is missing.
    init(in folder: URL) throws {
        url = folder.appending(path: Self.prefix + UUID().uuidString, directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { abandon() }

    /// Removes the folder, unless it already has its name.
    func abandon() {
        // If the folder cannot be removed, a later snapshot removes it.
        try? FileManager.default.removeItem(at: url)
    }

    func write(_ bytes: [UInt8], to name: String) throws {
        let file = try DraftFile(url.appending(path: name))
        try file.write(bytes)
        try file.finish()
    }

    /// Syncs files that were written without syncing, and the folder of assets.
    /// - Parameter names: the paths of the files in the folder.
    func sync(_ names: [String]) async throws {
        let folders = Set(names.compactMap { $0.split(separator: "/").dropLast().first.map(String.init) })
        for name in names + folders { try await AssetFileFolder(url.appending(path: name)).sync() }
    }

    /// Renames the complete folder.
    func finish(as final: URL) async throws {
        try await AssetFileFolder(url).sync()
        // A folder with files is never replaced.
        guard rename(url.path(percentEncoded: false), final.path(percentEncoded: false)) == 0 else {
            let number = errno
            throw number == EEXIST || number == ENOTEMPTY
                ? SnapshotError(.exists, "A snapshot has this name already: choose another one, or delete it first")
                : SnapshotError(
                    .unwritable,
                    "'\(final.path(percentEncoded: false))' can't be written: \(String(cString: strerror(number)))")
        }
        try await AssetFileFolder(final.deletingLastPathComponent()).sync()
    }

    /// Exports the databases of an environment into the folder.
    /// - Parameter assets: the folder for the asset files; `nil` to only list the files in the records.
    func export(_ source: SnapshotSource, assets: AssetFileFolder?, progress: (SnapshotProgress) -> Void) async throws
        -> Exported
    {
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
                progress: {
                    progress(
                        SnapshotProgress(
                            phase: .saving, count: before + $0.count, assetBytes: exported.assets.bytes + $0.assetBytes)
                    )
                },
                write: file.write)
            try file.finish()
            guard let export = try ExportFile(file.url) else {
                throw SnapshotError(.damaged, "'\(name)' was changed while it was written")
            }
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

/// A file in an unfinished folder.
final class DraftFile {
    let url: URL
    private let handle: FileHandle

    init(_ url: URL) throws {
        self.url = url
        let descriptor = open(url.path(percentEncoded: false), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            throw SnapshotError(
                .unwritable,
                "'\(url.path(percentEncoded: false))' can't be written: \(String(cString: strerror(errno)))")
        }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ bytes: [UInt8]) throws {
        do { try handle.write(contentsOf: Data(bytes)) } catch { throw failure(error) }
    }

    /// Syncs and closes the file.
    func finish() throws {
        do { try handle.synchronize() } catch { throw failure(error) }
        try close()
    }

    /// Closes the file without syncing it. A power failure may destroy it.
    func close() throws {
        do { try handle.close() } catch { throw failure(error) }
    }

    private func failure(_ error: any Error) -> SnapshotError {
        SnapshotError(
            .unwritable, "'\(url.path(percentEncoded: false))' can't be written: \(error.localizedDescription)")
    }
}
