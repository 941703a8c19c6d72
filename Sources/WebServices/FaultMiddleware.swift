internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog

/// Injects faults into web service requests: reads the faults that a request asks for, fails requests
/// accordingly, and names the applied faults in the answer. Pages of the console are not affected.
///
/// Protocol requests are failed in ``inject(_:at:_:_:)`` after access control.
/// Refused requests therefore use up no faults, and their bodies are not read.
struct FaultMiddleware: Sendable {
    /// The query parameter for clients that cannot set the header `X-Skylight-Rehearse`. Both hold
    /// fault names for this request only, separated by commas. `none` exempts the request from all faults.
    private static let parameterName = "skylightRehearse"
    private static let exemption = "none"

    let services: FaultServices

    private var faults: FaultInjection { services.faults }

    func handle(
        _ request: Request, _ context: ServingRequestContext, _ next: (Request) async throws -> Response
    ) async throws -> Response {
        do {
            guard let scope = try scope(of: request, context) else { return try await next(request) }
            return try await RequestFaults.$current.withValue(scope) {
                let isOfProtocol = !request.path.hasPrefix(SkylightServices.root)
                // Services without a container, such as health, are exempt from faults. Malformed paths get their
                // regular error.
                let path = isOfProtocol ? nil : try? WebServicePath(request.path)
                var response =
                    if let path { try await inject(request, at: path, context) { try await next($0) } } else {
                        try await next(request)
                    }
                let shaped = scope.shaped
                if !shaped.isEmpty {
                    response.headers[.skylightRehearsal] = shaped.map(\.rawValue).joined(separator: ", ")
                }
                return response
            }
        } catch let lost as ConnectionLost {
            throw lost.cause
        } catch let error as RecordError {
            return Self.failure(error, context)
        }
    }

    /// The faults that apply to the request; `nil` if none can apply.
    private func scope(of request: Request, _ context: ServingRequestContext) throws -> RequestFaults? {
        guard let text = Self.asked(by: request) else {
            if faults.isIdle || FaultServices.isMeant(by: request) { return nil }
            return RequestFaults(by: ClientIdentity(of: request).names)
        }
        try FaultServices.checkPeer(of: request, context)
        let names = text.split(separator: ",").map { $0.filter { $0 != " " } }.filter { !$0.isEmpty }
        if names == [Self.exemption] || FaultServices.isMeant(by: request) { return RequestFaults(isExempt: true) }
        let settings = try names.map(Self.asked)
        return RequestFaults(
            asking: Set(settings.map(\.fault)), items: settings.lazy.compactMap(\.items).last ?? .standard,
            by: ClientIdentity(of: request).names)
    }

    private static func asked(by request: Request) -> String? {
        request.headers[.skylightRehearse] ?? request.queryParameter(parameterName)
    }

    private static func asked(_ name: String) throws -> FaultSetting {
        let setting = try FaultSetting(name)
        let fault = setting.fault
        if name.prefix(while: { $0 != ";" }).contains("=") {
            throw RecordError(.badRequest, "X-Skylight-Rehearse affects only its own request: '\(name)' takes no count")
        }
        if fault.kind == .act {
            throw RecordError(
                .badRequest,
                "'\(name)' is a one-time event and can't be sent in a header: POST it to \(FaultServices.path)")
        }
        if fault.shapesNotifications {
            throw RecordError(
                .badRequest,
                "'\(name)' is about notifications, which belong to no request: POST it to \(FaultServices.path)")
        }
        return setting
    }

    // MARK: Failing

