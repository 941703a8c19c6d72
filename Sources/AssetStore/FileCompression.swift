internal import Crypto
internal import Gzip
internal import NIOCore
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

    /// The compression level. Files are compressed once and sent often.
    private static let level = 6

    private let folder: AssetFolder
    private let checksum: FileChecksum
    private let size: Int64
    private let source: DiskFile
    private let target: DiskFile
    private let path: String
    private let deflater: Mutex<Deflater>
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
        deflater = Mutex(try Deflater(level: Self.level))
        (target, path) = try folder.makeIncomingFile()
    }

    /// Compresses the next part.
    /// - Returns: `false` at the end, or if the compression is not worthwhile.
    func step() throws -> Bool {
        let (source, target) = (source, target)
        return try state.withLock { state in
            let input = try source.read(Self.stepLength, at: state.read)
            state.read += Int64(input.readableBytes)
            input.withUnsafeReadableBytes { state.hash.update(bufferPointer: $0) }
            let isLast = input.readableBytes < Self.stepLength
            let output = try deflater.withLock { try $0.compress(input, isLast ? .last : .whenFull) }
            if output.readableBytes > 0 { try output.withUnsafeReadableBytes { try target.write($0, at: state.written) } }
            state.written += Int64(output.readableBytes)
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
