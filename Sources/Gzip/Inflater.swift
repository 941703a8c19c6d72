internal import CZlib
public import NIOCore

/// Decompresses a gzip stream (RFC 1952). The caller limits the output of each call, because a few bytes can expand a thousandfold.
public final class Inflater {
    public enum Failed: Error {
        /// zlib could not allocate its memory.
        case memory
        /// The input is not gzip, or is damaged.
        case malformed
    }

    /// zlib keeps a pointer to its state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    /// True if the input so far consists of complete gzip members.
    public private(set) var isComplete = false

    public init() throws(Failed) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard CZlib_openGunzip(stream) == Z_OK else {
            stream.deallocate()
            throw .memory
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses input and appends the output.
    ///
    /// Call it again as long as it fills the space, even without further input.
    /// - Parameter space: the maximum number of bytes to write.
    /// - Returns: the number of bytes written.
    public func inflate(_ input: inout ByteBuffer, into output: inout ByteBuffer, atMost space: Int) throws(Failed) -> Int {
        var written = 0
        repeat {
            if isComplete {
                // A gzip file may consist of several concatenated members.
                guard input.readableBytes > 0 else { break }
                guard inflateReset(stream) == Z_OK else { throw .malformed }
                isComplete = false
            }
            var code = Z_OK
            let before = (input.readableBytes, written)
            let wanted = space - written
            input.readWithUnsafeMutableReadableBytes { bytes in
                stream.pointee.next_in = bytes.bindMemory(to: Bytef.self).baseAddress
                stream.pointee.avail_in = uInt(bytes.count)
                written += output.writeWithUnsafeMutableBytes(minimumWritableBytes: wanted) { room in
                    stream.pointee.next_out = room.bindMemory(to: Bytef.self).baseAddress
                    stream.pointee.avail_out = uInt(wanted)
                    code = CZlib.inflate(stream, Z_NO_FLUSH)
                    return wanted - Int(stream.pointee.avail_out)
                }
                return bytes.count - Int(stream.pointee.avail_in)
            }
            switch code {
            case Z_STREAM_END: isComplete = true
            case Z_OK: break
            // No progress is possible without more input or more space.
            case Z_BUF_ERROR where (input.readableBytes, written) == before: return written
            case Z_MEM_ERROR: throw .memory
            default: throw .malformed
            }
        } while written < space && (input.readableBytes > 0 || !isComplete)
        return written
    }
}
