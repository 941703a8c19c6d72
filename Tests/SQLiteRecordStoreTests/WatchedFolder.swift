import Foundation
import TestDisk

/// A folder whose files' calls are counted, recorded and spoiled: Swift's side of TestDisk.
final class WatchedFolder: Sendable {
    struct Calls: OptionSet, Hashable, CustomStringConvertible {
        let rawValue: Int32

        init(rawValue: Int32) { self.rawValue = rawValue }
        private init(_ kind: Int) { rawValue = Int32(kind) }

        static let opens = Calls(disk_opens)
        static let writes = Calls(disk_writes)
        static let truncates = Calls(disk_truncates)
        static let syncs = Calls(disk_syncs)
        static let removals = Calls(disk_removals)

        var description: String {
            [(Calls.opens, "open"), (.writes, "write"), (.truncates, "truncate"), (.syncs, "sync"), (.removals, "unlink")]
                .filter { contains($0.0) }.map(\.1).joined(separator: "|")
        }
    }

    /// What a crash leaves of what was not synced.
    enum Manner: Int32, CaseIterable {
        case losesAll, keepsAll, losesWrites, tearsWrites, reordersWrites
    }

    /// Whether calls can be watched on this system: on Linux.
    static let isPossible: Bool = {
        let watch = disk_watch("/nowhere")
        if watch >= 0 { disk_unwatch(watch) }
        return watch >= 0
    }()

    private let watch: Int32

    /// - Parameters:
    ///   - url: the folder, which need not be there yet.
    ///   - syncs: whether syncs reach the real disk. Tests that pull no plug are faster without.
    init(_ url: URL, syncs: Bool = false) {
        watch = disk_watch(url.path(percentEncoded: false))
        if watch >= 0, !syncs { disk_skip_syncs(watch) }
    }

    deinit {
        if watch >= 0 { disk_unwatch(watch) }
    }

    func count(_ calls: Calls, of suffix: String = "") -> Int { disk_count(watch, calls.rawValue, suffix) }

    /// Makes calls fail: after `skipped` of them, `failing` ones, or all from then on.
    func fail(_ calls: Calls, of suffix: String = "", after skipped: Int = 0, failing: Int? = 1, error: Int32 = EIO) {
        disk_fail(watch, calls.rawValue, suffix, skipped, failing ?? -1, error)
    }

    func heal() { disk_heal(watch) }
    /// Calls that failed since they were asked to.
    var failed: Int { disk_failed(watch) }

    func shortenWrites() { disk_shorten_writes(watch, 1) }

    func record() { disk_record(watch) }
    func forgetSyncs() { disk_forget_syncs(watch, 1) }
    var events: Int { disk_events(watch) }

    /// Writes the files as a crash may leave them after so many events.
    func makeImage(after events: Int, _ manner: Manner, seed: UInt64, in folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        guard disk_image(watch, events, manner.rawValue, seed, folder.path(percentEncoded: false)) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}
