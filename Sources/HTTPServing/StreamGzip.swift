internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Compresses an answer that is made while it is sent, so that the client sees how far it is: what was written goes out when enough has
/// gathered, or when it has waited for a tenth of a second though nothing more is written.
///
/// The answer is made in a task of its own, which hands over one piece at a time and goes on when that is on its way: it never runs ahead
/// of the client.
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
            // Whoever hands something over waits for an answer: after a failure too.
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
                            // Cancelled when the answer is over: nobody listens then.
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
            // What went wrong with the answer is told; patience is not needed any more.
            while let job = try await group.next(), job != .answer {}
            group.cancelAll()
            if let failure { throw failure }
        }
    }
}

/// Hands what is written over to the task that compresses it.
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
            // Nobody listens any more when the task that sends the answer is cancelled.
            if case .terminated = source.yield(event(taken)) { taken.resume(throwing: CancellationError()) }
        }
    }
}
