internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RequestLog
internal import Synchronization

/// Collects the log entry of a request while it is answered. The entry is logged when the answer is complete, for a
/// stream when it ends.
///
/// Logging must stay cheap: it only uses values that already exist, and reads and parses nothing on its own.
final class RequestRecorder: Sendable {
    /// The entry of the request that this task answers; `nil` if the request is not logged.
    @TaskLocal static var current: RequestRecorder?

    private struct State {
        var request: ServedRequest
        var bodies = RequestBodies()
        /// True if the bodies contain device tokens, which must not be logged.
        var hidesBodies = false
        var isFinished = false
    }

    let log: RequestLog
    private let begun: ContinuousClock.Instant
    private let state: Mutex<State>

    init(_ request: Request, _ context: ServingRequestContext, in log: RequestLog) {
        self.log = log
        begun = context.started
        let target = LoggedTarget(request)
        var served = ServedRequest(
            id: context.requestID, started: .now(), method: (context.isHead ? .head : request.method).rawValue,
            target: target.text, operation: target.path,
            client: ClientIdentity(of: request))
        // The size is set when the body is read, because the head may declare any size.
        served.hasUnreadBody =
            request.headers.contains(.transferEncoding) || request.headers.contentLength ?? 0 != 0
        state = Mutex(State(request: served))
    }

    /// Notes the client's ID from a body, if the request has no ID elsewhere.
    func noteDevice(_ deviceID: String?) {
        update { $0.client.deviceID = $0.client.deviceID ?? deviceID }
    }

    func update(_ change: (inout ServedRequest) -> Void) {
        state.withLock { change(&$0.request) }
    }

    // MARK: The request

    func asked(at path: WebServicePath) {
        state.withLock { state in
            state.request.place(path)
            state.hidesBodies = path.root == .device
        }
    }

    func asked(by caller: Caller) {
        update { $0.userRecordName = caller.access == .anonymous ? nil : caller.userRecordName }
    }

    /// - Parameter body: the bytes after content decoding.
    func received(_ body: [UInt8]) {
        state.withLock { state in
            state.request.bytesIn = body.count
            state.request.hasUnreadBody = false
            if !body.isEmpty, !state.hidesBodies { state.bodies.request = RequestBodies.Body(body) }
        }
    }

    /// Sets the size of an uploaded file, whose content is not logged.
    func received(file size: Int64) {
        update { request in
            request.bytesIn = Int(clamping: size)
            request.hasUnreadBody = false
        }
    }

    /// Adds the zones of the request.
    func about(_ zoneIDs: some Sequence<ZoneID>) {
        update { request in
            for zoneID in zoneIDs where !request.zoneIDs.contains(zoneID) { request.zoneIDs.append(zoneID) }
        }
    }

    // MARK: The answer

    /// - Parameter body: the complete body.
    func answered(_ body: [UInt8]) {
        state.withLock { state in
            state.request.bytesOut = body.count
            if !state.hidesBodies { state.bodies.response = RequestBodies.Body(body) }
        }
    }

    /// Appends to the body of a streamed answer.
    func streamed(_ bytes: some Collection<UInt8>) {
        state.withLock { state in
            state.request.bytesOut += bytes.count
            if state.hidesBodies { return }
            let kept = state.bodies.response?.bytes ?? []
            let room = RequestBodies.limit - kept.count
            state.bodies.response = RequestBodies.Body(
                room > 0 ? kept + bytes.prefix(room) : kept, of: state.request.bytesOut)
        }
    }

    /// Counts the results of the items of a batch request.
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

    /// Discards the counts of an answer that was dropped. They are counted again when the answer is made again.
    func droppedAnswer() {
        update { ($0.pulls, $0.records, $0.itemErrors) = ([], 0, []) }
    }

    func failed(_ error: RecordError, _ body: [UInt8]) {
        update { request in
            request.error = ServedRequest.ItemError(error)
            request.retryAfter = error.retryAfter
        }
        answered(body)
    }

    func failed(_ refusal: Refusal, _ context: ServingRequestContext) {
        failed(RecordError(refusal.code, refusal.reason), refusal.body(id: context.requestID))
    }

