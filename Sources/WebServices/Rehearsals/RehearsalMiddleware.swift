internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records

/// Injects faults into web service requests: reads the faults that a request asks for, fails requests
/// accordingly, and names the applied faults in the answer. Pages of the console are not affected.
///
/// Protocol requests are failed in ``rehearse(_:at:_:_:)`` after access control.
/// Refused requests therefore use up no faults, and their bodies are not read.
struct RehearsalMiddleware: Sendable {
    /// The query parameter for clients that cannot set the header `X-Skylight-Rehearse`. Both hold
    /// fault names for this request only, separated by commas. `none` exempts the request from all faults.
    private static let parameterName = "skylightRehearse"
    private static let exemption = "none"

    let services: RehearsalServices

    private var rehearsals: Rehearsals { services.rehearsals }

    func handle(
        _ request: Request, _ context: ServingRequestContext, _ next: (Request) async throws -> Response
    ) async throws -> Response {
        do {
            guard let scope = try scope(of: request, context) else { return try await next(request) }
            return try await RehearsalScope.$current.withValue(scope) {
                let isOfProtocol = !request.path.hasPrefix(SkylightServices.root)
                // Services without a container, such as health, are exempt from faults. Malformed paths get their regular error.
                let path = isOfProtocol ? nil : try? WebServicePath(request.path)
                var response = if let path { try await rehearse(request, at: path, context) { try await next($0) } } else { try await next(request) }
                let shaped = scope.shaped
                if !shaped.isEmpty { response.headers[.skylightRehearsal] = shaped.map(\.rawValue).joined(separator: ", ") }
                return response
            }
        } catch let lost as ConnectionLost {
            throw lost.cause
        } catch let error as RecordError {
            return services.crossOrigin.allowing(request, Self.failure(error, context))
        }
    }

    /// The faults that apply to the request; `nil` if none can apply.
    private func scope(of request: Request, _ context: ServingRequestContext) throws -> RehearsalScope? {
        guard let text = Self.asked(by: request) else { return rehearsals.isIdle || RehearsalServices.isMeant(by: request) ? nil : RehearsalScope() }
        try RehearsalServices.checkPeer(of: request, context)
        let names = text.split(separator: ",").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
        if names == [Self.exemption] || RehearsalServices.isMeant(by: request) { return RehearsalScope(isExempt: true) }
        return RehearsalScope(asking: Set(try names.map(Self.asked)))
    }

    private static func asked(by request: Request) -> String? {
        request.headers[.skylightRehearse] ?? request.queryParameter(parameterName)
    }

    private static func asked(_ name: String) throws -> Rehearsal {
        let rehearsal = try RehearsalCue(name).rehearsal
        if name.contains("=") {
            throw RecordError(.badRequest, "X-Skylight-Rehearse affects only its own request: '\(name)' takes no count")
        }
        if rehearsal.kind == .act {
            throw RecordError(.badRequest, "'\(name)' is a one-time event and can't be sent in a header: POST it to \(RehearsalServices.path)")
        }
        return rehearsal
    }

    // MARK: Failing

    /// Applies the failure faults to a request. If none applies, the request is answered.
    /// - Throws: ``ConnectionLost`` if there must be no answer or the body does not arrive; ``Refusal`` for a body that is refused.
    func rehearse(
        _ request: Request, at path: WebServicePath, _ context: ServingRequestContext, _ answer: (Request) async throws -> Response
    ) async throws -> Response {
        guard let scope = RehearsalScope.current, !scope.isExempt else { return try await answer(request) }
        var request = request
        var reach = RehearsalArea.Reach.database
        if rehearsals.running.contains(where: { $0.rehearsal.kind == .failure && $0.area.zoneID != nil }) {
            // The body names the zones.
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
            // Unread input would turn the closing of the connection into a reset.
            _ = try? await request.bodyBytes()
            throw await dropped(context)
        }
        if fails(.droppedAfter) {
            // The result does not matter: no answer is sent.
            _ = try? await answer(request)
            throw await dropped(context)
        }
        return try await answer(request)
    }

    private func failure(_ rehearsal: Rehearsal, _ error: RecordError, _ request: Request, _ context: ServingRequestContext) -> Response {
        var response = Self.failure(error, context)
        response.headers[.skylightRehearsal] = rehearsal.rawValue
        return services.crossOrigin.allowing(request, response)
    }

    private static func failure(_ error: RecordError, _ context: ServingRequestContext) -> Response {
        .failure(error, of: context.requestID, noting: RequestNote.current)
    }

    /// Closes the connection.
    /// - Returns: the error that suppresses the answer.
    private func dropped(_ context: ServingRequestContext) async -> ConnectionLost {
        // The connection may be closed already, which is fine.
        try? await context.channel.close().get()
        return ConnectionLost(cause: ChannelError.alreadyClosed)
    }
}

extension WebServicePath {
    fileprivate var scope: DatabaseScope? {
        if case .database(let scope) = root { scope } else { nil }
    }
}
