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

/// `assets/facts`: returns the properties of a stored file.
enum AssetFactsService {
    static func answer(_ call: AssetCall) async throws -> Response {
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
}

/// `assets/sweep`: removes unused files, or lists them in a dry run, as lines of JSON.
enum AssetSweepService {
    /// The maximum grace time for unused files, in days: a hundred years.
    private static let longestGraceTime = 36_525

    static func answer(_ call: AssetCall) async throws -> Response {
        let bytes = try await call.request.receivedBytes()
        RequestRecorder.current?.received(bytes)
        let body = try await RequestObject.reading(bytes)
        let isDryRun = try body.bool("dryRun") ?? false
        let graceTime = try graceTime(in: body) ?? call.place.stores.graceTime
        let store = call.store
        let lines = ProgressLines<Void, AssetSweep>(
            subject: "sweep", start: (), running: { _, _ in }, finished: { $1.members(of: $0) })
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
}

extension JSONWriter {
    fileprivate mutating func members(of sweep: AssetSweep) {
        member("dryRun", sweep.isDryRun)
        name("removed")
        array { writer in
            for file in sweep.removed {
                writer.object { writer in
                    writer.member("name", file.name)
                    if let checksum = file.checksum { writer.member("fileChecksum", checksum.description) }
                    writer.member("bytes", file.bytes)
                }
            }
        }
        member("removedBytes", sweep.removedBytes)
        member("waiting", Int64(sweep.waiting))
    }
}

// MARK: - Verification

/// `assets/verify`: checks every file against its checksum and every reference
/// against the files. Reports its progress and the result as lines of JSON.
enum AssetVerificationService {
    static func answer(_ call: AssetCall) async throws -> Response {
        let store = call.store
        let lines = ProgressLines<AssetVerification, AssetVerification>(
            subject: "verification", start: AssetVerification(), running: { $1.members(of: $0) },
            finished: { verification, writer in
                writer.members(of: verification)
                writer.name("problems")
                writer.array { writer in
                    for problem in verification.problems { writer.value(problem) }
                }
            })
        return lines.response { report in try await store.verify { report($0) } }
    }
}

extension JSONWriter {
    /// The progress of a verification. It has the number of problems; only the last line lists them.
    fileprivate mutating func members(of verification: AssetVerification) {
        member("filesDone", Int64(verification.filesDone))
        member("filesTotal", Int64(verification.filesTotal))
        member("bytesDone", verification.bytesDone)
        member("bytesTotal", verification.bytesTotal)
        member("referencesDone", Int64(verification.referencesDone))
        member("unusedFiles", Int64(verification.unusedFiles))
        member("unusedBytes", verification.unusedBytes)
        member("problemCount", Int64(verification.problems.count))
    }

    fileprivate mutating func value(_ problem: AssetVerification.Problem) {
        object { writer in
            writer.member("problem", problem.kind.rawValue)
            writer.member("fileChecksum", problem.checksum)
            writer.member("explanation", problem.explanation)
            guard let use = problem.use else { return }
            writer.name("use")
            writer.value(use)
        }
    }
}

// MARK: - Uses

/// `assets/uses`: lists the records that refer to the same file.
struct AssetUsesService: Endpoint {
    static let allowsGET = true

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let checksum = try body.fileChecksum()
        let limit = try body.widePageLimit().records
        let database = try await call.database()
        let uses = try await database.require(.traceAssets).uses(of: checksum, limit: limit)
        writer.object { writer in
            writer.name("visible")
            writer.array { writer in
                for use in uses.visible { writer.value(use) }
            }
            writer.member("total", Int64(uses.total))
        }
    }
}

extension RequestObject {
    /// - Throws: `RecordError` BAD_REQUEST if the checksum is missing or malformed.
    func fileChecksum() throws -> FileChecksum {
        let kind = "64 hexadecimal digits in lower case"
        let text = try required("fileChecksum", kind, string("fileChecksum"))
        guard let checksum = FileChecksum(text) else {
            throw RecordError.unexpectedInput("Expected 'fileChecksum' to be \(kind)")
        }
        return checksum
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
