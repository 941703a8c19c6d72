internal import CloudKitClient
internal import Foundation
public import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import RecordStore
public import Records
internal import RequestLog

/// Passes the requests for one container on to iCloud, as they are, and logs them with their answers (docs/clients.md).
///
/// A request is read to its end before it is sent, so that a part of one never arrives. Credentials pass through: they are
/// neither kept nor logged. An answer of usual size is also read to its end before the client gets any of it, so that an
/// answer that breaks off becomes an error. A longer one is streamed, and breaks off as it did.
public struct Proxy: Sendable {
    /// The connections to iCloud. More requests wait.
    private static let connections = 128
    /// The maximum size in bytes of an answer that is read to its end first. Longer ones are logged by their size.
    private static let wholeLimit = 1 << 20
    /// The same while there is no memory for more.
    private static let leastLimit = 64 << 10

    /// The rehearsals of requests that are passed on: those that fail a request, or delay its answer. The others need
    /// what iCloud stores.
    static let rehearsals: [InjectedFault] = [
        .slow, .throttled, .expiredToken, .zoneBusy, .conflict, .quotaExceeded, .partialFailure, .signInExpired,
        .tryAgainLater, .droppedBefore, .droppedAfter,
    ]

    /// The container.
    public let container: ContainerID
    private let origin: Exchanger

    /// - Parameters:
    ///   - address: another server that speaks CloudKit's protocol; `nil` for iCloud.
    ///   - certificates: certificates to trust besides the system's, in PEM format.
    /// - Throws: an error that says why the address or the certificates can't be used.
    public init(for container: ContainerID, to address: String? = nil, trusting certificates: [UInt8]? = nil) throws {
        var configuration = ClientConfiguration()
        if let address { configuration.address = address }
        configuration.trustedCertificates = certificates
        configuration.connections = Self.connections
        self.container = container
        origin = try Exchanger(configuration, credentials: .none, logger: Logger(label: "proxy"))
    }

    /// Closes the connections. Requests in progress fail.
    public func close() async { await origin.close() }

    /// True if the path of a request names the container.
    func covers(_ request: Request) -> Bool {
        guard let parts = request.pathParts, parts.count > 2, ["database", "device"].contains(parts[0]) else {
            return false
        }
        return ContainerID(String(parts[2])) == container
    }

    /// Passes a request on.
    /// - Parameter action: the service; `nil` if the path names none.
    /// - Throws: ``Refusal`` if there is no answer, or none that is complete; ``ConnectionLost``; `CancellationError`.
    func answer(_ request: Request, _ action: String?, noting note: RequestRecorder?) async throws -> Response {
        var request = request
        let target = request.head.path ?? "/"
        // Other characters would be encoded on the way, and a signature covers the path.
        guard URL(string: target, encodingInvalidCharacters: false) != nil else {
            throw Refusal(
                .badRequest, .badRequest,
                "The request target contains a character that must be percent-encoded, or an invalid percent-encoding")
        }
        let body = try await ConnectionLost.reading { try await request.readSentBody() }
        // A body that can't be decoded is iCloud's to refuse.
        let sent = note == nil ? [] : (try? await request.bodyBytes()) ?? []
        note?.received(sent)
        note?.update { $0.isPassedOn = true }
        do {
            let answer = try await origin.passOn(
                request.method.rawValue, target,
                Self.passing(request.headers.map { (name: $0.name.rawName, value: $0.value) }), body)
            guard (200..<600).contains(answer.status) else {
                throw Self.refusal("its answer has the status \(answer.status)")
            }
            return try await response(answer, to: sent, action, noting: note)
        } catch let failure as CloudKitFailure {
            throw Self.refusal(failure)
        }
    }

    /// iCloud's answer to a client whose sign-in is over: what it answers to the question for the current user, asked
    /// without the web auth token. CloudKit JS asks it to learn the address of the sign-in page. Nothing else of the
    /// request is passed on.
    func signInRequired(_ request: Request, at path: WebServicePath, noting note: RequestRecorder?) async throws
        -> Response
    {
        let token = SentQuery(request)["ckAPIToken"].map { "?ckAPIToken=\($0.sent)" } ?? ""
        let target = "/database/1/\(container)/\(path.environment.rawValue)/public/users/caller\(token)"
        let origin = request.headers[.origin].map { [(name: HTTPField.Name.origin.rawName, value: $0)] } ?? []
        do {
            let answer = try await self.origin.passOn(HTTPRequest.Method.get.rawValue, target, origin, [])
            return try await response(answer, to: [], nil, noting: note)
        } catch let failure as CloudKitFailure {
            throw Self.refusal(failure)
        }
    }

    // MARK: Headers

