internal import Crypto
internal import Gzip
internal import NIOCore
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
    /// The number of bytes to unpack at a time.
    private static let pieceLength = 64 << 10

    private let checksum: FileChecksum
    private let size: Int64
    private let file: DiskFile
    private let inflater: Mutex<Inflater>
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
        inflater = Mutex(try Inflater())
    }

    /// - Returns: `false` at the end, or once damage is detected.
    func step() throws -> Bool {
        let (file, limit) = (file, size)
        return try state.withLock { state in
            var input = try file.read(Self.stepLength, at: state.read)
            let count = input.readableBytes
            state.read += Int64(count)
            do {
                try inflater.withLock { inflater in
                    var piece = ByteBuffer()
                    repeat {
                        piece.clear()
                        _ = try inflater.inflate(&input, into: &piece, atMost: Self.pieceLength)
                        piece.withUnsafeReadableBytes { state.hash.update(bufferPointer: $0) }
                        state.size += Int64(piece.readableBytes)
                        // The content is already larger than the file.
                        if state.size > limit { throw Inflater.Failed.malformed }
                    } while piece.readableBytes == Self.pieceLength
                    state.isWhole = inflater.isComplete
                }
            } catch Inflater.Failed.malformed {
                state.isDamaged = true
            }
            return !state.isDamaged && count == Self.stepLength
        }
    }

    /// True if the complete content matches the file. Valid only at the end.
    var isRight: Bool {
        state.withLock { !$0.isDamaged && $0.isWhole && $0.size == size && FileChecksum(bytes: $0.hash.finalize()) == checksum }
    }
}
