public import Accounts
public import AssetStore
internal import CEmbeddedFiles
public import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Logging
public import RecordStore
public import Records
public import RequestLog

/// CloudKit Web Services: `/database/1/{container}/{environment}/{database}/{entity}/{action}`, the few paths under
/// `/device/1` (Apple: "CloudKit Web Services Reference") and the web courier at `/aps`. Also Skylight's own services
/// under `/skylight/1` (docs/services.md) and the files under `/assets` (docs/assets.md).
///
/// All answers below these paths, except files, are JSON in the protocol's format. A request that fails as a whole
/// has the HTTP status of its `serverErrorCode`. Items that fail alone are errors in an answer with status 200.
public struct WebServices: Sendable {
    private let engine: any RecordEngine
    /// The same engine with fault injection.
    private let injecting: FaultInjectingEngine
    let assets: AssetStores
    private let access: AccessControl
    let callers: CallerResolver
    private let authenticator: Authenticator
    let faultServices: FaultServices
    private let instance: String?
    private let storage: StorageGauges
    let notifier: Notifier
    let log: RequestLog

    /// - Parameters:
    ///   - engine: the storage interface to the containers.
    ///   - accounts: the users.
    ///   - assets: the files of the same engine's records.
    ///   - faults: the active fault injection (docs/rehearsals.md).
    ///   - log: the request log.
    ///   - access: the access control; `nil` if no credentials are required. It must use the same accounts.
    ///   - throttle: the rate limit for protocol requests per client; `nil` for no limit.
    ///   - clock: the clock for sessions, sign-ins and signatures; `nil` for the clock of the assets.
    ///   - notifier: sends notifications of changes to devices; `nil` to create one for these services.
    ///   - instance: an identifier of this server in the answer of `health`; `nil` for none.
    public init(
        engine: any RecordEngine, accounts: Accounts, assets: AssetStores, faults: FaultInjection = FaultInjection(),
        log: RequestLog = RequestLog(), access: AccessControl? = nil, throttle: Throttle? = nil,
        clock: (@Sendable () -> Timestamp)? = nil, notifier: Notifier? = nil, instance: String? = nil
    ) {
        self.log = log
        self.instance = instance
        self.assets = assets
        self.engine = engine
        injecting = FaultInjectingEngine(engine, faults)
        storage = StorageGauges(engine)
        self.notifier =
            notifier
            ?? Notifier(
                engine: engine, accounts: accounts, faults: faults, log: log.notifications,
                now: clock ?? { assets.now() })
        self.access = access ?? .open(accounts)
        callers = CallerResolver(accounts: accounts)
        authenticator = Authenticator(
            access: self.access, callers: callers, throttle: throttle, now: clock ?? { assets.now() })
        faultServices = FaultServices(engine: engine, faults: faults, callers: callers)
    }

    /// Adds the routes below `/database`, `/device`, `/skylight` and `/assets`, and those of the server itself.
    public func addRoutes(to routes: Routes) {
        let gate = access.mode == .required ? AdministratorGate(access: access) : nil
        // The administrator's routes are all except three: the protocol and other services that apps call, which have
        // their own credentials; asset addresses, which contain tickets; and public facts about the server.
        let open = routes.group(layers(nil))
        let administrators = routes.group(layers(gate))
        addProtocol(to: open)
        open.otherMethods(of: "/assets/**", threads: .eventLoop) { request, context in
            try await assets(request, context)
        }
        open.get(SkylightServices.root + "health", threads: .eventLoop, health)
        open.otherMethods(
            of: SkylightServices.root + "health",
            service { request, context in throw try SkylightServices.refusal(of: request, context) })
        addSkylight(to: administrators)
        addServer(
            to: routes.group { request, context, next in try await next(request, context) },
            administrators: routes.group { request, context, next in
                if let refusal = try await gate?.refusal(of: request, context) { return refusal }
                return try await next(request, context)
            })
    }

    /// The middleware of the services: the request log, access control and fault injection, each only if it is enabled.
    func layers(_ gate: AdministratorGate?) -> Routes.Wrapper {
        let noting = RequestLogMiddleware(log: log, believesNames: access.mode == .open)
        return { [injecting = faultServices.middleware] request, context, next in
            try await noting.handle(request, context) {
                if let refusal = try await gate?.refusal(of: request, context) { return refusal }
                return try await injecting.handle(request, context) { request in try await next(request, context) }
            }
        }
    }

