internal import Gzip
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Compresses its input, and writes output when enough has gathered.
struct GzipWriter: ResponseBodyWriter {
    private var parent: any ResponseBodyWriter
    private let deflater: Deflater

    init(_ parent: any ResponseBodyWriter) throws {
        self.parent = parent
        deflater = try Deflater()
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        let output = try deflater.compress(buffer, .whenFull)
        if output.readableBytes > 0 { try await parent.write(output) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await parent.write(deflater.compress(ByteBuffer(), .last))
        try await parent.finish(trailingHeaders)
    }
}
