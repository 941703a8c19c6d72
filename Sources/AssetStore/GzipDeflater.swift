internal import CZlib

/// Compresses bytes as they come, in gzip format at level 6. The same bytes become the same bytes: no time and no name stands in the header.
final class GzipDeflater {
    /// zlib could not get the memory it needs, or was given something else than compressed bytes.
    struct Failed: Error {
        let code: Int32
    }

    private static let level: Int32 = 6
    /// zlib keeps the address of its state, so the state must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var space = [UInt8](repeating: 0, count: 64 << 10)

    init() throws(Failed) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = CZlib_openGzip(stream, Self.level)
        guard code == Z_OK else {
            stream.deallocate()
            throw Failed(code: code)
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Takes bytes in and hands out what is ready, which may be nothing yet.
    /// - Parameter isLast: whether to end the stream.
    func compress(_ input: [UInt8], isLast: Bool, to output: (UnsafeRawBufferPointer) throws -> Void) throws {
        try input.withUnsafeBytes { input in
            stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: Bytef.self).baseAddress)
            stream.pointee.avail_in = uInt(input.count)
            var code = Z_OK
            repeat {
                try space.withUnsafeMutableBytes { space in
                    stream.pointee.next_out = space.bindMemory(to: Bytef.self).baseAddress
                    stream.pointee.avail_out = uInt(space.count)
                    code = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    let ready = space.count - Int(stream.pointee.avail_out)
                    if ready > 0 { try output(UnsafeRawBufferPointer(rebasing: space[..<ready])) }
                }
            } while stream.pointee.avail_out == 0 && code == Z_OK
            // A call that found nothing to do is no failure.
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Failed(code: code) }
        }
    }
}
