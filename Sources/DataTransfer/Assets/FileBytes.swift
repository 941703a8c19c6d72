internal import Foundation
public import NIOCore
internal import NIOPosix

/// The bytes of a file, read in parts on demand.
public struct FileBytes: AsyncSequence, Sendable {
    public typealias Element = ByteBuffer

    private static let partLength = 256 << 10

    /// The size of the file when it was opened, in bytes.
    public let size: Int64
    fileprivate let descriptor: Descriptor

    /// An open file. It is closed with the last reference.
    fileprivate final class Descriptor: Sendable {
        let number: Int32
        let path: String

        init(_ number: Int32, _ path: String) {
            self.number = number
            self.path = path
        }

        deinit { Foundation.close(number) }
    }

    /// Opens a file.
    /// - Throws: ``AssetFileError`` if the path is not a readable regular file.
    init(path: String) throws {
        // Non-blocking, because opening a pipe would otherwise block indefinitely.
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { throw errno == ENOENT ? AssetFileError(path, "there is no such file") : Self.lastFailure(path) }
        descriptor = Descriptor(number, path)
        var status = stat()
        guard fstat(number, &status) == 0 else { throw Self.lastFailure(path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw AssetFileError(path, "it is not a regular file") }
        size = Int64(status.st_size)
    }

    private static func lastFailure(_ path: String) -> AssetFileError {
        AssetFileError(path, String(cString: strerror(errno)), isUnreadable: true)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let descriptor: Descriptor
        private var offset: Int64 = 0

        init(_ file: FileBytes) {
            descriptor = file.descriptor
        }

        public mutating func next() async throws -> ByteBuffer? {
            let part = try await NIOThreadPool.singleton.runIfActive { [descriptor, offset] in try FileBytes.part(of: descriptor, at: offset) }
            offset += Int64(part?.readableBytes ?? 0)
            return part
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    private static func part(of descriptor: Descriptor, at offset: Int64) throws -> ByteBuffer? {
        var part = ByteBufferAllocator().buffer(capacity: partLength)
        let count = try part.writeWithUnsafeMutableBytes(minimumWritableBytes: partLength) { space in
            while true {
                let count = pread(descriptor.number, space.baseAddress, space.count, off_t(offset))
                if count >= 0 { return count }
                if errno != EINTR { throw lastFailure(descriptor.path) }
            }
        }
        return count == 0 ? nil : part
    }
}
