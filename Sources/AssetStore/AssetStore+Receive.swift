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
            // If the threads have already stopped, this thread discards the file. Blocking is acceptable during
            // shutdown.
            do { try await threads.run(.writing) { incoming.discard() } } catch { incoming.discard() }
            throw error
        }
    }

    private func checkSize(_ size: Int64) throws(RecordError) {
        guard size <= sizeLimit else {
            throw RecordError(
                .quotaExceeded,
                "The asset is larger than \(sizeLimit) bytes, the limit of this server (--asset-size-limit)")
        }
    }

    /// Receives the body. Hashes and writes one block while it receives the next, so that at most two blocks are in
    /// memory.
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
                throw RecordError(
                    .badRequest, "The upload ended early, after \(size) of \(declaredSize) bytes; send the file again")
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
            fileChecksum: checksum.description, size: received.size,
            referenceChecksum: Self.mark("reference", of: checksum),
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

    /// An opaque value that CloudKit clients send back with the record. Skylight does not wrap keys. Equal bytes give
    /// equal values.
    private static func mark(_ purpose: String, of checksum: FileChecksum) -> String {
        var hash = SHA256()
        hash.update(data: Array(purpose.utf8))
        hash.update(data: checksum.bytes)
        return Data(hash.finalize().prefix(16)).base64EncodedString()
    }
}

// MARK: - Locks

extension AssetStore {
    /// The time between two attempts to take a lock that another process has.
    private static let lockInterval = Duration.milliseconds(5)
    /// Maximum time to wait for a lock: as long as a commit may take if its answer is late.
    private static let lockPatience = Duration.seconds(60)

    /// Waits until no other process is removing files from a subfolder, and then prevents it from doing so: a file
    /// must not be removed between its placing and its entry. Within this process, ``FileHolds`` ensures that. No
    /// thread is blocked meanwhile.
    /// - Returns: the locked file, which the caller must unlock; `nil` if no other process uses the folder.
    /// - Throws: `RecordError` TRY_AGAIN_LATER after a minute, `CancellationError`, ``DiskFailure``.
    func lockForUpload(of checksum: FileChecksum) async throws -> DiskFile? {
        guard folder.isShared else { return nil }
        let file = try await threads.run(.writing) { [folder] in try folder.openLock(of: checksum) }
        let start = ContinuousClock.now
        while try await !threads.run(.writing, { file.tryLock(.shared) }) {
            guard ContinuousClock.now - start < Self.lockPatience else {
                throw RecordError(
                    .tryAgainLater, "Another server is removing files; send the file again", retryAfter: 1)
            }
            try await Task.sleep(for: Self.lockInterval)
        }
        return file
    }
}

// MARK: - Incoming files

/// An upload in progress: written and hashed in parts, under a temporary name. All calls block.
final class IncomingFile: Sendable {
    private struct State {
        var file: DiskFile?
        var path = ""
        var hash = SHA256()
        var size: Int64 = 0
        /// The offset up to which the disk was asked to start writing.
        var syncing: Int64 = 0
        var beginning: [UInt8] = []
    }

    /// The number of bytes between two of these requests.
    private static let syncStep: Int64 = 8 << 20

    private let folder: AssetFolder
    private let state = Mutex(State())

    init(in folder: AssetFolder) {
        self.folder = folder
    }

    /// Appends bytes.
    func append(_ bytes: ByteBuffer) throws(DiskFailure) {
        let folder = folder
        try state.withLock { (state) throws(DiskFailure) in
            let file: DiskFile
            if let open = state.file {
                file = open
            } else {
                (file, state.path) = try folder.makeIncomingFile()
                state.file = file
            }
            if state.beginning.count < AssetType.beginningLength {
                state.beginning += bytes.readableBytesView.prefix(AssetType.beginningLength - state.beginning.count)
            }
            var failure: DiskFailure?
            bytes.withUnsafeReadableBytes { bytes in
                // Hashes the bytes while they are in the processor's cache.
                state.hash.update(bufferPointer: bytes)
                do throws(DiskFailure) { try file.write(bytes, at: state.size) } catch { failure = error }
            }
            if let failure { throw failure }
            state.size += Int64(bytes.readableBytes)
            if state.size - state.syncing >= Self.syncStep {
                file.beginSync(from: state.syncing, length: state.size - state.syncing)
                state.syncing = state.size
            }
        }
    }

