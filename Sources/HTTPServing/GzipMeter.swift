internal import Gzip
internal import NIOCore
internal import Synchronization

/// Measures the decompressed size of a gzip stream without storing the output, so that a decompression bomb costs no memory.
final class GzipMeter: Sendable {
    /// The number of bytes to decompress at a time.
    private static let pieceSize = 64 << 10
    /// The expected ratio of decompressed to compressed size. The maximum for gzip is about a thousand.
    private static let ratio = 64

    private struct State {
        let inflater: Inflater
        var scratch = ByteBuffer()
        var size = 0
    }

    private let limit: Int
    private let state: Mutex<State>

    /// The decompressed size so far, in bytes.
    var size: Int { state.withLock { $0.size } }
    /// True if the stream so far is complete.
    var isComplete: Bool { state.withLock { $0.inflater.isComplete } }

    init(limit: Int) throws {
        self.limit = limit
        state = Mutex(State(inflater: try Inflater()))
    }

    /// Measures the next compressed bytes.
    /// - Throws: ``Refusal`` 413 if the decompressed size exceeds the limit;
    ///   `Inflater.Failed`; `RecordError` TRY_AGAIN_LATER if the server is overloaded.
    func take(_ part: ByteBuffer) async throws {
        try await WorkPool.prompt.run(on: part.readableBytes * Self.ratio) { try self.measure(part) }
    }

    private func measure(_ part: ByteBuffer) throws {
        var part = part
        try state.withLock { state in
            var written = 0
            repeat {
                state.scratch.clear()
                written = try state.inflater.inflate(&part, into: &state.scratch, atMost: Self.pieceSize)
                state.size += written
                if state.size > limit { throw IncomingBody.tooLarge(Int64(limit)) }
            } while written == Self.pieceSize
        }
    }
}
