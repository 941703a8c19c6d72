internal import CZlib
internal import NIOCore

/// Restores bytes from gzip format (RFC 1952) as they come, never more of them at a time than asked for: a few bytes can stand for a
/// thousand times as many.
final class Inflater {
    enum Failed: Error {
        /// zlib could not get the memory it needs.
        case memory
        /// The bytes are no gzip, or damaged.
        case malformed
    }

    /// zlib keeps the address of its state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether what came so far is whole: some members, none of them begun only.
    private(set) var isComplete = false

    init() throws(Failed) {
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

    /// Takes bytes from the input and writes what they stand for.
    ///
    /// Call it again as long as it fills the space, even with no input left.
    /// - Parameter space: most bytes to write.
    /// - Returns: how many were written.
    func inflate(_ input: inout ByteBuffer, into output: inout ByteBuffer, atMost space: Int) throws(Failed) -> Int {
        var written = 0
        repeat {
            if isComplete {
                // Files put one behind the other are one file.
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
            // Nothing could be done: there is no input, or no space.
            case Z_BUF_ERROR where (input.readableBytes, written) == before: return written
            case Z_MEM_ERROR: throw .memory
            default: throw .malformed
            }
        } while written < space && (input.readableBytes > 0 || !isComplete)
        return written
    }
}
