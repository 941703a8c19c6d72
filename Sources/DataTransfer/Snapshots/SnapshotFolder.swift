public import Foundation
internal import JSON
public import Records
internal import Synchronization

/// The snapshots of a container's environment: `FOLDER/iCloud.com.example.App/snapshots/development`.
public struct SnapshotFolder: Sendable {
    /// Age in seconds of the remains of a process that was killed, from which they are removed.
    private static let remainsLifetime: TimeInterval = 86_400

    let url: URL
    private let container: ContainerID
    private let environment: Records.Environment
    private let drafts = OpenDrafts()

    /// - Parameter data: the data folder.
    public init(in data: URL, _ container: ContainerID, _ environment: Records.Environment) {
        url = data.appending(path: container.description).appending(path: "snapshots").appending(path: environment.rawValue, directoryHint: .isDirectory)
        (self.container, self.environment) = (container, environment)
    }

    // MARK: Reading

    /// All snapshots, the latest first. Damaged folders are left out: ``snapshot(named:)`` says what is wrong.
    public func all() throws -> [Snapshot] {
        let path = url.path(percentEncoded: false)
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: path)
        } catch {
            throw SnapshotError(.damaged, "The snapshots in '\(path)' can't be listed: \(error.localizedDescription)")
        }
        return names.filter { !$0.hasPrefix(".") }.compactMap { try? Snapshot(in: url.appending(path: $0, directoryHint: .isDirectory)) }
            .sorted { $0.saved == $1.saved ? Name($0.name) < Name($1.name) : $0.saved > $1.saved }
    }

    /// - Throws: ``SnapshotError`` if there is no such snapshot, or it can't be read.
    public func snapshot(named text: String) throws -> Snapshot {
        let name = try Snapshot.checkedName(text)
        let folder = place(of: name)
        if FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) { return try Snapshot(in: folder) }
        let known = try all().map { "'\($0.name)'" }
        let first = known.prefix(10).joined(separator: ", ") + (known.count > 10 ? " and \(known.count - 10) more" : "")
        throw SnapshotError(
            .missing, "There is no snapshot '\(name)' of \(container) (\(environment.rawValue)); \(known.isEmpty ? "there are none yet" : "there are \(first)")")
    }

    func place(of name: String) -> URL { url.appending(path: Snapshot.folderName(name), directoryHint: .isDirectory) }

    /// The name, with a number if a snapshot has it already.
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

    /// Saves the present state.
    /// - Parameter requests: the requests of the log to keep with it, as JSON objects; `nil` for none.
    /// - Throws: ``SnapshotError``; `RecordError` if a database refuses to be read. Nothing of the snapshot is left then.
    public func save(
        _ text: String, of source: SnapshotSource, requests: [[UInt8]]? = nil, at now: Timestamp = .now(),
        progress: (SnapshotProgress) -> Void = { _ in }
    ) async throws -> Snapshot {
        let name = try Snapshot.checkedName(text)
        if FileManager.default.fileExists(atPath: place(of: name).path(percentEncoded: false)) {
            throw SnapshotError(.exists, "There is a snapshot '\(name)' already: choose another name, or delete it first")
        }
        return try await filling(name) { draft in
            let exported = try await draft.export(
                source, assets: AssetFileFolder(draft.url.appending(path: Snapshot.assetsFolder, directoryHint: .isDirectory)), progress: progress)
            if let requests { try draft.write(requests.flatMap { $0 + [UInt8(ascii: "\n")] }, to: Snapshot.requestsFile) }
            let snapshot = Snapshot(
                name: name, container: container, environment: environment, saved: now, records: exported.records, assets: exported.assets,
                files: exported.files, requests: requests?.count, url: place(of: name))
            try draft.write(snapshot.manifest, to: Snapshot.manifestFile)
            return snapshot
        }
    }

    /// Fills a folder, and gives it its name when it is complete.
    func filling(_ name: String, _ fill: (SnapshotDraft) async throws -> Snapshot) async throws -> Snapshot {
        do {
            let draft = try draft()
            defer { close(draft) }
            let snapshot = try await fill(draft)
            try await draft.finish(as: snapshot.url)
            return snapshot
        } catch let error as CocoaError {
            throw SnapshotError(.unwritable, "The snapshot '\(name)' can't be saved in '\(url.path(percentEncoded: false))': \(error.words)")
        } catch let error as AssetFileError {
            throw SnapshotError(.unwritable, "The snapshot '\(name)' can't be saved: \(error)")
        }
    }

    /// Deletes a snapshot.
    public func delete(_ snapshot: Snapshot) throws {
        // Renamed first, so that a stop does not leave half of it.
        let doomed = url.appending(path: SnapshotDraft.prefix + UUID().uuidString)
        do {
            try FileManager.default.moveItem(at: snapshot.url, to: doomed)
            try FileManager.default.removeItem(at: doomed)
        } catch {
            throw SnapshotError(.unwritable, "The snapshot '\(snapshot.name)' can't be deleted: \(error.localizedDescription)")
        }
    }

    // MARK: Unfinished folders

    /// A folder for unfinished work. The caller must close it.
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

    /// Errors are harmless: the next snapshot tries again.
    private func removeRemains() {
        let folders = try? FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: [.contentModificationDateKey])
        for folder in folders ?? [] where folder.lastPathComponent.hasPrefix(SnapshotDraft.prefix) {
            guard let changed = try? folder.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate,
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