    // MARK: The protocol

    private func addProtocol(to open: Routes.Group) {
        for (root, table) in [
            ("/database/1/", EndpointTable.database), (SkylightServices.root, SkylightServices.ofUsers),
        ] {
            for (action, endpoint) in table {
                for method in endpoint.methods {
                    open.on(
                        "\(root){container}/{environment}/{database}/\(action)", method: method,
                        threads: endpoint.isBrief ? .eventLoop : .pool
                    ) { request, context in
                        try await ofProtocol(request, context, (action, endpoint))
                    }
                }
            }
        }
        for (action, endpoint) in EndpointTable.device {
            open.post("/device/1/{container}/{environment}/\(action)") { request, context in
                try await ofProtocol(request, context, (action, endpoint))
            }
        }
        open.get(WebCourier.path) { [notifier] request, context in
            try await WebCourier(notifier: notifier).answer(request, context)
        }
        open.otherMethods(
            of: WebCourier.path,
            service { request, _ in
                throw EndpointTable.wrongMethod(request.method, of: WebCourier.path, allowed: ["GET"])
            })
        for root in ["/database/**", "/device/**"] {
            open.otherMethods(of: root) { request, context in try await ofProtocol(request, context, nil) }
        }
    }

    /// Answers a protocol service. If the request has a valid web auth token, even an error answer carries the next
    /// one.
    /// - Parameter route: the service; `nil` to find it by the path. If the path names no service, or the service needs
    ///   another method, the answer is an error.
    private func ofProtocol(
        _ request: Request, _ context: ServingRequestContext, _ route: (action: String, endpoint: any Endpoint)?
    ) async throws -> Response {
        var session: WebAuthSession?
        var response = try await guarded(request, context) {
            let path =
                try route.map { try WebServicePath(context.parts, action: $0.action) } ?? WebServicePath(request.path)
            let endpoint = try route?.endpoint ?? EndpointTable.endpoint(at: path, method: request.method)
            RequestRecorder.current?.asked(at: path)
            var request = request
            let client = try await authenticator.authenticate(
                &request, at: path, for: endpoint.purpose, of: &session, context)
            // An injected fault can answer instead of the service. For Skylight's own services, the active faults were
            // already applied.
            RequestRecorder.current?.asked(by: client.caller)
            if request.path.hasPrefix(SkylightServices.root) {
                return try await answer(to: request, context, as: client.caller, at: path, with: endpoint)
            }
            let signedIn = request
            let endSignIn: () async throws -> Response = {
                defer { session = nil }
                throw try await authenticator.endSignIn(of: client, session, signedIn, at: path)
            }
            let needsSignIn = authenticator.needsSignIn(client, of: session, at: path, for: endpoint.purpose)
            return try await faultServices.middleware.inject(
                request, at: path, context, endingSignIn: needsSignIn ? endSignIn : nil
            ) { request in
                try await answer(to: request, context, as: client.caller, at: path, with: endpoint)
            }
        }
        if let session {
            let token = authenticator.nextToken(of: session)
            for header in Credentials.answerHeaders(to: request) { response.headers[header] = token }
        }
        return response
    }

    // MARK: Skylight's own services (docs/services.md)

    private func addSkylight(to administrators: Routes.Group) {
        let root = SkylightServices.root
        for (action, service) in SkylightServices.server.merging(AccountServices.all, uniquingKeysWith: { $1 })
        where action != "health" {
            administrators.on(root + action, method: service.method, answer(service))
        }
        for action in TrafficServices.names + ["requests/{id}"] {
            administrators.get(
                root + action,
                service { request, context in
                    let action = action == "requests/{id}" ? "requests/\(context.parts[3])" : action
                    return try await TrafficServices(log: log).answer(action, to: request)
                })
        }
        for method in [HTTPRequest.Method.get, .post] {
            administrators.on(
                FaultServices.path, method: method,
                service { request, context in
                    try await faultServices.answer(to: request, context: context)
                })
        }
        for (action, assetService) in SkylightServices.ofEnvironments {
            administrators.on(
                root + "{container}/{environment}/\(action)", method: assetService.method,
                service { request, context in
                    let path = try WebServicePath(context.parts, action: action)
                    let place = RequestAssets(assets, path.container, path.environment, for: request)
                    guard let store = try await place.existingStore() else {
                        throw RecordError(.notFound, "There is no container \(path.container)")
                    }
                    return try await assetService.answer(AssetCall(store: store, place: place, request: request))
                })
        }
        let database = root + "{container}/{environment}/{database}/"
        for (action, stream) in SkylightServices.streams {
            administrators.get(
                database + action,
                service { request, context in
                    try await stream(feedRequest(request, at: WebServicePath(context.parts, action: action)))
                })
        }
        for (action, endpoint) in SkylightServices.endpoints {
            for method in endpoint.methods {
                administrators.on(
                    database + action, method: method,
                    service { request, context in
                        let path = try WebServicePath(context.parts, action: action)
                        RequestRecorder.current?.asked(at: path)
                        return try await answer(
                            to: request, context, as: callers.caller(of: request), at: path, with: endpoint)
                    })
            }
        }
        administrators.otherMethods(
            of: "/skylight/**", service { request, context in throw try SkylightServices.refusal(of: request, context) }
        )
    }

