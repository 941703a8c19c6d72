import CZlib
import Foundation

/// Gzip with zlib directly, without the code under test.
enum Gzip {
    struct Failed: Error {
        let code: CInt
    }

    static func compress(_ bytes: [UInt8], level: CInt = 6) throws -> [UInt8] {
        var stream = z_stream()
        guard CZlib_openGzip(&stream, level) == Z_OK else { throw Failed(code: Z_MEM_ERROR) }
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, uLong(bytes.count))) + 64)
        var input = bytes
        var code = Z_OK
        input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = uInt(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = uInt(output.count)
                code = deflate(&stream, Z_FINISH)
            }
        }
        guard code == Z_STREAM_END else { throw Failed(code: code) }
        return Array(output.prefix(Int(stream.total_out)))
    }

    /// Decompresses as much as possible of the bytes so far.
    static func restore(_ bytes: [UInt8]) throws -> (bytes: [UInt8], isComplete: Bool) {
        var stream = z_stream()
        guard CZlib_openGunzip(&stream) == Z_OK else { throw Failed(code: Z_MEM_ERROR) }
        defer { inflateEnd(&stream) }
        var restored: [UInt8] = []
        var space = [UInt8](repeating: 0, count: 1 << 20)
        var input = bytes
        var code = Z_OK
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = uInt(input.count)
            repeat {
                space.withUnsafeMutableBufferPointer { space in
                    stream.next_out = space.baseAddress
                    stream.avail_out = uInt(space.count)
                    code = inflate(&stream, Z_NO_FLUSH)
                }
                restored += space.prefix(space.count - Int(stream.avail_out))
            } while code == Z_OK && (stream.avail_in > 0 || stream.avail_out == 0)
        }
        guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw Failed(code: code) }
        return (restored, code == Z_STREAM_END)
    }

    static func decompress(_ bytes: [UInt8]) throws -> [UInt8] {
        let (restored, isComplete) = try restore(bytes)
        guard isComplete else { throw Failed(code: Z_DATA_ERROR) }
        return restored
    }

    /// Compressed zeroes: a small input with a huge output.
    static func zeroes(restoringTo size: Int) throws -> [UInt8] {
        var stream = z_stream()
        guard CZlib_openGzip(&stream, 9) == Z_OK else { throw Failed(code: Z_MEM_ERROR) }
        defer { deflateEnd(&stream) }
        var compressed: [UInt8] = []
        var input = [UInt8](repeating: 0, count: 1 << 20)
        var space = [UInt8](repeating: 0, count: 1 << 16)
        for start in stride(from: 0, to: size, by: input.count) {
            let isLast = start + input.count >= size
            input.withUnsafeMutableBufferPointer { input in
                stream.next_in = input.baseAddress
                stream.avail_in = uInt(min(input.count, size - start))
                repeat {
                    space.withUnsafeMutableBufferPointer { space in
                        stream.next_out = space.baseAddress
                        stream.avail_out = uInt(space.count)
                        deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    }
                    compressed += space.prefix(space.count - Int(stream.avail_out))
                } while stream.avail_out == 0
            }
        }
        return compressed
    }
}
