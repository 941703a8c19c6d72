internal import Foundation
public import RecordStore
internal import Records

extension AssetStore {
    /// Opens a file for reading. Does not access the database unless the file is missing.
    /// - Parameter coding: `gzip` for the compressed form, if it exists or can be created quickly; otherwise the uncompressed file is opened.
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

    private func find(_ ticket: DownloadTicket, held hold: FileHold, coding: AssetFile.Coding) async throws -> AssetFile {
        let (folder, known) = (folder, known)
        if !threads.isStopped, let file = Self.openAtHand(ticket, in: folder, held: hold, coding: coding, known: known) { return file }
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
            .internalError, "The asset's file is missing or was changed on the server's disk; run `skylight assets verify` to find the damaged files")
    }

    /// Opens a file without blocking, if its properties are known and its metadata is
    /// cached. This avoids the switch to a blocking thread, which would take longer.
    ///
    /// - Returns: `nil` on any failure. The caller then opens the file on a blocking thread, which reports the error.
    private static func openAtHand(
        _ ticket: DownloadTicket, in folder: AssetFolder, held hold: FileHold, coding: AssetFile.Coding, known: KnownFiles
    ) -> AssetFile? {
        let facts = known.facts(of: ticket.checksum)
        guard let type = facts.type, coding == .identity || facts.compressedForm == .notWorthIt || !type.isCompressible,
            let file = DiskFile(readingAtHand: folder.path(of: ticket.checksum)), let status = try? file.status(), status.size == ticket.size
        else { return nil }
        return AssetFile(
            file, held: hold, coding: .identity, size: status.size, identitySize: status.size, modified: status.modified / 1000, type: type)
    }

    /// - Returns: `nil` if the file has a wrong size.
    private static func open(
        _ ticket: DownloadTicket, in folder: AssetFolder, held hold: FileHold, coding: AssetFile.Coding, known: KnownFiles
    ) throws -> AssetFile? {
        let facts = known.facts(of: ticket.checksum)
        if coding == .gzip, let type = facts.type, facts.compressedForm == .kept {
            guard let status = try folder.status(of: ticket.checksum), status.size == ticket.size else { return nil }
            if let file = try compressedForm(of: ticket, in: folder, held: hold, modified: status.modified, type: type, known: known) { return file }
        }
        let file = try DiskFile(reading: folder.path(of: ticket.checksum))
        let status = try file.status()
        guard status.size == ticket.size else { return nil }
        let type = try facts.type ?? AssetType(beginningOf: file, size: status.size)
        if facts.type == nil { known.note(type, of: ticket.checksum) }
        if coding == .gzip, facts.compressedForm == nil, type.isCompressible {
            if let file = try compressedForm(of: ticket, in: folder, held: hold, modified: status.modified, type: type, known: known) { return file }
        }
        return AssetFile(
            file, held: hold, coding: .identity, size: status.size, identitySize: status.size, modified: status.modified / 1000, type: type)
    }

    /// - Returns: `nil` if there is no compressed form, or it is incomplete.
    private static func compressedForm(
        of ticket: DownloadTicket, in folder: AssetFolder, held hold: FileHold, modified: Int64, type: AssetType, known: KnownFiles
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
            guard try GzipTrailer(of: file, size: size)?.length == UInt32(truncatingIfNeeded: ticket.size) else { return nil }
            known.note(.kept, of: ticket.checksum)
        }
        return AssetFile(file, held: hold, coding: .gzip, size: size, identitySize: ticket.size, modified: modified / 1000, type: type)
    }
}