    /// The properties of the complete upload.
    func finish() throws(DiskFailure) -> Received {
        try state.withLock { (state) throws(DiskFailure) in
            guard let checksum = FileChecksum(bytes: state.hash.finalize()) else {
                preconditionFailure("SHA-256 has 32 bytes")
            }
            let type = AssetType(beginning: state.beginning, isWhole: state.size <= state.beginning.count)
            return Received(checksum: checksum, size: state.size, type: type)
        }
    }

    struct Received: Sendable {
        let checksum: FileChecksum
        let size: Int64
        let type: AssetType
    }

    /// Moves the file to its final name. Verifies an existing file first, so that an upload repairs a damaged file.
    /// - Returns: true if the file was missing or damaged, so that cached properties are invalid.
    func place(as received: Received) throws(DiskFailure) -> Bool {
        let folder = folder
        return try state.withLock { (state) throws(DiskFailure) in
            guard let file = state.file else { return false }
            let isStored = try Self.isStored(received, in: folder)
            if isStored {
                folder.discard(state.path)
                try folder.keep(received.checksum)
            } else {
                try file.sync()
                // The compressed form may be based on damaged data.
                try folder.removeCompressed(received.checksum)
                try folder.place(state.path, as: received.checksum)
            }
            state.file = nil
            return !isStored
        }
    }

    private static func isStored(_ received: Received, in folder: AssetFolder) throws(DiskFailure) -> Bool {
        guard try folder.status(of: received.checksum)?.size == received.size else { return false }
        do {
            let file = try DiskFile(reading: folder.path(of: received.checksum))
            let hashing = FileHashing(file)
            while try hashing.step() {}
            guard hashing.checksum == received.checksum else { return false }
            try file.sync()
            return true
        } catch {
            // An existing file that can't be read is replaced.
            return false
        }
    }

    /// Removes the temporary file.
    func discard() {
        let folder = folder
        state.withLock { state in
            if state.file != nil { folder.discard(state.path) }
            state.file = nil
        }
    }
}

// MARK: - Running uploads

/// The running uploads of a store, so that closing it can end them.
final class UploadsUnderWay: Sendable {
    private struct Upload {
        let cancel: @Sendable () -> Void
        let finish: @Sendable () async -> Void
    }

    private struct State {
        var isClosed = false
        var next = 0
        var uploads: [Int: Upload] = [:]
    }

    private let state = Mutex(State())

    /// Runs an upload in its own task, which is cancelled with the caller's.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the store is closed before or during the upload; errors of `work`.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let (number, task) = try state.withLock { state in
            if state.isClosed { throw Self.closed }
            let task = Task { try await work() }
            state.next += 1
            state.uploads[state.next] = Upload(cancel: { task.cancel() }, finish: { _ = await task.result })
            return (state.next, task)
        }
        defer { state.withLock { $0.uploads[number] = nil } }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            // Reports that the store is closed instead of the resulting error of the body.
            if !Task.isCancelled, state.withLock({ $0.isClosed }) { throw Self.closed }
            throw error
        }
    }

    /// Cancels all uploads and refuses new ones.
    func close() async {
        let uploads = state.withLock { state in
            state.isClosed = true
            return Array(state.uploads.values)
        }
        for upload in uploads { upload.cancel() }
        for upload in uploads { await upload.finish() }
    }

    private static let closed = RecordError(.tryAgainLater, "The store was closed; send the file again", retryAfter: 1)
}
