internal import Foundation
internal import Logging
public import NIOCore
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
        folder: URL, ledger: any AssetLedger, sizeLimit: Int64, threads: FileThreads, isShared: Bool = false,
        compressionPause: Duration = .seconds(30),
        clock: @escaping @Sendable () -> Timestamp
    ) async throws {
        let folder = AssetFolder(folder, isShared: isShared)
        self.folder = folder
        self.ledger = ledger
        self.sizeLimit = sizeLimit
        self.threads = threads
        self.clock = clock
        compressor = Compressor(
            folder: folder, holds: holds, known: known, threads: threads, pauseAfterFailure: compressionPause)
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
        let compressed = try await reportingDiskFailures {
            try await threads.run(.reading) { try folder.compressedStatus(of: checksum) }
        }
        let size = compressed?.size ?? 0
        return AssetFacts(
            size: entry.size, compressedSize: size > 0 ? size : nil, type: file.type, useCount: entry.useCount)
    }

    /// Opens a ticket with the known keys, or else with the keys that the store has now: the ticket may come from
    /// another process that has created the container again.
    /// - Parameter open: opens the ticket with given keys; `nil` if that fails.
    /// - Returns: `nil` if neither opens it.
    public func opened<Ticket>(_ open: (AssetTickets) -> Ticket?) async throws -> Ticket? {
        if let ticket = open(ledger.tickets) { return ticket }
        return open(try await ledger.presentTickets())
    }

    /// Withdraws the address of a download. From now on the address answers as if it had expired. Addresses created
    /// later differ from it.
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

// MARK: - Facts

/// The properties of a stored file.
public struct AssetFacts: Sendable, Hashable {
    /// The size in bytes.
    public var size: Int64
    /// The size of the compressed form in bytes; `nil` if there is none.
    public var compressedSize: Int64?
    public var type: AssetType
    /// The number of record fields that refer to it.
    public var useCount: Int
}

// MARK: - Downloads

extension AssetStore {
    /// Opens a file for reading. Does not access the database unless the file is missing.
    /// - Parameter coding: `gzip` for the compressed form, if it exists or can be created quickly; otherwise the
    ///   uncompressed file is opened.
    /// - Throws: ``AssetTicketExpired``; `RecordError` NOT_FOUND if the file was swept, INTERNAL_ERROR
    ///   if it is missing or has a wrong size, TRY_AGAIN_LATER if too many files are open.
    public func open(_ ticket: DownloadTicket, coding: AssetFile.Coding) async throws -> AssetFile {
        guard clock() < ticket.expires, !withdrawn.contains(ticket) else { throw AssetTicketExpired.download }
        let hold = await holds.hold(ticket.checksum)
        return try await reportingDiskFailures {
            var file = try await find(ticket, held: hold, coding: coding)
            guard coding == .gzip, file.coding == .identity else { return file }
            let isThere =
                switch known.facts(of: ticket.checksum).compressedForm {
                // Another download created it since.
                case .kept: true
                case .notWorthIt: false
                case nil: await compressor.demand(ticket.checksum, size: ticket.size, type: file.type)
                }
            if isThere { file = try await find(ticket, held: hold, coding: coding) }
            return file
        }
    }

    private func find(_ ticket: DownloadTicket, held hold: FileHold, coding: AssetFile.Coding) async throws -> AssetFile
    {
        let (folder, known) = (folder, known)
        if !threads.isStopped, let file = Self.openAtHand(ticket, in: folder, held: hold, coding: coding, known: known)
        {
            return file
        }
        let file: AssetFile?
        do {
            file = try await threads.run(.reading) {
                try Self.open(ticket, in: folder, held: hold, coding: coding, known: known)
            }
        } catch let failure as DiskFailure where failure.isMissing {
            file = nil
        }
        if let file { return file }
        // Only the error path reads the database, to find the reason.
        if try await ledger.entry(of: ticket.checksum) == nil {
            throw RecordError(.notFound, "The asset is no longer stored, because no record refers to it")
        }
        throw RecordError(
            .internalError,
            "The asset's file is missing or was changed on the server's disk; run `skylight assets verify` to find the damaged files"
        )
    }