    /// The headers about one connection (RFC 9110, 7.6.1), about the length of a body, and those that are for this
    /// server.
    private static let ownHeaders: Set<String> = [
        "connection", "content-length", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization",
        "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "x-skylight-rehearse",
    ]

    /// The headers that are passed on, of a request or an answer.
    private static func passing(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
        // `Connection` names others that are about the connection.
        let named = headers.filter { $0.name.lowercased() == "connection" }.flatMap { $0.value.split(separator: ",") }
            .map { $0.filter { $0 != " " }.lowercased() }
        let own = ownHeaders.union(named)
        return headers.filter { !own.contains($0.name.lowercased()) }
    }

    // MARK: Answers

    private func response(_ answer: PassedAnswer, to sent: [UInt8], _ action: String?, noting note: RequestRecorder?)
        async throws -> Response
    {
        let status = HTTPResponse.Status(code: answer.status, reasonPhrase: answer.reasonPhrase)
        var headers = HTTPFields()
        for header in Self.passing(answer.headers) {
            if let name = HTTPField.Name(header.name) { headers.append(HTTPField(name: name, value: header.value)) }
        }
        // If the body tells its own length, it counts alone.
        let isChunked = answer.headers.contains { $0.name.lowercased() == "transfer-encoding" }
        let length = answer.headers.first { $0.name.lowercased() == "content-length" }
        let declared = isChunked ? nil : length.flatMap { Int($0.value) }
        let begin = try await begin(of: answer.body)
        guard begin.isWhole else {
            if let declared { headers[.contentLength] = String(declared) }
            return Response(status: status, headers: headers, body: rest(after: begin.bytes, answer.body, status, note))
                .passedOn()
        }
        if let note {
            if let bytes = await Self.decoded(begin.bytes, headers) {
                await note.passedOn(sent, bytes, of: action)
            } else {
                note.update { $0.bytesOut = begin.bytes.readableBytes }
            }
            // Before the answer is sent, so that a client that has it finds the entry.
            note.finish(status: status)
        }
        // An answer to HEAD has the length of a body that is not there.
        if begin.bytes.readableBytes == 0 {
            if let declared { headers[.contentLength] = String(declared) }
            return Response(status: status, headers: headers, body: ResponseBody { try await $0.finish(nil) })
                .passedOn()
        }
        return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: begin.bytes)).passedOn()
    }

    /// Reads an answer to its end or to a limit.
    private func begin(of body: PassedBody) async throws -> (bytes: ByteBuffer, isWhole: Bool) {
        let limit = Self.limit()
        var bytes = ByteBuffer()
        do {
            while bytes.readableBytes <= limit {
                guard let part = try await body.next() else { return (bytes, true) }
                bytes.writeImmutableBuffer(part)
            }
        } catch {
            throw origin.failure(error, reading: "an answer")
        }
        return (bytes, false)
    }

    private static func limit() -> Int {
        do {
            try RequestMemory.current?.prepareAnswer(of: wholeLimit)
            return wholeLimit
        } catch {
            return leastLimit
        }
    }

    /// The body of a long answer.
    private func rest(
        after begin: ByteBuffer, _ body: PassedBody, _ status: HTTPResponse.Status, _ note: RequestRecorder?
    )
        -> ResponseBody
    {
        ResponseBody { writer in
            do {
                var next: ByteBuffer? = begin
                while let part = next {
                    note?.update { $0.bytesOut += part.readableBytes }
                    next = try await body.next()
                    if next == nil { note?.finish(status: status) }
                    try await writer.write(part)
                }
                try await writer.finish(nil)
            } catch {
                note?.finish(status: status) { $0.isBrokenOff = true }
                throw error
            }
        }
    }

    /// A body without its content encoding; `nil` for an encoding other than gzip, a damaged or a large body.
    private static func decoded(_ body: ByteBuffer, _ headers: HTTPFields) async -> [UInt8]? {
        guard let coding = headers[.contentEncoding], coding != "identity" else { return Array(body.readableBytesView) }
        var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: nil)
        head.headerFields[.contentEncoding] = coding
        return try? await Request(head: head, body: RequestBody(buffer: body)).bodyBytes(limit: wholeLimit)
    }

    /// The answer if iCloud gave none.
    private static func refusal(_ failure: CloudKitFailure) -> Refusal {
        let words = failure.kind.words
        switch failure.kind {
        case .unreachable: return Refusal(.serviceUnavailable, .tryAgainLater, away(words))
        case .connectionLost: return refusal(words + "; what the request asked for may have been done")
        default: return refusal(words)
        }
    }

    private static func refusal(_ words: String) -> Refusal { Refusal(.badGateway, .internalError, away(words)) }

    private static func away(_ words: String) -> String { RecordError(known: .cloudKitAway, words).reason }
}

