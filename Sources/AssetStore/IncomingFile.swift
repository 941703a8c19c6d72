internal import Crypto
internal import NIOCore
internal import Records
internal import Synchronization

/// An upload in progress: written and hashed in parts, under a temporary name. All calls block.
final class IncomingFile: Sendable {
    private struct State {
        var file: DiskFile?
        var path = ""
        var hash = SHA256()
        var size: Int64 = 0
        /// The offset up to which the disk has been told to start writing.
        var syncing: Int64 = 0
        var beginning: [UInt8] = []
    }

    /// The number of bytes between these requests.
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
            guard let checksum = FileChecksum(bytes: state.hash.finalize()) else { preconditionFailure("SHA-256 has 32 bytes") }
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
            // An unreadable file is replaced.
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
