internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records
internal import Synchronization
internal import Traffic

/// What is known of a request while it is answered. It goes to the log when the answer is made, or for a stream when it ends.
///
/// It is filled from values that are at hand anyway: nothing is read, parsed or made for it alone.
final class RequestNote: Sendable {
    /// Of the request that this task answers; `nil` when nobody keeps it.
    @TaskLocal static var current: RequestNote?

    private static let clientHeader = HTTPField.Name("X-Skylight-Client")
    private static let deviceHeader = HTTPField.Name("X-Skylight-Device")
    /// The device that stands for none, see `Caller`.
    private static let unknownDevice: Name = "iCloud"

    private struct State {
        var request: ServedRequest
        var bodies = RequestBodies()
        var isFinished = false
    }

    private let log: RequestLog
    private let begun: ContinuousClock.Instant
    private let state: Mutex<State>

    init(_ request: Request, _ context: ServingRequestContext, in log: RequestLog) {
        self.log = log
        begun = context.started
        let target = NotedTarget(request)
        var served = ServedRequest(
            id: context.requestID, started: .now(), method: (context.isHead ? .head : request.method).rawValue, target: target.text, operation: target.path,
            client: Self.client(of: request))
        // How much it is shows when it is read: what a head says of it may be anything.
        served.hasUnreadBody = request.headers.contains(.transferEncoding) || request.headers[.contentLength].map { $0 != "0" } ?? false
        state = Mutex(State(request: served))
    }

    private static func client(of request: Request) -> ClientIdentity {
        let header = clientHeader.flatMap { request.headers[$0] }
        let parameter = request.uri.query == nil ? nil : request.uri.queryParameters["clientId"].map(String.init)
        let device = deviceHeader.flatMap { request.headers[$0] }.flatMap { $0.isEmpty || Name($0) == unknownDevice ? nil : $0 }
        return ClientIdentity(
            name: [header, parameter].compactMap(\.self).first { !$0.isEmpty }, deviceID: device, userAgent: request.headers[.userAgent])
    }

    func update(_ change: (inout ServedRequest) -> Void) {
        state.withLock { change(&$0.request) }
    }

    // MARK: What is asked

    func asked(at path: WebServicePath) {
        update { $0.place(path) }
    }

    func asked(by caller: Caller) {
        update { $0.userRecordName = caller.access == .anonymous ? nil : caller.userRecordName }
    }

    /// - Parameter body: as it was read, without its content coding.
    func received(_ body: [UInt8]) {
        state.withLock { state in
            state.request.bytesIn = body.count
            state.request.hasUnreadBody = false
            if !body.isEmpty { state.bodies.request = RequestBodies.Body(body) }
        }
    }

    /// Says how large a file was that was read, and is not kept.
    func received(file size: Int64) {
        update { request in
            request.bytesIn = Int(clamping: size)
            request.hasUnreadBody = false
        }
    }

    /// Adds the zones that the request names.
    func about(_ zoneIDs: some Sequence<ZoneID>) {
        update { request in
            for zoneID in zoneIDs where !request.zoneIDs.contains(zoneID) { request.zoneIDs.append(zoneID) }
        }
    }

    // MARK: What is answered

    /// - Parameter body: the whole of it.
    func answered(_ body: [UInt8]) {
        state.withLock { state in
            state.request.bytesOut = body.count
            state.bodies.response = RequestBodies.Body(body)
        }
    }

    /// Adds to the body of an answer that is sent piece by piece.
    func streamed(_ bytes: some Collection<UInt8>) {
        state.withLock { state in
            state.request.bytesOut += bytes.count
            let kept = state.bodies.response?.bytes ?? []
            let room = RequestBodies.limit - kept.count
            state.bodies.response = RequestBodies.Body(room > 0 ? kept + bytes.prefix(room) : kept, of: state.request.bytesOut)
        }
    }

    /// Counts what became of the items of a request, one by one.
    func items<Value>(_ results: [Result<Value, RecordError>], areRecords: Bool = true, named name: (Int) -> Name?) {
        update { request in
            for (index, result) in results.enumerated() {
                switch result {
                case .success: request.records += areRecords ? 1 : 0
                case .failure(let error): request.itemErrors.append(ServedRequest.ItemError(error, name: name(index)))
                }
            }
        }
    }

    /// Takes back what was said of records that were read for nothing: if they are read again, that is said again.
    func droppedAnswer() {
        update { ($0.pulls, $0.records, $0.itemErrors) = ([], 0, []) }
    }

    func failed(_ error: RecordError, _ body: [UInt8]) {
        update { $0.error = ServedRequest.ItemError(error) }
        answered(body)
    }

    func failed(_ refusal: Refusal, _ context: ServingRequestContext) {
        failed(RecordError(refusal.code, refusal.reason), refusal.body(id: context.requestID))
    }

    // MARK: The end

    /// Gives the note to the log. Only the first time counts.
    /// - Parameters:
    ///   - status: `nil` where the connection ended without an answer.
    ///   - complete: fills in what nobody said.
    func finish(status: HTTPResponse.Status? = nil, _ complete: (inout ServedRequest) -> Void = { _ in }) {
        let milliseconds = (ContinuousClock.now - begun) / .milliseconds(1)
        let finished = state.withLock { state -> State? in
            if state.isFinished { return nil }
            state.isFinished = true
            state.request.milliseconds = milliseconds
            if let status { state.request.status = status.code } else { state.request.isBrokenOff = true }
            complete(&state.request)
            return state
        }
        if let finished { log.note(finished.request, bodies: finished.bodies) }
    }
}

extension ServedRequest {
    /// Says which service of which database was meant.
    mutating func place(_ path: WebServicePath) {
        container = path.container
        environment = path.environment
        if case .database(let scope) = path.root { self.scope = scope }
        operation = operation.hasPrefix(SkylightServices.root) ? "skylight/" + path.action : path.action
    }
}
