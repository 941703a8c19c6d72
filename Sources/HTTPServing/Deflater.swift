internal import CZlib
internal import NIOCore

/// Compresses bytes as they come, in gzip format.
final class Deflater {
    /// zlib could not get the memory it needs.
    struct Failed: Error {
        let code: Int32
    }

    private static let chunk = 16 << 10
    /// zlib keeps the address of its state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws(Failed) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Most answers are read on this machine or its network: the fastest level already saves four fifths of JSON.
        let code = CZlib_openGzip(stream, Z_BEST_SPEED)
        guard code == Z_OK else {
            stream.deallocate()
            throw Failed(code: code)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Takes bytes in and returns what is ready to go out, which may be nothing yet.
    /// - Parameter isLast: whether to end the stream.
    func compress(_ input: ByteBuffer, isLast: Bool) throws(Failed) -> ByteBuffer {
        var output = ByteBuffer()
        var input = input
        let code = input.withUnsafeMutableReadableBytes { bytes -> Int32 in
            stream.pointee.next_in = bytes.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_in = uInt(bytes.count)
            var code = Z_OK
            repeat {
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.chunk) { space in
                    stream.pointee.next_out = space.bindMemory(to: Bytef.self).baseAddress
                    stream.pointee.avail_out = uInt(space.count)
                    code = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    return space.count - Int(stream.pointee.avail_out)
                }
            } while stream.pointee.avail_out == 0 && code == Z_OK
            return code
        }
        // A call that found nothing to do is no failure.
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Failed(code: code) }
        return output
    }
}
