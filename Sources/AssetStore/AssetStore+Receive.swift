internal import Crypto
internal import Foundation
internal import Logging
public import NIOCore
internal import RecordStore
public import Records
internal import Synchronization

extension AssetStore {
    /// The size of a block in bytes. One block is hashed and written while the next one is received.
    private static let blockLength = 512 << 10

    /// Receives an upload as a stream. At the end, the file is synced, named by its
    /// checksum and entered in the ledger. On any earlier error, nothing remains.
    /// - Parameters:
    ///   - ticket: the last path component of the upload URL.
    ///   - fileName: the original file name, if known. It is sanitized here.
    ///   - declaredSize: the expected size of `body` in bytes, if known.
    /// - Returns: the asset to save in the record. Its receipt is valid for an hour.
    /// - Throws: `RecordError` NOT_FOUND for an unknown ticket, ``AssetTicketExpired``, QUOTA_EXCEEDED if
    ///   the file is too large or the disk is full, BAD_REQUEST if the body ends early, INTERNAL_ERROR on a
    ///   disk error, TRY_AGAIN_LATER if the store is closed during the upload; and the errors of `body`.
    public func receive<Body: AsyncSequence & Sendable>(
        _ body: Body, ticket: some StringProtocol, fileName: String?, declaredSize: Int64?
    ) async throws -> Asset where Body.Element == ByteBuffer {
        guard let ticket = try await opened({ $0.openUpload(ticket) }) else {
            throw RecordError(.notFound, "There is no such upload; get an upload URL with assets/upload")
        }
        guard clock() < ticket.expires else { throw AssetTicketExpired.upload }
        if let declaredSize { try checkSize(declaredSize) }
        return try await uploads.run { [self] in
            try await take(body, ticket: ticket, fileName: fileName, declaredSize: declaredSize)
        }
    }

    private func take<Body: AsyncSequence & Sendable>(
        _ body: Body, ticket: UploadTicket, fileName: String?, declaredSize: Int64?
    ) async throws -> Asset where Body.Element == ByteBuffer {
        let incoming = IncomingFile(in: folder)
        do {
            return try await reportingDiskFailures {
                let received = try await gather(body, into: incoming, declaredSize: declaredSize)
                try Task.checkCancellation()
                return try await keep(received, from: incoming, ticket: ticket, fileName: fileName)
            }
        } catch {
            // If the threads have already stopped, this thread discards the file. Blocking is acceptable during shutdown.
            do { try await threads.run(.writing) { incoming.discard() } } catch { incoming.discard() }
            throw error
        }
    }

    private func checkSize(_ size: Int64) throws(RecordError) {
        guard size <= sizeLimit else {
            throw RecordError(.quotaExceeded, "The asset is larger than \(sizeLimit) bytes, the limit of this server (--asset-size-limit)")
        }
    }

    /// Receives the body. Hashes and writes one block while it receives the next, so that at most two blocks are in memory.
    private func gather<Body: AsyncSequence & Sendable>(
        _ body: Body, into incoming: IncomingFile, declaredSize: Int64?
    ) async throws -> IncomingFile.Received where Body.Element == ByteBuffer {
        let threads = threads
        return try await withThrowingTaskGroup(of: ByteBuffer.self) { group in
            var size: Int64 = 0
            var block = ByteBuffer()
            var isWriting = false
            for try await part in body {
                size += Int64(part.readableBytes)
                try checkSize(size)
                var part = part
                block.writeBuffer(&part)
                if block.readableBytes < Self.blockLength { continue }
                // Reuses the buffer of the previous block.
                var next = isWriting ? try await group.next() ?? ByteBuffer() : ByteBuffer()
                next.clear()
                let full = block
                block = next
                group.addTask {
                    try await threads.run(.writing) { try incoming.append(full) }
                    return full
                }
                isWriting = true
            }
            if let declaredSize, declaredSize != size {
                throw RecordError(.badRequest, "The upload ended early, after \(size) of \(declaredSize) bytes; send the file again")
            }
            _ = try await group.next()
            let last = block
            return try await threads.run(.writing) {
                try incoming.append(last)
                return try incoming.finish()
            }
        }
    }

    private func keep(
        _ received: IncomingFile.Received, from incoming: IncomingFile, ticket: UploadTicket, fileName: String?
    ) async throws -> Asset {
        let (ledger, checksum) = (ledger, received.checksum)
        let hold = await holds.hold(checksum)
        let lock = try await lockForUpload(of: checksum)
        defer { lock?.unlock() }
        let expires = Timestamp(milliseconds: clock().milliseconds + AssetTickets.receiptLifetime)
        do {
            if try await threads.run(.writing, { try incoming.place(as: received) }) { known.forget(checksum) }
            // Runs in its own task, because a cancelled task would not report whether the entry was made.
            try await Task { try await ledger.enter(checksum, size: received.size, inUseUntil: expires) }.value
        } catch {
            lock?.unlock()
            await forget(hold, after: error)
            throw error
        }
        hold.release()
        known.note(received.type, of: checksum)
        compressor.offer(checksum, size: received.size, type: received.type)
        let receipt = AssetReceipt(for: ticket, of: checksum, size: received.size, expires: expires)
        let name = fileName.flatMap { $0.isEmpty ? nil : AssetFileName.safe($0) }
        return Asset(
            fileChecksum: checksum.description, size: received.size, referenceChecksum: Self.mark("reference", of: checksum),
            wrappingKey: Self.mark("key", of: checksum), receipt: ledger.tickets.seal(receipt), fileName: name)
    }

    /// Removes a file that could not be entered, unless it is in use elsewhere.
    private func forget(_ hold: FileHold, after error: any Error) async {
        let (folder, checksum) = (folder, hold.checksum)
        defer { hold.release() }
        upkeep.withLock { $0.mayHaveStrays = true }
        // After a failure of the store, it is unknown whether its last commit is durable. A later sweep decides.
        if let error = error as? RecordError, error.code == .internalError { return }
        guard hold.turnIntoRemoval() else { return }
        defer { holds.endRemoval(checksum) }
        do {
            // Another process may be about to enter the same file. A later sweep decides.
            let locks = try await threads.run(.writing) { RemovalLocks(for: [checksum], in: folder) }
            defer { locks.release() }
            guard locks.covers(checksum) else { return }
            if try await ledger.entry(of: checksum) != nil { return }
            try await threads.run(.writing) { try folder.remove(checksum) }
        } catch {
            logger.warning("\(checksum), which could not be recorded, will be swept: \(error)")
        }
    }

    /// An opaque value that CloudKit clients return with the record. Skylight does not wrap keys. Equal bytes give equal values.
    private static func mark(_ purpose: String, of checksum: FileChecksum) -> String {
        var hash = SHA256()
        hash.update(data: Array(purpose.utf8))
        hash.update(data: checksum.bytes)
        return Data(hash.finalize().prefix(16)).base64EncodedString()
    }
}
