internal import NIOCore
internal import Synchronization

/// Finds out what gzip stands for without keeping it, as it comes: a body made to burst costs no more memory than its own few bytes.
final class GzipMeter: Sendable {
    /// Bytes that are restored at a time.
    private static let pieceSize = 64 << 10
    /// How many times as much some bytes are expected to stand for: at the very worst it is a thousand.
    private static let ratio = 64

    private struct State {
        let inflater: Inflater
        var scratch = ByteBuffer()
        var size = 0
    }

    private let limit: Int
    private let state: Mutex<State>

    /// Bytes that what came so far stands for.
    var size: Int { state.withLock { $0.size } }
    /// Whether what came so far is whole.
    var isComplete: Bool { state.withLock { $0.inflater.isComplete } }

    init(limit: Int) throws {
        self.limit = limit
        state = Mutex(State(inflater: try Inflater()))
    }

    /// Takes some more.
    /// - Throws: ``Refusal`` 413 when it stands for more than the limit; `Inflater.Failed`; `RecordError` TRY_AGAIN_LATER when the server has too much
    ///   to do.
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
