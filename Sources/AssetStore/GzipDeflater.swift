internal import CZlib

/// Streaming compression in gzip format at level 6. The output is deterministic, because the header contains no time and no name.
final class GzipDeflater {
    /// zlib ran out of memory, or the input is not valid compressed data.
    struct Failed: Error {
        let code: Int32
    }

    private static let level: Int32 = 6
    /// zlib stores the address of its state, so the state must not move.
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

    /// Compresses input and passes available output on, which may be empty.
    /// - Parameter isLast: true to end the stream.
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
            // Z_BUF_ERROR only means that there was nothing to do.
            guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Failed(code: code) }
        }
    }
}