    /// Applies the failure faults to a request. If none applies, the request is answered, late if that fault is active.
    /// - Parameter endSignIn: ends the sign-in of the client, and answers or throws what a client without one gets; `nil`
    ///   for a request that needs none.
    /// - Throws: ``ConnectionLost`` if there must be no answer or the body does not arrive; ``Refusal`` for a body that
    ///   is refused; errors of `endSignIn` and `answer`.
    func inject(
        _ request: Request, at path: WebServicePath, _ context: ServingRequestContext,
        endingSignIn endSignIn: (() async throws -> Response)? = nil,
        _ answer: (Request) async throws -> Response
    ) async throws -> Response {
        guard let scope = RequestFaults.current, !scope.isExempt else { return try await answer(request) }
        var request = request
        var zones = FaultArea.RequestedZones.database
        if faults.active.contains(where: { Self.decides($0.fault) && $0.area.zoneID != nil }) {
            // The body contains the names of the zones.
            let body = try await ConnectionLost.reading {
                _ = try await request.readSentBody()
                return try await request.bodyBytes()
            }
            zones = try await WorkPool.prompt.run(on: body.count) { [request] in
                FaultArea.RequestedZones(of: request, action: path.action, body: body)
            }
        }
        func covers(_ area: FaultArea) -> Bool {
            area.covers(path.container, path.environment, path.scope) && area.covers(zones)
        }
        func fails(_ fault: InjectedFault) -> Bool {
            scope.asked.contains(fault) || faults.take(fault, for: scope, where: { covers($0.area) }) != nil
        }
        if let endSignIn, fails(.signInExpired) {
            note(.signInExpired, scope)
            return try await endSignIn()
        }
        if fails(.throttled) {
            await Self.noteBody(of: request, at: path)
            return failure(.throttled, .rehearsedThrottling, context)
        }
        if fails(.tryAgainLater) {
            await Self.noteBody(of: request, at: path)
            return failure(.tryAgainLater, .rehearsedUnavailability, context)
        }
        if fails(.droppedBefore) {
            RequestRecorder.current?.update { $0.rehearsals = InjectedFault.droppedBefore.rawValue }
            // Unread input would turn the closing of the connection into a reset.
            await Self.noteBody(of: request, at: path)
            throw await dropped(context)
        }
        if fails(.droppedAfter) {
            // The log says why a request that was carried out has no answer.
            RequestRecorder.current?.update {
                ($0.rehearsals, $0.isBrokenOff) = (InjectedFault.droppedAfter.rawValue, true)
            }
            // The result does not matter: no answer is sent.
            _ = try? await answer(request)
            throw await dropped(context)
        }
        let isSlow = scope.asked.contains(.slow) || faults.isActive(.slow, for: scope, where: covers)
        if isSlow { note(.slow, scope) }
        let response = try await answer(request)
        if isSlow {
            // A client that does not wait ends the pause.
            try? await Task.sleep(for: faults.answerDelay)
        }
        return response
    }

    /// Reads the body of a request that fails on purpose, so that the log has it and the console can replay the request.
    /// Tokens of devices are not logged.
    private static func noteBody(of request: Request, at path: WebServicePath) async {
        guard let body = try? await request.bodyBytes(), path.root != .device else { return }
        RequestRecorder.current?.received(body)
    }

    /// Notes a fault, in the log as well: an answer of another server is logged before it gets here again.
    private func note(_ fault: InjectedFault, _ scope: RequestFaults) {
        scope.note(fault)
        RequestRecorder.current?.update { $0.rehearsals = fault.rawValue }
    }

    /// True for the faults that ``inject(_:at:_:endingSignIn:_:)`` applies, and for those that fail a request elsewhere.
    private static func decides(_ fault: InjectedFault) -> Bool { fault.kind == .failure || fault == .slow }

    /// Returns whether the download of a file must fail because its address counts as expired. Pages of the console
    /// still get the file, because they show what is stored.
    func isGone(_ request: Request, in container: ContainerID, _ environment: Records.Environment) -> Bool {
        guard let scope = RequestFaults.current, !scope.isExempt, request.headers[.secFetchSite] != "same-origin" else {
            return false
        }
        let fault = InjectedFault.assetGone
        guard
            scope.asked.contains(fault)
                || faults.take(fault, for: scope, where: { $0.area.covers(container, environment, nil) }) != nil
        else { return false }
        scope.note(fault)
        return true
    }

    private func failure(_ fault: InjectedFault, _ error: RecordError, _ context: ServingRequestContext) -> Response {
        var response = Self.failure(error, context)
        response.headers[.skylightRehearsal] = fault.rawValue
        return response
    }

    private static func failure(_ error: RecordError, _ context: ServingRequestContext) -> Response {
        .failure(error, of: context.requestID, noting: RequestRecorder.current)
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
