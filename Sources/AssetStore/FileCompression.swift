internal import Crypto
internal import Records
internal import Synchronization

/// Creates the compressed form of one file in steps. All calls block.
final class FileCompression: Sendable {
    private struct State {
        var read: Int64 = 0
        var written: Int64 = 0
        /// The hash of the bytes read so far.
        var hash = SHA256()
        var isWorthIt = true
        var isPlaced = false
    }

    /// The number of bytes per step.
    private static let stepLength = 256 << 10
    /// The number of bytes after which the compression ratio is representative.
    private static let probeLength: Int64 = 4 << 20

    private let folder: AssetFolder
    private let checksum: FileChecksum
    private let size: Int64
    private let source: DiskFile
    private let target: DiskFile
    private let path: String
    private let deflater: Mutex<GzipDeflater>
    private let state = Mutex(State())

    init(of checksum: FileChecksum, size: Int64, in folder: AssetFolder) throws {
        self.folder = folder
        self.checksum = checksum
        self.size = size
        do throws(DiskFailure) {
            source = try DiskFile(reading: folder.path(of: checksum))
        } catch {
            // The file was swept before the compression started.
            if error.isMissing { throw CancellationError() }
            throw error
        }
        deflater = Mutex(try GzipDeflater())
        path = try folder.makeIncomingPath()
        target = try DiskFile(creating: path)
    }

    /// Compresses the next part.
    /// - Returns: `false` at the end, or if the compression is not worthwhile.
    func step() throws -> Bool {
        let (source, target) = (source, target)
        return try state.withLock { state in
            let input = try [UInt8](unsafeUninitializedCapacity: Self.stepLength) { space, count in
                count = try source.read(into: UnsafeMutableRawBufferPointer(space), at: state.read)
            }
            state.read += Int64(input.count)
            state.hash.update(data: input)
            let isLast = input.count < Self.stepLength
            try deflater.withLock { deflater in
                try deflater.compress(input, isLast: isLast) { output in
                    try target.write(output, at: state.written)
                    state.written += Int64(output.count)
                }
            }
            // The compressed form must be at least 10 % smaller.
            let sofar = isLast || state.read >= Self.probeLength ? state.read : size
            state.isWorthIt = state.written <= sofar / 10 * 9
            return state.isWorthIt && !isLast
        }
    }

    /// Moves the compressed form to its final name. Stores an empty file instead if the compression is not worthwhile.
    /// - Returns: true if the compression is worthwhile.
    func place() throws -> Bool {
        let (folder, checksum, path, target) = (folder, checksum, path, target)
        return try state.withLock { state in
            // A damaged file gets no compressed form, which would remain after a repair. A verification reports the damage.
            if state.isWorthIt, state.read != size || FileChecksum(bytes: state.hash.finalize()) != checksum { throw CancellationError() }
            if !state.isWorthIt { try target.truncate() }
            try target.sync()
            try folder.placeCompressed(path, of: checksum)
            state.isPlaced = true
            return state.isWorthIt
        }
    }

    /// Removes the temporary file.
    func discard() {
        let (folder, path) = (folder, path)
        state.withLock { state in
            if !state.isPlaced { folder.discard(path) }
        }
    }
}
