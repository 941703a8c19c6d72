internal import Foundation
internal import Logging
public import RecordStore
public import Records
internal import Synchronization

/// The asset files of one container's environment, with content-based names and streaming access.
///
/// A new file is written in `incoming`, synced, renamed and entered in the ledger, in this order. Before a removal,
/// its entry is struck from the ledger. Therefore every entry has its file, even after a crash or a power failure.
/// Processes that share a folder are kept apart by locks on its subfolders and on unfinished files.
public final class AssetStore: Sendable {
    public let ledger: any AssetLedger
    /// The size limit of an upload, in bytes.
    public let sizeLimit: Int64

    let folder: AssetFolder
    let threads: FileThreads
    let clock: @Sendable () -> Timestamp
    let holds = FileHolds()
    let known = KnownFiles()
    let compressor: Compressor
    let logger = Logger(label: "skylight.assets")
    let upkeep = Mutex(Upkeep())
    let uploads = UploadsUnderWay()
    let withdrawn = WithdrawnAddresses()

    /// The state of sweeps and verifications, which exclude each other.
    struct Upkeep {
        var verifications = 0
        var isSweeping = false
        /// True if files without an entry may exist, which is the case until a sweep has checked.
        var mayHaveStrays = true
    }

    /// Opens a store, and removes unfinished files of a process that was killed.
    init(
        folder: URL, ledger: any AssetLedger, sizeLimit: Int64, threads: FileThreads, isShared: Bool = false, compressionPause: Duration = .seconds(30),
        clock: @escaping @Sendable () -> Timestamp
    ) async throws {
        let folder = AssetFolder(folder, isShared: isShared)
        self.folder = folder
        self.ledger = ledger
        self.sizeLimit = sizeLimit
        self.threads = threads
        self.clock = clock
        compressor = Compressor(folder: folder, holds: holds, known: known, threads: threads, pauseAfterFailure: compressionPause)
        try await threads.run(.writing) {
            try folder.check()
            try folder.recover()
        }
    }

    /// The properties of a file.
    /// - Throws: `RecordError` NOT_FOUND if no such file is stored.
    public func facts(of checksum: FileChecksum) async throws -> AssetFacts {
        guard let entry = try await ledger.entry(of: checksum) else {
            throw RecordError(.notFound, "No asset with the fileChecksum \(checksum) is stored")
        }
        // Opens the file like a download, to report errors in the same way.
        let ticket = DownloadTicket(checksum: checksum, size: entry.size, expires: Timestamp(milliseconds: .max))
        let file = try await open(ticket, coding: .identity)
        let folder = folder
        let compressed = try await reportingDiskFailures { try await threads.run(.reading) { try folder.compressedStatus(of: checksum) } }
        let size = compressed?.size ?? 0
        return AssetFacts(size: entry.size, compressedSize: size > 0 ? size : nil, type: file.type, useCount: entry.useCount)
    }

    /// Opens a ticket with the keys that are known, or else with those that the store has now: it may come from another process, which has made the
    /// container anew.
    /// - Returns: `nil` if neither opens it.
    public func opened<Ticket>(_ open: (AssetTickets) -> Ticket?) async throws -> Ticket? {
        if let ticket = open(ledger.tickets) { return ticket }
        return open(try await ledger.presentTickets())
    }

    /// Makes the address of a download gone: from now on it answers as if it had expired. Addresses made later differ from it.
    public func withdraw(_ ticket: DownloadTicket) {
        withdrawn.add(ticket, at: clock())
    }

    /// Ends uploads, whose clients get TRY_AGAIN_LATER, and background work. Refuses new uploads.
    func close() async {
        await uploads.close()
        await compressor.close()
    }

    func reportingDiskFailures<Value>(_ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch let failure as DiskFailure {
            throw failure.recordError
        }
    }
}
