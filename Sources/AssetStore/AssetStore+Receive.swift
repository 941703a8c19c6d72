internal import Crypto
internal import Foundation
internal import Logging
public import NIOCore
internal import RecordStore
public import Records
internal import Synchronization

extension AssetStore {
    /// Bytes that are gathered before they are hashed and written, while the next ones come in.
    private static let blockLength = 512 << 10

    /// Streams an upload in, until it is synced, named by its checksum and entered in the ledger. Whatever goes wrong before leaves nothing.
    /// - Parameters:
    ///   - ticket: the last part of the upload's URL.
    ///   - fileName: what the file was called, if the upload says so; made safe here.
    ///   - declaredSize: bytes that `body` is to have, if that is known.
    /// - Returns: what the client puts into the record, with its receipt, good for an hour.
    /// - Throws: `RecordError` NOT_FOUND for a ticket that was not given out here, ``AssetTicketExpired``, QUOTA_EXCEEDED when the file is too
    ///   large or the disk is full, BAD_REQUEST when the body ends early, INTERNAL_ERROR when the disk fails,
    ///   TRY_AGAIN_LATER when the store is closed meanwhile; and what `body` throws.
    public func receive<Body: AsyncSequence & Sendable>(
        _ body: Body, ticket: some StringProtocol, fileName: String?, declaredSize: Int64?
    ) async throws -> Asset where Body.Element == ByteBuffer {
        guard let ticket = ledger.tickets.openUpload(ticket) else {
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
            // Also when the threads are stopped already: then it is done here, so late that nobody minds.
            do { try await threads.run(.writing) { incoming.discard() } } catch { incoming.discard() }
            throw error
        }
    }

    private func checkSize(_ size: Int64) throws(RecordError) {
        guard size <= sizeLimit else {
            throw RecordError(.quotaExceeded, "The asset has more than \(sizeLimit) bytes, which is the limit of this server (--asset-size-limit)")
        }
    }

    /// Takes the body in: while one block is hashed and written, the next one is gathered, and no more is asked for than that.
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
                // The block that was written before is filled anew.
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
                throw RecordError(.badRequest, "The upload broke off: \(size) bytes came of \(declaredSize); send the file again")
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
        let expires = Timestamp(milliseconds: clock().milliseconds + AssetTickets.receiptLifetime)
        do {
            if try await threads.run(.writing, { try incoming.place(as: received) }) { known.forget(checksum) }
            // In a task of its own: one that was cancelled half-way would not say whether the file is entered.
            try await Task { try await ledger.enter(checksum, size: received.size, inUseUntil: expires) }.value
        } catch {
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

    /// Removes a file that could not be entered, unless somebody else has use for it.
    private func forget(_ hold: FileHold, after error: any Error) async {
        let (folder, checksum) = (folder, hold.checksum)
        defer { hold.release() }
        upkeep.withLock { $0.mayHaveStrays = true }
        // A store that failed does not know what of its last commit will be there when it is opened anew. The sweep will know.
        if let error = error as? RecordError, error.code == .internalError { return }
        guard hold.turnIntoRemoval() else { return }
        defer { holds.endRemoval(checksum) }
        do {
            if try await ledger.entry(of: checksum) != nil { return }
            try await threads.run(.writing) { try folder.remove(checksum) }
        } catch {
            logger.warning("\(checksum), which could not be entered, is left to the sweep: \(error)")
        }
    }

    /// CloudKit's clients hand these back with the record and make nothing of them: here nothing is wrapped. The same for the same bytes.
    private static func mark(_ purpose: String, of checksum: FileChecksum) -> String {
        var hash = SHA256()
        hash.update(data: Array(purpose.utf8))
        hash.update(data: checksum.bytes)
        return Data(hash.finalize().prefix(16)).base64EncodedString()
    }
}
