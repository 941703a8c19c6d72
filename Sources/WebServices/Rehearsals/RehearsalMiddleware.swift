internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records

/// Lets requests to the web services rehearse: answers `/skylight/1/rehearsals`, reads what a request itself asks for, fails those that
/// are to fail, and says in the answer what shaped it. Pages of the console pass untouched.
///
/// Requests of the protocol are failed by ``rehearse(_:at:_:_:)``, when it is known that whoever asks may: others use up no failures, and no body
/// of theirs is read.
struct RehearsalMiddleware: RouterMiddleware {
    typealias Context = ServingRequestContext

    /// Names of rehearsals for this request alone, separated by commas; `none` for a request that is to see everything as it is.
    private static let requestHeader = HTTPField.Name("X-Skylight-Rehearse")
    /// The same for clients that can't set headers.
    private static let parameterName = "skylightRehearse"
    private static let exemption = "none"
    /// Names what shaped the answer.
    static let answerHeader = HTTPField.Name("X-Skylight-Rehearsal")

    let services: RehearsalServices

    private var rehearsals: Rehearsals { services.rehearsals }

    func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        guard request.isWebServiceRequest, request.method != .options else { return try await next(request, context) }
        do {
            if request.uri.path == RehearsalServices.path {
                return services.crossOrigin.allowing(request, try await services.answer(to: request, context: context))
            }
            guard let scope = try scope(of: request, context) else { return try await next(request, context) }
            return try await RehearsalScope.$current.withValue(scope) {
                let isOfProtocol = !request.uri.path.hasPrefix(SkylightServices.root)
                // Health and the like are of no container, and always told; so is what is wrong with a path.
                let path = isOfProtocol ? nil : try? WebServicePath(request.uri.path)
                var response =
                    if let path { try await rehearse(request, at: path, context) { try await next($0, context) } } else { try await next(request, context) }
                let shaped = scope.shaped
                if !shaped.isEmpty, let name = Self.answerHeader { response.headers[name] = shaped.map(\.rawValue).joined(separator: ", ") }
                return response
            }
        } catch let lost as ConnectionLost {
            throw lost.cause
        } catch let error as RecordError {
            return services.crossOrigin.allowing(request, Self.failure(error, context))
        }
    }

    /// What the request rehearses; `nil` where nothing is rehearsed at all.
    private func scope(of request: Request, _ context: ServingRequestContext) throws -> RehearsalScope? {
        guard let text = Self.asked(by: request) else { return rehearsals.running.isEmpty ? nil : RehearsalScope() }
        try RehearsalServices.checkPeer(of: request, context)
        let names = text.split(separator: ",").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
        if names == [Self.exemption] { return RehearsalScope(isExempt: true) }
        return RehearsalScope(asking: Set(try names.map(Self.asked)))
    }

    private static func asked(by request: Request) -> String? {
        if let name = requestHeader, request.headers.contains(name) { return request.headers[values: name].joined(separator: ",") }
        guard request.uri.query != nil else { return nil }
        return request.uri.queryParameters[parameterName[...]].map(String.init)
    }

    private static func asked(_ name: String) throws -> Rehearsal {
        let rehearsal = try RehearsalCue(name).rehearsal
        if name.contains("=") {
            throw RecordError(.badRequest, "X-Skylight-Rehearse is about its own request alone: '\(name)' needs no count")
        }
        if rehearsal.kind == .act {
            throw RecordError(.badRequest, "'\(name)' happens once and stands in no header: POST it to \(RehearsalServices.path)")
        }
        return rehearsal
    }

    // MARK: Failing

    /// Fails a request that is to fail, and lets others be answered.
    /// - Throws: ``ConnectionLost`` where there is to be no answer, or the body does not arrive; ``Refusal`` for a body that is refused.
    func rehearse(
        _ request: Request, at path: WebServicePath, _ context: ServingRequestContext, _ answer: (Request) async throws -> Response
    ) async throws -> Response {
        guard let scope = RehearsalScope.current, !scope.isExempt else { return try await answer(request) }
        var request = request
        var reach = RehearsalArea.Reach.database
        if rehearsals.running.contains(where: { $0.rehearsal.kind == .failure && $0.area.zoneID != nil }) {
            // Which zones are meant stands in the body.
            let body = try await ConnectionLost.reading {
                _ = try await request.readSentBody()
                return try await request.bodyBytes()
            }
            reach = try await WorkPool.prompt.run(on: body.count) { [request] in RehearsalArea.Reach(of: request, action: path.action, body: body) }
        }
        let place: (RehearsalArea) -> Bool = { area in area.covers(path.container, path.environment, path.scope) && area.covers(reach) }
        func fails(_ rehearsal: Rehearsal) -> Bool {
            scope.asked.contains(rehearsal) || rehearsals.take(rehearsal, where: place)
        }
        if fails(.throttled) {
            return failure(
                .throttled, RecordError(.throttled, "Request was throttled; this is a rehearsal", retryAfter: Rehearsal.retryAfter), request, context)
        }
        if fails(.tryAgainLater) {
            return failure(.tryAgainLater, RecordError(.tryAgainLater, "The service is not available; this is a rehearsal"), request, context)
        }
        if fails(.droppedBefore) {
            // What is still on its way would turn the end of the connection into a reset.
            _ = try? await request.bodyBytes()
            throw await dropped(context)
        }
        if fails(.droppedAfter) {
            // However it ends.
            _ = try? await answer(request)
            throw await dropped(context)
        }
        return try await answer(request)
    }

    private func failure(_ rehearsal: Rehearsal, _ error: RecordError, _ request: Request, _ context: ServingRequestContext) -> Response {
        var response = Self.failure(error, context)
        if let name = Self.answerHeader { response.headers[name] = rehearsal.rawValue }
        return services.crossOrigin.allowing(request, response)
    }

    private static func failure(_ error: RecordError, _ context: ServingRequestContext) -> Response {
        .failure(error, of: context.requestID, noting: RequestNote.current)
    }

    /// Ends the connection.
    /// - Returns: the error that leaves nothing to be answered.
    private func dropped(_ context: ServingRequestContext) async -> ConnectionLost {
        // One that is closed already is what is wanted.
        try? await context.channel.close().get()
        return ConnectionLost(cause: ChannelError.alreadyClosed)
    }
}

extension WebServicePath {
    fileprivate var scope: DatabaseScope? {
        if case .database(let scope) = root { scope } else { nil }
    }
}