// MARK: - The services

extension WebServices {
    /// The requests that a proxy passes on. They are logged, and fail in rehearsals, like those to these services.
    public func passing(on proxy: Proxy) -> PassingOn {
        let layers = layers(nil)
        return PassingOn(covers: proxy.covers) { request, context in
            // Preflights are not logged.
            if request.method == .options {
                return try await guarded(request, context) { try await proxy.answer(request, nil, noting: nil) }
            }
            return try await layers(request, context) { request, context in
                try await guarded(request, context) { try await passOn(request, context, with: proxy) }
            }
        }
    }

    private func passOn(_ request: Request, _ context: ServingRequestContext, with proxy: Proxy) async throws
        -> Response
    {
        let note = RequestRecorder.current
        let credentials = Credentials(request)
        note?.update { $0.authentication = Authentication(way: credentials.way) }
        guard let path = try? WebServicePath(request.path) else {
            return try await proxy.answer(request, nil, noting: note)
        }
        note?.asked(at: path)
        if !EndpointTable.knows(path.action) { note?.update { $0.operation = String(request.path) } }
        if let fault = RequestFaults.current?.asked.first(where: { !Proxy.rehearsals.contains($0) }) {
            throw RecordError(
                .badRequest,
                "'\(fault.rawValue)' can't be rehearsed on a request that is passed on to iCloud; choose one of \(Proxy.rehearsals.map(\.rawValue).joined(separator: ", "))"
            )
        }
        // A server-to-server key needs no sign-in.
        let isSignedIn = credentials.webAuthToken != nil && credentials.signature == nil
        let endSignIn = { try await proxy.signInRequired(request, at: path, noting: note) }
        return try await faultServices.middleware.inject(
            request, at: path, context, endingSignIn: isSignedIn ? endSignIn : nil
        ) { request in
            var request = request
            if let response = try await rehearsed(&request, context, at: path) { return response }
            return try await proxy.answer(request, path.action, noting: note)
        }
    }

    /// The services whose items fail in rehearsals.
    private static let failing: Set<String> = [
        "records/query", "records/lookup", "records/modify", "records/changes", "changes/zone", "changes/database",
    ]

    /// The answer of a rehearsal that fails the request, or its items, as it would fail in a store of this server; `nil`
    /// to pass the request on. Nothing of a request that is answered here is passed on: items that do not fail in the
    /// rehearsal get TRY_AGAIN_LATER.
    private func rehearsed(_ request: inout Request, _ context: ServingRequestContext, at path: WebServicePath)
        async throws
        -> Response?
    {
        guard let faults = RequestFaults.current, !faults.isExempt, Self.failing.contains(path.action),
            let endpoint = try? EndpointTable.endpoint(at: path, method: request.method)
        else { return nil }
        _ = try await ConnectionLost.reading { try await request.readSentBody() }
        let sent = try await request.receivedBytes()
        // What is no request of the protocol is iCloud's to refuse.
        guard let body = try? await RequestObject.reading(sent) else { return nil }
        let call = EndpointCall(
            path: path, caller: Caller(userRecordName: "_iCloud"), accounts: callers.accounts, isGET: false, body: body,
            wantsSyncToken: false, engine: FaultInjectingEngine(StorelessEngine(), faultServices.faults),
            assets: RequestAssets(assets, path.container, path.environment, for: request), notifier: notifier,
            origin: { "" }, requestID: context.requestID, context: context, note: nil)
        // The faults of this attempt count only if it fails.
        let attempt = RequestFaults(asking: faults.asked, items: faults.items, by: faults.clientNames)
        let response: Response
        do {
            let answer = try await RequestFaults.$current.withValue(attempt) {
                var writer = JSONWriter()
                try await endpoint.answer(call, into: &writer)
                return writer.bytes
            }
            guard attempt.hasFailed else { return nil }
            response = .json(answer)
            RequestRecorder.current?.received(sent)
            await RequestRecorder.current?.passedOn(sent, answer, of: path.action)
        } catch let error as RecordError where attempt.hasFailed {
            RequestRecorder.current?.received(sent)
            response = .failure(error, of: context.requestID, noting: RequestRecorder.current)
        } catch {
            return nil
        }
        for fault in attempt.shaped where fault.kind == .failure { faults.note(fault) }
        return response
    }
}

extension Credentials {
    /// The kind of the credentials, which iCloud checks.
    fileprivate var way: Authentication.Way {
        if isMixed { return .mixed }
        if signature != nil { return .serverKey }
        return webAuthToken != nil ? .webAuth : apiToken != nil ? .apiToken : .nothing
    }
}