    /// Opens a file without blocking, if its properties are known and its metadata is
    /// cached. This avoids the switch to a blocking thread, which would take longer.
    ///
    /// - Returns: `nil` on any failure. The caller then opens the file on a blocking thread, which reports the error.
    private static func openAtHand(
        _ ticket: DownloadTicket, in folder: AssetFolder, held hold: FileHold, coding: AssetFile.Coding,
        known: KnownFiles
    ) -> AssetFile? {
        let facts = known.facts(of: ticket.checksum)
        guard let type = facts.type, coding == .identity || facts.compressedForm == .notWorthIt || !type.isCompressible,
            let file = DiskFile(readingAtHand: folder.path(of: ticket.checksum)), let status = try? file.status(),
            status.size == ticket.size
        else { return nil }
        return AssetFile(
            file, held: hold, coding: .identity, size: status.size, identitySize: status.size,
            modified: status.modified / 1000, type: type)
    }

    /// - Returns: `nil` if the file has a wrong size.
    private static func open(
        _ ticket: DownloadTicket, in folder: AssetFolder, held hold: FileHold, coding: AssetFile.Coding,
        known: KnownFiles
    ) throws -> AssetFile? {
        let facts = known.facts(of: ticket.checksum)
        if coding == .gzip, let type = facts.type, facts.compressedForm == .kept {
            guard let status = try folder.status(of: ticket.checksum), status.size == ticket.size else { return nil }
            if let file = try compressedForm(
                of: ticket, in: folder, held: hold, modified: status.modified, type: type, known: known)
            {
                return file
            }
        }
        let file = try DiskFile(reading: folder.path(of: ticket.checksum))
        let status = try file.status()
        guard status.size == ticket.size else { return nil }
        let type = try facts.type ?? AssetType(beginningOf: file, size: status.size)
        if facts.type == nil { known.note(type, of: ticket.checksum) }
        if coding == .gzip, facts.compressedForm == nil, type.isCompressible {
            if let file = try compressedForm(
                of: ticket, in: folder, held: hold, modified: status.modified, type: type, known: known)
            {
                return file
            }
        }
        return AssetFile(
            file, held: hold, coding: .identity, size: status.size, identitySize: status.size,
            modified: status.modified / 1000, type: type)
    }

    /// - Returns: `nil` if there is no compressed form, or it is incomplete.
    private static func compressedForm(
        of ticket: DownloadTicket, in folder: AssetFolder, held hold: FileHold, modified: Int64, type: AssetType,
        known: KnownFiles
    ) throws -> AssetFile? {
        let file: DiskFile
        do throws(DiskFailure) {
            file = try DiskFile(reading: folder.compressedPath(of: ticket.checksum))
        } catch {
            guard error.isMissing else { throw error }
            known.note(nil, of: ticket.checksum)
            return nil
        }
        let size = try file.status().size
        if size == 0 {
            known.note(.notWorthIt, of: ticket.checksum)
            return nil
        }
        if known.facts(of: ticket.checksum).compressedForm != .kept {
            // The gzip format ends with the uncompressed length.
            guard try GzipTrailer(of: file, size: size)?.length == UInt32(truncatingIfNeeded: ticket.size) else {
                return nil
            }
            known.note(.kept, of: ticket.checksum)
        }
        return AssetFile(
            file, held: hold, coding: .gzip, size: size, identitySize: ticket.size, modified: modified / 1000,
            type: type)
    }
}

// MARK: - Open files

/// A file that is open for reading. While this object exists, no sweep removes the file. The file is closed on
/// deallocation.
public final class AssetFile: Sendable {
    /// The forms of a stored file.
    public enum Coding: Sendable, Hashable {
        case identity
        /// Compressed in gzip format.
        case gzip
    }

    public let checksum: FileChecksum
    /// The form of this file: identity if no compressed form is available.
    public let coding: Coding
    /// The size of this form, in bytes.
    public let size: Int64
    /// The size of the uncompressed file, in bytes.
    public let identitySize: Int64
    /// The time when it was stored, in seconds since 1970.
    public let modified: Int64
    /// The file type, detected from the content.
    public let type: AssetType
    /// The handle for reading. Do not close it, and do not use it after this object is deallocated.
    public let handle: NIOFileHandle

    private let file: DiskFile
    private let hold: FileHold

    init(
        _ file: DiskFile, held hold: FileHold, coding: Coding, size: Int64, identitySize: Int64, modified: Int64,
        type: AssetType
    ) {
        checksum = hold.checksum
        self.coding = coding
        self.size = size
        self.identitySize = identitySize
        self.modified = modified
        self.type = type
        self.file = file
        self.hold = hold
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: file.descriptor)
    }

    deinit {
        // The `DiskFile` owns the descriptor and closes it.
        // An error means that the handle no longer owns the descriptor.
        _ = try? handle.takeDescriptorOwnership()
    }
}
