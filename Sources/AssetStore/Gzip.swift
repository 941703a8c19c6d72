internal import CZlib
public import NIOCore

/// Compresses a stream of bytes to gzip format. The output is deterministic, because the header contains no time and no
/// name.
public final class Deflater {
    /// zlib failed, for example for lack of memory.
    public struct Failed: Error {
        let code: Int32
    }

    /// The flush modes.
    public enum Flush: Sendable {
        /// Emits output only when enough has gathered. Compresses best.
        case whenFull
        /// Emits all input so far, so that the receiver can read it.
        case now
        /// Emits everything, and ends the stream.
        case last

        fileprivate var code: Int32 {
            switch self {
            case .whenFull: Z_NO_FLUSH
            case .now: Z_SYNC_FLUSH
            case .last: Z_FINISH
            }
        }
    }

    /// The fastest level, for clients on this machine or its network. It already saves four fifths of JSON.
    public static let fastest = Int(Z_BEST_SPEED)

    private static let chunk = 16 << 10
    /// zlib keeps a pointer to its state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    /// - Parameter level: from 1 (fastest) to 9 (smallest).
    public init(level: Int = fastest) throws(Failed) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = CZlib_openGzip(stream, Int32(level))
        guard code == Z_OK else {
            stream.deallocate()
            throw Failed(code: code)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses input and appends the output.
    public func compress(_ input: ByteBuffer, _ flush: Flush, into output: inout ByteBuffer) throws(Failed) {
        var input = input
        let code = input.withUnsafeMutableReadableBytes { bytes -> Int32 in
            stream.pointee.next_in = bytes.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_in = uInt(bytes.count)
            var code = Z_OK
            repeat {
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.chunk) { space in
                    stream.pointee.next_out = space.bindMemory(to: Bytef.self).baseAddress
                    stream.pointee.avail_out = uInt(space.count)
                    code = deflate(stream, flush.code)
                    return space.count - Int(stream.pointee.avail_out)
                }
            } while stream.pointee.avail_out == 0 && code == Z_OK
            return code
        }
        // Z_BUF_ERROR only means that there was nothing to do.
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Failed(code: code) }
    }

    /// Compresses input and returns the output.
    public func compress(_ input: ByteBuffer, _ flush: Flush) throws(Failed) -> ByteBuffer {
        var output = ByteBuffer()
        try compress(input, flush, into: &output)
        return output
    }
}

// MARK: - Decompression

/// Decompresses a gzip stream (RFC 1952). The caller limits the output of each call, because a few bytes can expand a
/// thousandfold.
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
    public func inflate(_ input: inout ByteBuffer, into output: inout ByteBuffer, atMost space: Int) throws(Failed)
        -> Int
    {
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
