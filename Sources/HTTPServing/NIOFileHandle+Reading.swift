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
    /// Reads some bytes from an offset, on the calling thread, which this blocks.
    /// - Returns: exactly that many bytes.
    /// - Throws: `FileEndedEarly` when they are not there, `IOError` when they can't be read.
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

    /// Reads some bytes from an offset if the system holds them in memory, so that nothing is waited for.
    /// - Returns: exactly that many bytes, or `nil`.
    func readCached(_ count: Int, from offset: Int64) -> ByteBuffer? {
        // Who gets nothing reads the file in the usual way, and meets the error there.
        try? withUnsafeFileDescriptor { descriptor in
            var buffer = ByteBufferAllocator().buffer(capacity: count)
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { space in
                max(0, CCachedReading_read(descriptor, space.baseAddress, count, off_t(offset)))
            }
            return buffer.readableBytes == count ? buffer : nil
        }
    }

    /// How many bytes a file has now.
    static func size(of descriptor: CInt) throws -> Int64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw IOError(errnoCode: errno, reason: "fstat") }
        return Int64(status.st_size)
    }
}
