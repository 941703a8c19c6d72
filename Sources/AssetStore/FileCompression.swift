internal import Crypto
internal import Records
internal import Synchronization

/// Makes the compressed form of one file, step by step. All calls block.
final class FileCompression: Sendable {
    private struct State {
        var read: Int64 = 0
        var written: Int64 = 0
        /// Of what was read.
        var hash = SHA256()
        var isWorthIt = true
        var isPlaced = false
    }

    /// Bytes that are read in one step.
    private static let stepLength = 256 << 10
    /// After so many bytes it is clear enough whether the rest will become smaller.
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
            // Swept before its turn came.
            if error.isMissing { throw CancellationError() }
            throw error
        }
        deflater = Mutex(try GzipDeflater())
        path = try folder.makeIncomingPath()
        target = try DiskFile(creating: path)
    }

    /// Compresses some more.
    /// - Returns: `false` at the end, also when it turned out not to be worth it.
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
            // It must save a tenth.
            let sofar = isLast || state.read >= Self.probeLength ? state.read : size
            state.isWorthIt = state.written <= sofar / 10 * 9
            return state.isWorthIt && !isLast
        }
    }

    /// Puts the compressed form into its place; an empty file where it is not worth it.
    /// - Returns: whether it is.
    func place() throws -> Bool {
        let (folder, checksum, path, target) = (folder, checksum, path, target)
        return try state.withLock { state in
            // Of a file that was damaged no second form is made, which would outlive its mending: verification will say so.
            if state.isWorthIt, state.read != size || FileChecksum(bytes: state.hash.finalize()) != checksum { throw CancellationError() }
            if !state.isWorthIt { try target.truncate() }
            try target.sync()
            try folder.placeCompressed(path, of: checksum)
            state.isPlaced = true
            return state.isWorthIt
        }
    }

    /// Leaves nothing.
    func discard() {
        let (folder, path) = (folder, path)
        state.withLock { state in
            if !state.isPlaced { folder.discard(path) }
        }
    }
}
