public import Foundation
internal import TestDisk

/// A folder that is removed with its last reference.
public final class TemporaryFolder: Sendable {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.appending(
            path: "skylight-tests-\(UUID().uuidString)", directoryHint: .isDirectory)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    public func write(_ text: String, to name: String) throws -> URL {
        try write(Array(text.utf8), to: name)
    }

    public func write(_ bytes: [UInt8], to name: String) throws -> URL {
        let file = url.appending(path: name)
        try Data(bytes).write(to: file)
        return file
    }
}

/// A folder whose disk calls are counted, recorded and made to fail: the Swift interface of TestDisk.
public final class WatchedFolder: Sendable {
    public struct Calls: OptionSet, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: Int32

        public init(rawValue: Int32) { self.rawValue = rawValue }
        private init(_ kind: Int) { rawValue = Int32(kind) }

        public static let opens = Calls(disk_opens)
        public static let writes = Calls(disk_writes)
        public static let truncates = Calls(disk_truncates)
        public static let syncs = Calls(disk_syncs)
        public static let removals = Calls(disk_removals)
        public static let renames = Calls(disk_renames)
        public static let newFolders = Calls(disk_new_folders)
        public static let folderSyncs = Calls(disk_folder_syncs)
        public static let reads = Calls(disk_reads)

        public var description: String {
            [
                (Calls.opens, "open"), (.writes, "write"), (.truncates, "truncate"), (.syncs, "sync"),
                (.removals, "unlink"),
                (.renames, "rename"), (.newFolders, "mkdir"), (.folderSyncs, "folder sync"), (.reads, "read"),
            ].filter { contains($0.0) }.map(\.1).joined(separator: "|")
        }
    }

    /// The effects of a crash on unsynced data.
    public enum Manner: Int32, CaseIterable, Sendable {
        case losesAll, keepsAll, losesWrites, tearsWrites, reordersWrites
    }

    /// True if calls can be watched on this system, which requires Linux.
    public static let isPossible: Bool = {
        let watch = disk_watch("/nowhere")
        if watch >= 0 { disk_unwatch(watch) }
        return watch >= 0
    }()

    private let watch: Int32

    /// - Parameters:
    ///   - url: the folder, which need not exist yet.
    ///   - below: true to watch its subfolders too; files are then named by relative paths.
    ///   - syncs: true if syncs reach the real disk. Tests without a power loss are faster without.
    public init(_ url: URL, below: Bool = false, syncs: Bool = false) {
        let path = url.path(percentEncoded: false)
        watch = below ? disk_watch_tree(path) : disk_watch(path)
        if watch >= 0, !syncs { disk_skip_syncs(watch) }
    }

    deinit {
        if watch >= 0 { disk_unwatch(watch) }
    }

    public func count(_ calls: Calls, of suffix: String = "") -> Int { disk_count(watch, calls.rawValue, suffix) }

    /// Makes calls fail: after `skipped` of them, the next `failing` ones, or all if `failing` is `nil`.
    public func fail(
        _ calls: Calls, of suffix: String = "", after skipped: Int = 0, failing: Int? = 1, error: Int32 = EIO
    ) {
        disk_fail(watch, calls.rawValue, suffix, skipped, failing ?? -1, error)
    }

    public func heal() { disk_heal(watch) }
    /// The number of calls that failed on request.
    public var failed: Int { disk_failed(watch) }

    public func shortenWrites() { disk_shorten_writes(watch, 1) }

    public func record() { disk_record(watch) }
    public func forgetSyncs() { disk_forget_syncs(watch, 1) }
    public var events: Int { disk_events(watch) }

    /// Writes the files as a crash may leave them after the given number of events.
    public func makeImage(after events: Int, _ manner: Manner, seed: UInt64, in folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard disk_image(watch, events, manner.rawValue, seed, folder.path(percentEncoded: false)) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}