    private func feedRequest(_ request: Request, at path: WebServicePath) async throws -> FeedRequest {
        guard case .database(let scope) = path.root else { throw SkylightServices.unknown(path.action) }
        let note = RequestRecorder.current
        note?.asked(at: path)
        let caller = try callers.caller(of: request)
        note?.asked(by: caller)
        // A fault may be turned on while a stream is running.
        let database = try await injecting.database(
            DatabaseAddress(container: path.container, environment: path.environment, scope: scope), as: caller)
        return try FeedRequest(
            request, database: database, assets: RequestAssets(assets, path.container, path.environment, for: request),
            notifier: notifier, note: note)
    }

    /// A handler that answers errors in the protocol's format.
    private func service(_ answer: @escaping Routes.Handler) -> Routes.Handler {
        { request, context in try await guarded(request, context) { try await answer(request, context) } }
    }

    /// A handler for a service of the server.
    private func answer(_ serverService: ServerService) -> Routes.Handler {
        service { request, context in
            try await serverService.answer(
                ServerCall(
                    engine: engine, callers: callers, access: access, peer: context.peer, request: request,
                    instance: instance))
        }
    }

    private var health: Routes.Handler { answer(SkylightServices.health) }

    private func answer(
        to request: Request, _ context: ServingRequestContext, as caller: Caller, at path: WebServicePath,
        with endpoint: any Endpoint
    ) async throws -> Response {
        let note = RequestRecorder.current
        note?.asked(by: caller)
        let bytes = request.method == .post ? try await request.receivedBytes() : []
        note?.received(bytes)
        let body =
            request.method == .post ? try await RequestObject.reading(bytes) : try RequestObject(parametersOf: request)
        let call = EndpointCall(
            path: path, caller: caller, accounts: callers.accounts, isGET: request.method == .get, body: body,
            // Python clients send `True`.
            wantsSyncToken: request.queryParameter("getCurrentSyncToken")?.lowercased() == "true",
            // If no faults apply to the request, the engine is used directly.
            engine: RequestFaults.current == nil ? engine : injecting,
            assets: RequestAssets(assets, path.container, path.environment, for: request), notifier: notifier,
            origin: { request.ownOrigin }, requestID: context.requestID, context: context,
            note: note)
        let answer = try await written(call, with: endpoint)
        note?.answered(answer)
        return .json(answer)
    }

    /// The body of an answer. On the event loop, a service that turns out to take long begins again elsewhere.
    private func written(_ call: EndpointCall, with endpoint: any Endpoint) async throws -> [UInt8] {
        guard call.context.isOnEventLoop else { return try await made(call, with: endpoint) }
        // Injected faults are counted, so what has them must not begin again.
        guard RequestFaults.current == nil else {
            return try await ConcurrencyPool.run { try await made(call, with: endpoint) }
        }
        return try await BriefWork.run { try await made(call, with: endpoint) }
    }

    /// The body of an answer. If memory is short, the records are dropped and read again later.
    private func made(_ call: EndpointCall, with endpoint: any Endpoint) async throws -> [UInt8] {
        try await RequestMemory.makeAnswer {
            var writer = JSONWriter(capacity: 4096)
            do {
                try await endpoint.answer(call, into: &writer)
            } catch  where error is RequestMemory.Shortage || error is BriefWork.TooLong {
                call.note?.droppedAnswer()
                throw error
            }
            return writer.bytes
        }
    }

