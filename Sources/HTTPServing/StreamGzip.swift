internal import Gzip
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Compresses a streamed answer so that the client sees its progress: output is written when
/// enough has gathered, or a tenth of a second after the input if nothing else follows.
///
/// The answer is made in its own task, which hands over one piece at a time and waits until it is written. It never runs ahead of the client.
enum StreamGzip {
    private static let patience = Duration.milliseconds(100)

    fileprivate enum Event: Sendable {
        case piece(ByteBuffer, CheckedContinuation<Void, any Error>)
        case end(HTTPFields?, CheckedContinuation<Void, any Error>)
        case patienceIsOver
    }

    private enum Job: Sendable {
        case answer
        case patience
    }

    static func write(_ body: ResponseBody, to writer: inout any ResponseBodyWriter) async throws {
        let deflater = try Deflater()
        let (events, source) = AsyncStream.makeStream(of: Event.self)
        try await withThrowingTaskGroup(of: Job.self) { group in
            group.addTask {
                defer { source.finish() }
                try await body.write(HandOver(source: source))
                return .answer
            }
            var isTimed = false
            // Every piece must be acknowledged, even after a failure, because its sender waits.
            var failure: (any Error)?
            for await event in events {
                switch event {
                case .piece(let buffer, let taken):
                    do {
                        if let failure { throw failure }
                        let output = try deflater.compress(buffer, .whenFull)
                        if output.readableBytes > 0 { try await writer.write(output) }
                        taken.resume()
                    } catch {
                        failure = error
                        taken.resume(throwing: error)
                    }
                    if !isTimed {
                        isTimed = true
                        group.addTask {
                            // The sleep is cancelled when the answer is complete. Nothing reads this event then.
                            try? await Task.sleep(for: patience)
                            source.yield(.patienceIsOver)
                            return .patience
                        }
                    }
                case .patienceIsOver:
                    isTimed = false
                    do {
                        if failure == nil { try await writer.write(deflater.compress(ByteBuffer(), .now)) }
                    } catch {
                        failure = error
                    }
                case .end(let trailers, let taken):
                    do {
                        if let failure { throw failure }
                        try await writer.write(deflater.compress(ByteBuffer(), .last))
                        try await writer.finish(trailers)
                        taken.resume()
                    } catch {
                        failure = error
                        taken.resume(throwing: error)
                    }
                    source.finish()
                }
            }
            // Waits for the answer, whose errors propagate. The timer is no longer needed.
            while let job = try await group.next(), job != .answer {}
            group.cancelAll()
            if let failure { throw failure }
        }
    }
}

/// Hands written pieces to the compressing task.
private struct HandOver: ResponseBodyWriter {
    let source: AsyncStream<StreamGzip.Event>.Continuation

    mutating func write(_ buffer: ByteBuffer) async throws {
        try await hand { .piece(buffer, $0) }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await hand { .end(trailingHeaders, $0) }
    }

    private func hand(_ event: (CheckedContinuation<Void, any Error>) -> StreamGzip.Event) async throws {
        try await withCheckedThrowingContinuation { taken in
            // The compressing task ends early when the answer is cancelled.
            if case .terminated = source.yield(event(taken)) { taken.resume(throwing: CancellationError()) }
        }
    }
}
