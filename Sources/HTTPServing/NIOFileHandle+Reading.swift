internal import CCachedReading
internal import NIOCore

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

extension NIOFileHandle {
    /// Reads bytes at an offset. Blocks the calling thread.
    /// - Returns: exactly the requested number of bytes.
    /// - Throws: `FileEndedEarly` if the file is too short, `IOError` if reading fails.
    func read(_ count: Int, from offset: Int64) throws -> ByteBuffer {
        try withUnsafeFileDescriptor { descriptor in
            var buffer = ByteBufferAllocator().buffer(capacity: count)
            while buffer.readableBytes < count {
                let start = offset + Int64(buffer.readableBytes)
                var failure: CInt = 0
                let got = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count - buffer.readableBytes) { space in
                    let got = pread(descriptor, space.baseAddress, min(space.count, count), off_t(start))
                    if got < 0 { failure = errno }
                    return max(0, got)
                }
                if failure == EINTR { continue }
                if failure != 0 { throw IOError(errnoCode: failure, reason: "pread") }
                if got == 0 { throw FileEndedEarly(size: start, expected: offset + Int64(count)) }
            }
            return buffer
        }
    }

    /// Reads bytes at an offset without blocking, if the page cache has them.
    /// - Returns: exactly the requested number of bytes, or `nil`.
    func readCached(_ count: Int, from offset: Int64) -> ByteBuffer? {
        // On failure the caller reads the file the regular way, which reports the error.
        try? withUnsafeFileDescriptor { descriptor in
            var buffer = ByteBufferAllocator().buffer(capacity: count)
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
                max(0, CCachedReading_read(descriptor, space.baseAddress, count, off_t(offset)))
            }
            return buffer.readableBytes == count ? buffer : nil
        }
    }

    /// The current size of a file in bytes.
    static func size(of descriptor: CInt) throws -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw IOError(errnoCode: errno, reason: "fstat") }
        return Int64(status.st_size)
    }
}
