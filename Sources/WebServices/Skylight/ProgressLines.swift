internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Logging
internal import NIOCore
internal import Records
internal import ServiceLifecycle
internal import Synchronization

/// An answer in lines of JSON to something that takes long: that it was started, how far it is, and that it is `finished` or has `failed`.
///
/// It ends when the client hangs up, which shows at a line that can't be sent, and when the server ends.
struct ProgressLines<State: Sendable, Outcome: Sendable>: Sendable {
    /// What the lines are about: the name of their first member, which says what kind of line it is.
    let subject: Name
    /// How far it is before it begins.
    let start: State
    /// Writes the members of a line that says how far it is.
    let running: @Sendable (State, inout JSONWriter) -> Void
    /// Writes the members of the last line.
    let finished: @Sendable (Outcome, inout JSONWriter) -> Void

    /// Between lines at least.
    private var interval: Duration { .milliseconds(250) }
    /// Between lines at most.
    private var heartbeat: Duration { .seconds(1) }
    private var logger: Logger { Logger(label: "skylight.services") }

    private final class Latest: Sendable {
        let state: Mutex<State>

        init(_ state: State) {
            self.state = Mutex(state)
        }
    }

    /// - Parameter work: is given what to tell its progress to.
    func response(_ work: @escaping @Sendable (@escaping @Sendable (State) -> Void) async throws -> Outcome) -> Response {
        let body = ResponseBody { writer in
            // Only how far it is now counts: what a slow client missed is not told later.
            let (states, continuation) = AsyncStream.makeStream(of: State.self, bufferingPolicy: .bufferingNewest(1))
            let latest = Latest(start)
            let working = Task {
                defer { continuation.finish() }
                return try await work { state in
                    latest.state.withLock { $0 = state }
                    continuation.yield(state)
                }
            }
            let beating = Task {
                while true {
                    try await Task.sleep(for: heartbeat)
                    continuation.yield(latest.state.withLock { $0 })
                }
            }
            defer {
                working.cancel()
                beating.cancel()
            }
            try await writer.write(line("started") { running(start, &$0) })
            try await withGracefulShutdownHandler {
                for await state in states {
                    try await writer.write(line("running") { running(state, &$0) })
                    try await Task.sleep(for: interval)
                }
            } onGracefulShutdown: {
                working.cancel()
            }
            // Of a task that was cancelled the stream ends at once.
            try Task.checkCancellation()
            try await writer.write(end(of: working))
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"], body: body)
    }

    private func end(of working: Task<Outcome, any Error>) async -> ByteBuffer {
        do {
            let outcome = try await working.value
            return line("finished") { finished(outcome, &$0) }
        } catch let error as RecordError {
            return line("failed") { $0.members(of: error) }
        } catch is CancellationError {
            return line("failed") { $0.members(of: RecordError(.tryAgainLater, "The server is ending", retryAfter: 1)) }
        } catch {
            logger.error("A \(subject) failed", metadata: ["error": "\(error)"])
            return line("failed") { $0.members(of: RecordError(.internalError, "The \(subject) failed; the server's log says how")) }
        }
    }

    private func line(_ kind: String, _ members: (inout JSONWriter) -> Void) -> ByteBuffer {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member(subject, kind)
            members(&writer)
        }
        writer.endLine()
        return ByteBuffer(bytes: writer.bytes)
    }
}
