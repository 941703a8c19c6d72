internal import AssetStore
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import RecordStore
internal import Records
internal import ServiceLifecycle
internal import Synchronization

/// A service for the files of a container's environment.
struct AssetService: Sendable {
    let method: HTTPRequest.Method
    let answer: @Sendable (AssetCall) async throws -> Response
}

/// A request for an asset service.
struct AssetCall: Sendable {
    let store: AssetStore
    let place: RequestAssets
    let request: Request
}

extension AssetService {
    /// `assets/facts`: returns the properties of a stored file.
    @Sendable static func facts(_ call: AssetCall) async throws -> Response {
        let checksum = try RequestObject(parametersOf: call.request).fileChecksum()
        let facts = try await call.store.facts(of: checksum)
        let links = try await call.place.links()
        let text = checksum.description
        let asset = Asset(fileChecksum: text, size: facts.size)
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("fileChecksum", text)
            writer.member("size", facts.size)
            if let size = facts.compressedSize { writer.member("compressedSize", size) }
            writer.member("mediaType", facts.type.mediaType)
            writer.member("preview", facts.type.preview.rawValue)
            writer.member("useCount", Int64(facts.useCount))
            writer.member(
                "downloadURL", links.downloadURL(of: asset, in: Name("\(text.prefix(8)).\(facts.type.fileExtension)")))
        }
        return .json(writer.bytes)
    }

    // MARK: Sweeping

    /// The maximum grace time for unused files, in days: a hundred years.
    private static let longestGraceTime = 36_525

    /// `assets/sweep`: removes unused files, or lists them in a dry run, as lines of JSON.
    @Sendable static func sweep(_ call: AssetCall) async throws -> Response {
        let bytes = try await call.request.receivedBytes()
        RequestRecorder.current?.received(bytes)
        let body = try await RequestObject.reading(bytes)
        let isDryRun = try body.bool("dryRun") ?? false
        let graceTime = try graceTime(in: body) ?? call.place.stores.graceTime
        let store = call.store
        let lines = ProgressLines<Void, AssetSweep>(
            subject: "sweep", start: (), running: { _, _ in }, finished: AssetSweep.form.write)
        return lines.response { _ in try await store.sweep(graceTime: graceTime, dryRun: isDryRun) }
    }

    private static func graceTime(in body: RequestObject) throws -> Duration? {
        guard let seconds = try body.wholeNumber("graceSeconds", from: 0) else { return nil }
        guard seconds <= longestGraceTime * 86_400 else {
            throw RecordError.unexpectedInput(
                "Expected 'graceSeconds' to be at most \(longestGraceTime * 86_400), which is \(longestGraceTime) days, found \(seconds)"
            )
        }
        return .seconds(seconds)
    }

    // MARK: Verification

    /// `assets/verify`: checks every file against its checksum and every reference against the files. Reports its
    /// progress and the result as lines of JSON.
    @Sendable static func verification(_ call: AssetCall) async throws -> Response {
        let store = call.store
        let lines = ProgressLines<AssetVerification, AssetVerification>(
            subject: "verification", start: AssetVerification(), running: AssetVerification.form.write,
            finished: { verification, writer in
                AssetVerification.form.write(verification, &writer)
                verification.problems.write(as: "problems", into: &writer)
            })
        return lines.response { report in try await store.verify { report($0) } }
    }
}

// MARK: - Progress

/// Reports the progress of a long operation as lines of JSON: `started`, `running`, then `finished` or `failed`.
///
/// The operation is cancelled if the client disconnects, which shows when a line cannot be sent, or if the server shuts
/// down.
struct ProgressLines<State: Sendable, Outcome: Sendable>: Sendable {
    /// The name of each line's first member, whose value is the kind of the line.
    let subject: Name
    /// The progress at the start.
    let start: State
    /// Writes the members of a progress line.
    let running: @Sendable (State, inout JSONWriter) -> Void
    /// Writes the members of the last line.
    let finished: @Sendable (Outcome, inout JSONWriter) -> Void

    /// The minimum time between lines.
    private var interval: Duration { .milliseconds(250) }
    /// The maximum time between lines.
    private var heartbeat: Duration { .seconds(1) }
    private var logger: Logger { Logger(label: "skylight.services") }

    private final class Latest: Sendable {
        let state: Mutex<State>

        init(_ state: State) {
            self.state = Mutex(state)
        }
    }

    /// - Parameter work: the operation. It reports its progress to its argument.
    func response(_ work: @escaping @Sendable (@escaping @Sendable (State) -> Void) async throws -> Outcome) -> Response
    {
        let body = ResponseBody { writer in
            // Keeps only the latest progress, so that a slow client skips outdated lines.
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
            // The loop also ends when this task is cancelled. Then there is nobody to send the last line to.
            try Task.checkCancellation()
            try await writer.write(end(of: working))
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson", .cacheControl: "no-store"], body: body)
    }

    private func end(of working: Task<Outcome, any Error>) async -> ByteBuffer {
        do {
            let outcome = try await working.value
            return line("finished") { finished(outcome, &$0) }
        } catch let error as RecordError {
            return line("failed") { $0.members(of: error) }
        } catch is CancellationError {
            return line("failed") {
                $0.members(of: RecordError(.tryAgainLater, "The server is stopping", retryAfter: 1))
            }
        } catch {
            logger.error("A \(subject) failed", metadata: ["error": "\(error)"])
            return line("failed") {
                $0.members(of: RecordError(.internalError, "The \(subject) failed; see the server's log"))
            }
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
