internal import CZlib

/// Streaming decompression of gzip data. As the format specifies, concatenated streams count as one.
final class GzipInflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private var space = [UInt8](repeating: 0, count: 64 << 10)
    /// True if the input so far ends at the end of a stream.
    private(set) var isWhole = false

    init() throws(GzipDeflater.Failed) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = CZlib_openGunzip(stream)
        guard code == Z_OK else {
            stream.deallocate()
            throw GzipDeflater.Failed(code: code)
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses input and passes the output on.
    /// - Throws: `GzipDeflater.Failed` if the data is damaged or not in gzip format.
    func inflate(_ input: UnsafeRawBufferPointer, to output: (UnsafeRawBufferPointer) throws -> Void) throws {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = uInt(input.count)
        repeat {
            if isWhole {
                if stream.pointee.avail_in == 0 { return }
                inflateReset(stream)
                isWhole = false
            }
            try space.withUnsafeMutableBytes { space in
                stream.pointee.next_out = space.bindMemory(to: Bytef.self).baseAddress
                stream.pointee.avail_out = uInt(space.count)
                let code = CZlib.inflate(stream, Z_NO_FLUSH)
                guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw GzipDeflater.Failed(code: code) }
                isWhole = code == Z_STREAM_END
                let ready = space.count - Int(stream.pointee.avail_out)
                if ready > 0 { try output(UnsafeRawBufferPointer(rebasing: space[..<ready])) }
            }
        } while stream.pointee.avail_out == 0 || stream.pointee.avail_in > 0
    }
}
