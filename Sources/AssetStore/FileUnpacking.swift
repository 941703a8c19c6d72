internal import Crypto
internal import Records
internal import Synchronization

/// Unpacks a compressed form in steps, to compare it with the file. All calls block.
final class FileUnpacking: Sendable {
    private struct State {
        var read: Int64 = 0
        var size: Int64 = 0
        var hash = SHA256()
        var isDamaged = false
        var isWhole = false
    }

    private static let stepLength = 256 << 10

    private let checksum: FileChecksum
    private let size: Int64
    private let file: DiskFile
    private let inflater: Mutex<GzipInflater>
    private let state = Mutex(State())

    /// - Returns: `nil` if there is no compressed form.
    init?(of checksum: FileChecksum, size: Int64, in folder: AssetFolder) throws {
        self.checksum = checksum
        self.size = size
        do throws(DiskFailure) {
            file = try DiskFile(reading: folder.compressedPath(of: checksum))
            if try file.status().size == 0 { return nil }
        } catch {
            if error.isMissing { return nil }
            throw error
        }
        inflater = Mutex(try GzipInflater())
    }

    /// - Returns: `false` at the end, or once damage is detected.
    func step() throws -> Bool {
        let (file, limit) = (file, size)
        return try state.withLock { state in
            let input = try [UInt8](unsafeUninitializedCapacity: Self.stepLength) { space, count in
                count = try file.read(into: UnsafeMutableRawBufferPointer(space), at: state.read)
            }
            state.read += Int64(input.count)
            do {
                state.isWhole = try inflater.withLock { inflater in
                    try input.withUnsafeBytes { input in
                        try inflater.inflate(input) { output in
                            state.hash.update(bufferPointer: output)
                            state.size += Int64(output.count)
                            // The content is already larger than the file.
                            if state.size > limit { throw GzipDeflater.Failed(code: 0) }
                        }
                    }
                    return inflater.isWhole
                }
            } catch is GzipDeflater.Failed {
                state.isDamaged = true
            }
            return !state.isDamaged && input.count == Self.stepLength
        }
    }

    /// True if the complete content matches the file. Valid only at the end.
    var isRight: Bool {
        state.withLock { !$0.isDamaged && $0.isWhole && $0.size == size && FileChecksum(bytes: $0.hash.finalize()) == checksum }
    }
}
