internal import Crypto
internal import Records
internal import Synchronization

/// Computes the checksum of a file in steps. All calls block.
final class FileHashing: Sendable {
    private struct State {
        var hash = SHA256()
        var size: Int64 = 0
        var space = [UInt8](repeating: 0, count: stepLength)
    }

    private static let stepLength = 1 << 20

    private let file: DiskFile
    private let state = Mutex(State())

    init(_ file: DiskFile) {
        self.file = file
    }

    /// Reads the next part.
    /// - Returns: `false` at the end.
    func step() throws(DiskFailure) -> Bool {
        let file = file
        return try state.withLock { (state) throws(DiskFailure) in
            let offset = state.size
            var failure: DiskFailure?
            let count = state.space.withUnsafeMutableBytes { space in
                do throws(DiskFailure) { return try file.read(into: space, at: offset) } catch { failure = error }
                return 0
            }
            if let failure { throw failure }
            state.space.withUnsafeBytes { state.hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            state.size += Int64(count)
            return count == Self.stepLength
        }
    }

    /// The number of bytes read.
    var size: Int64 { state.withLock { $0.size } }

    /// The checksum of the bytes read.
    var checksum: FileChecksum? { state.withLock { FileChecksum(bytes: $0.hash.finalize()) } }
}