    // MARK: The end

    /// Adds the entry to the log. Only the first call counts.
    /// - Parameters:
    ///   - status: `nil` if the connection ended without an answer.
    ///   - complete: fills in missing values.
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

extension ClientIdentity {
    init(of request: Request) {
        let name = request.headers[.skylightClient].flatMap { $0.isEmpty ? nil : $0 }
        // The request is refused if this ID is invalid, so it needs none in the log.
        let device = try? CallerResolver.deviceID(of: request)
        // Only pages of the console have this origin, and a page cannot set this header itself.
        let isOfConsole = request.headers[.secFetchSite] == "same-origin"
        self.init(
            name: name ?? (isOfConsole && device == nil ? Self.consoleName : nil), deviceID: device,
            userAgent: request.headers[.userAgent])
    }
}

extension ServedRequest {
    /// Sets the database and the service of the request.
    mutating func place(_ path: WebServicePath) {
        container = path.container
        environment = path.environment
        if case .database(let scope) = path.root { self.scope = scope }
        operation = operation.hasPrefix(SkylightServices.root) ? "skylight/" + path.action : path.action
    }
}

// MARK: - Pulls

// Logs the pulls of changes, with the tokens sent and returned.

extension RecordDatabase {
    /// Reads a page of a zone's changes and logs it as a pull.
    func zoneChanges(_ request: ZoneChangesRequest, noting note: RequestRecorder?) async throws -> ZoneChangesPage {
        do {
            let page = try await zoneChanges(request)
            note?.pulled(ServedRequest.Pull(request, page))
            try await note?.checkDesiredKeys(request.desiredKeys, in: self)
            return page
        } catch let error as RecordError {
            note?.pulled(ServedRequest.Pull(request, error))
            throw error
        }
    }

    /// Reads a page of the database's changes and logs it as a pull.
    func databaseChanges(_ request: DatabaseChangesRequest, noting note: RequestRecorder?) async throws
        -> DatabaseChangesPage
    {
        var pull = ServedRequest.Pull(zoneID: nil, sent: request.since, given: nil, moreComing: false, changes: 0)
        do {
            let page = try await databaseChanges(request)
            (pull.given, pull.moreComing, pull.changes) = (page.syncToken, page.moreComing, page.changes.count)
            note?.pulled(pull)
            return page
        } catch let error as RecordError {
            pull.error = ServedRequest.ItemError(error)
            note?.pulled(pull)
            throw error
        }
    }
}

extension RequestRecorder {
    func pulled(_ pull: ServedRequest.Pull) {
        update { request in
            request.pulls.append(pull)
            // Only changes of a zone are records; changes of a database are zones.
            guard let zoneID = pull.zoneID else { return }
            request.records += pull.changes
            if !request.zoneIDs.contains(zoneID) { request.zoneIDs.append(zoneID) }
        }
    }

    /// Logs the progress of a stream. All its pages count as one pull.
    func streamed(_ pages: ServedRequest.Pull) {
        update { request in
            request.pulls = [pages]
            request.records = pages.changes
        }
    }

    /// Logs an error after the stream began.
    func streamFailed(_ error: RecordError) {
        let error = ServedRequest.ItemError(error)
        update { request in
            request.itemErrors.append(error)
            if !request.pulls.isEmpty { request.pulls[request.pulls.count - 1].moreComing = true }
        }
    }
}

extension ServedRequest.Pull {
    init(_ request: ZoneChangesRequest, _ page: ZoneChangesPage) {
        self.init(
            zoneID: request.zoneID, sent: request.since, given: page.syncToken, moreComing: page.moreComing,
            changes: page.changes.count,
            recordTypes: request.desiredRecordTypes, keys: request.desiredKeys, reverse: request.reverse)
    }

    init(_ request: ZoneChangesRequest, _ error: RecordError) {
        self.init(
            zoneID: request.zoneID, sent: request.since, given: nil, moreComing: false, changes: 0,
            recordTypes: request.desiredRecordTypes,
            keys: request.desiredKeys, reverse: request.reverse,
            error: ServedRequest.ItemError(error, name: request.zoneID.zoneName))
    }
}
