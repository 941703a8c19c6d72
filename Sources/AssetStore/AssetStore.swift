internal import Foundation
internal import Logging
public import RecordStore
public import Records
internal import Synchronization

/// The files of one container's environment: named by what they hold, streamed in and out.
///
/// A file comes into being in `incoming`, is synced, gets its name and is entered in the ledger, in this order; it is struck off the ledger
/// before it is removed. So whatever is entered is there, whenever the process is killed or the power fails.
public final class AssetStore: Sendable {
    public let ledger: any AssetLedger
    /// Bytes that an upload may have.
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

    /// What looks at everything, so that a sweep removes nothing while a verification reads it.
    struct Upkeep {
        var verifications = 0
        var isSweeping = false
        /// Whether there can be files that are not entered: until a sweep has looked.
        var mayHaveStrays = true
    }

    /// Opens a store, and removes what a process that was killed left unfinished.
    init(
        folder: URL, ledger: any AssetLedger, sizeLimit: Int64, threads: FileThreads, compressionPause: Duration = .seconds(30),
        clock: @escaping @Sendable () -> Timestamp
    ) async throws {
        let folder = AssetFolder(folder)
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

    /// What is known of a file besides what records say.
    /// - Throws: `RecordError` NOT_FOUND when no such file is stored.
    public func facts(of checksum: FileChecksum) async throws -> AssetFacts {
        guard let entry = try await ledger.entry(of: checksum) else {
            throw RecordError(.notFound, "No asset with the fileChecksum \(checksum) is stored")
        }
        // Opened as a download is, so that what is wrong with the file is told in the same way.
        let ticket = DownloadTicket(checksum: checksum, size: entry.size, expires: Timestamp(milliseconds: .max))
        let file = try await open(ticket, coding: .identity)
        let folder = folder
        let compressed = try await reportingDiskFailures { try await threads.run(.reading) { try folder.compressedStatus(of: checksum) } }
        let size = compressed?.size ?? 0
        return AssetFacts(size: entry.size, compressedSize: size > 0 ? size : nil, type: file.type, useCount: entry.useCount)
    }

    /// Ends what is under way: uploads, whose clients are told to try again later, and what is done in the background. Takes no uploads
    /// any more.
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