    /// Runs a service, and converts its errors to the protocol's error answers.
    func guarded(
        _ request: Request, _ context: ServingRequestContext, _ answer: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await answer()
        } catch let error as RecordError {
            if error.code == .internalError { report(error, request, context) }
            return Self.failure(error, context)
        } catch let failure as AuthenticationFailure {
            return .failure(
                failure.error, of: context.requestID, noting: RequestRecorder.current, redirectURL: failure.redirectURL)
        } catch let expired as AssetTicketExpired {
            return Self.refusal(Refusal(.gone, expired.error.code, expired.error.reason), request, context)
        } catch let refusal as Refusal {
            return Self.refusal(refusal, request, context)
        } catch let lost as ConnectionLost {
            throw lost.cause
        } catch let error as CancellationError {
            throw error
        } catch {
            report(error, request, context)
            return Self.failure(RecordError(.internalError, "The server failed; see its log"), context)
        }
    }

    private func report(_ error: any Error, _ request: Request, _ context: ServingRequestContext) {
        context.logger.error("A web service failed", metadata: ["path": "\(request.path)", "error": "\(error)"])
    }

    private static func failure(_ error: RecordError, _ context: ServingRequestContext) -> Response {
        .failure(error, of: context.requestID, noting: RequestRecorder.current)
    }

    private static func refusal(_ refusal: Refusal, _ request: Request, _ context: ServingRequestContext) -> Response {
        RequestRecorder.current?.failed(refusal, context)
        return refusal.response(from: request, context: context)
    }

    // MARK: The server

    /// Adds the paths outside the services. They are about the whole server and take GET.
    private func addServer(to open: Routes.Group, administrators: Routes.Group) {
        // The answer of /skylight/1/health, at the path that monitoring tools expect.
        let paths: [(path: String, group: Routes.Group, threads: Routes.Threads, answer: Routes.Handler)] = [
            ("/health", open, .eventLoop, health),
            ("/metrics", administrators, .pool, { _, _ in try await metrics() }),
            (OpenAPIDocument.path, open, .pool, { _, _ in .json(OpenAPIDocument.bytes) }),
        ]
        for (path, group, threads, answer) in paths {
            group.get(path, threads: threads, service(answer))
            group.otherMethods(
                of: path,
                service { request, _ in throw EndpointTable.wrongMethod(request.method, of: path, allowed: ["GET"]) })
        }
    }

    /// The metrics for Prometheus.
    private func metrics() async throws -> Response {
        let stores = engine.can(.reportHealth) ? try await engine.require(.reportHealth).health() : []
        return await Metrics.response(log, stores: stores, storage: storage.reading())
    }
}

extension Response {
    /// An error answer in the protocol's format.
    /// - Parameter redirectURL: the sign-in page, if the request needs a user.
    static func failure(
        _ error: RecordError, of requestID: String, noting note: RequestRecorder?, redirectURL: String? = nil
    ) -> Response {
        func bytes(_ redirectURL: String?) -> [UInt8] {
            Refusal.body(
                id: requestID, code: error.code, reason: error.reason, retryAfter: error.retryAfter,
                redirectURL: redirectURL)
        }
        // The sign-in ticket is a credential, so it is not logged.
        note?.failed(error, bytes(redirectURL.map(LoggedTarget.withoutTicket(ofRedirect:))))
        var response = Response.json(bytes(redirectURL), status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}

/// The client disconnected before the request was complete. There is no client left to answer, so Hummingbird handles
/// the cause.
struct ConnectionLost: Error {
    let cause: any Error

    /// Runs a read of the request body.
    /// - Throws: ``Refusal`` and `RecordError` unchanged, and all other errors as ``ConnectionLost``.
    static func reading<Value>(_ read: () async throws -> Value) async throws -> Value {
        do {
            return try await read()
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as RecordError {
            // The server was too busy to decompress the body.
            throw error
        } catch {
            throw ConnectionLost(cause: error)
        }
    }
}

extension Request {
    /// The whole body after content decoding. If the body ends too early, the client is at fault.
    /// - Throws: ``ConnectionLost`` if the body does not arrive completely; the errors of `bodyBytes(limit:)`.
    func receivedBytes() async throws -> [UInt8] {
        try await ConnectionLost.reading { try await bodyBytes() }
    }
}

// MARK: - OpenAPI document

/// The description of all services in OpenAPI 3.1: the file docs/openapi.json. It is the same on every server.
enum OpenAPIDocument {
    static let path = "/openapi.json"
    static let bytes = embedded_openapi().map { Array(String(cString: $0).utf8) } ?? []
}
