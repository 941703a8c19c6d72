public import Accounts
public import AssetStore
public import HTTPServing
internal import HTTPTypes
public import Hummingbird
internal import JSON
internal import Logging
public import RecordStore
internal import Records
public import Traffic

/// CloudKit Web Services: `/database/1/{container}/{environment}/{database}/{entity}/{action}` and the few paths under `/device/1` (Apple: "CloudKit
/// Web Services Reference"). Also Skylight's own services under `/skylight/1` (docs/services.md) and the files under `/assets` (docs/assets.md).
///
/// All answers below these paths, except files, are JSON in the protocol's format. A request that fails as a whole
/// has the HTTP status of its `serverErrorCode`. Items that fail alone are errors in an answer with status 200.
public struct WebServices: Sendable {
    /// The engine with fault injection.
    private let engine: any RecordEngine
    let assets: AssetStores
    private let access: AccessControl
    private let callers: CallerResolver
    private let authenticator: Authenticator
    private let crossOrigin: CrossOrigin
    private let rehearsalServices: RehearsalServices
    private let instance: String?
    private let storage: StorageGauges
    let log: RequestLog

    /// - Parameters:
    ///   - engine: the storage interface to the containers.
    ///   - accounts: the users.
    ///   - assets: the files of the same engine's records.
    ///   - trusted: the sites whose pages may read answers; pages on this machine always may.
    ///   - rehearsals: the active fault injection (docs/rehearsals.md).
    ///   - log: the request log.
    ///   - access: the access control; `nil` if no credentials are required. It must use the same accounts.
    ///   - throttle: the rate limit for protocol requests per client; `nil` for no limit.
    ///   - instance: an identifier of this server in the answer of `health`; `nil` for none.
    public init(
        engine: any RecordEngine, accounts: Accounts, assets: AssetStores, trusting trusted: TrustedSites = .loopback,
        rehearsals: Rehearsals = Rehearsals(), log: RequestLog = RequestLog(), access: AccessControl? = nil, throttle: Throttle? = nil,
        instance: String? = nil
    ) {
        self.log = log
        self.instance = instance
        self.assets = assets
        self.engine = RehearsingEngine(engine, rehearsals)
        storage = StorageGauges(engine)
        self.access = access ?? .open(accounts)
        callers = CallerResolver(accounts: accounts)
        authenticator = Authenticator(access: self.access, callers: callers, throttle: throttle, now: { assets.now() })
        crossOrigin = CrossOrigin(origins: PageOrigins(trusting: trusted, tokensOf: accounts))
        rehearsalServices = RehearsalServices(engine: engine, rehearsals: rehearsals, callers: callers, crossOrigin: crossOrigin)
    }

    /// Adds the routes below `/database`, `/device`, `/skylight` and `/assets`, and those of the server itself.
    public func addRoutes(to router: Router<ServingRequestContext>) {
        router.add(middleware: RequestNoting(log: log, believesNames: access.mode == .open))
        router.add(middleware: AdministratorGate(access: access, crossOrigin: crossOrigin, routes: Set(Self.roots + ofServer.map { $0.path })))
        router.add(middleware: OtherMethods { request, context in try await answerOtherMethod(request, context) })
        rehearsalServices.addRoutes(to: router)
        let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete, .options]
        for method in methods {
            for (path, answer) in ofServer {
                router.on(RouterPath(path), method: method) { request, context in
                    try await guarded(request, context) {
                        try SkylightServices.check(request.method, of: path, allowing: .get)
                        return try await answer(request, context)
                    }
                }
            }
            for path in Self.roots {
                router.on(RouterPath(path), method: method) { request, context in
                    try await respond(to: request, context: context)
                }
            }
        }
    }

    /// The route patterns of the paths that the services parse themselves.
    private static let roots = ["/database/**", "/device/**", "/skylight/**", "/assets/**"]

    /// The 405 error for a method without a route. `nil` if there is no service, or if the service answers such methods itself.
    private func answerOtherMethod(_ request: Request, _ context: ServingRequestContext) async throws -> Response? {
        if request.uri.path == RehearsalServices.path { return nil }
        if request.isWebServiceRequest { return try await respond(to: request, context: context) }
        guard ofServer.contains(where: { $0.path == request.uri.path }) else { return nil }
        return try await guarded(request, context) {
            throw EndpointTable.wrongMethod(request.method, of: request.uri.path, allowed: ["GET"])
        }
    }

    private func respond(to request: Request, context: ServingRequestContext) async throws -> Response {
        if request.method == .options {
            let isAsset = request.uri.path.hasPrefix(AssetPath.root)
            return isAsset ? crossOrigin.preflight(request, allowing: "GET, HEAD, POST, PUT, OPTIONS") : crossOrigin.preflight(request)
        }
        return crossOrigin.allowing(request, try await answer(to: request, context: context))
    }

    private func answer(to request: Request, context: ServingRequestContext) async throws -> Response {
        if request.uri.path.hasPrefix(AssetPath.root) { return try await assets(request, context) }
        if request.uri.path.hasPrefix(SkylightServices.root) {
            return try await guarded(request, context) { try await skylight(request, context) }
        }
        return try await ofProtocol(request, context)
    }

    /// Answers a protocol service. If the request has a valid web auth token, even an error answer carries the next one.
    private func ofProtocol(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        var session: WebAuthSession?
        var response = try await guarded(request, context) {
            let path = try WebServicePath(request.uri.path)
            let endpoint = try EndpointTable.endpoint(at: path, method: request.method)
            RequestNote.current?.asked(at: path)
            var request = request
            let verdict = try await authenticator.verdict(on: &request, at: path, for: type(of: endpoint).purpose, of: &session, context)
            RequestNote.current?.asked(by: verdict.caller)
            return try await rehearsalServices.middleware.rehearse(request, at: path, context) { request in
                try await answer(to: request, context, as: verdict.caller, at: path, with: endpoint)
            }
        }
        if let session {
            let token = authenticator.nextToken(of: session)
            for header in Credentials.answerHeaders(to: request) { response.headers[header] = token }
        }
        return response
    }

    /// Answers Skylight's own services (docs/services.md).
    private func skylight(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        let action = String(request.uri.path.dropFirst(SkylightServices.root.count))
        if TrafficServices.has(action) { return try await TrafficServices(log: log).answer(action, to: request) }
        if let service = SkylightServices.server[action] {
            try SkylightServices.check(request.method, of: action, allowing: .get)
            var writer = JSONWriter()
            let status = try await service.answer(serverCall(request, context), into: &writer)
            return .json(writer.bytes, status: status)
        }
        if let service = AccountServices.all[action] {
            return try await AccountServices.answer(service, action, to: request, from: context.peer, by: access)
        }
        guard action.hasPrefix("iCloud.") else { throw SkylightServices.unknown(action) }
        let path = try WebServicePath(request.uri.path)
        let place = RequestAssets(assets, path.container, path.environment, for: request)
        if path.root == .environment, let service = SkylightServices.ofEnvironments[path.action] {
            try SkylightServices.check(request.method, of: path.action, allowing: service.method)
            guard let store = try await place.existingStore() else { throw RecordError(.notFound, "There is no container \(path.container)") }
            return try await service.answer(AssetCall(store: store, place: place, request: request))
        }
        if let stream = SkylightServices.streams[path.action], case .database(let scope) = path.root {
            try SkylightServices.check(request.method, of: path.action, allowing: .get)
            let address = DatabaseAddress(container: path.container, environment: path.environment, scope: scope)
            let note = RequestNote.current
            note?.asked(at: path)
            let caller = try callers.caller(of: request)
            note?.asked(by: caller)
            let database = try await engine.database(address, as: caller)
            return try await stream(try FeedRequest(request, database: database, assets: place, note: note))
        }
        guard let endpoint = SkylightServices.endpoints[path.action] else { throw SkylightServices.unknown(path.action) }
        try EndpointTable.check(request.method, of: path.action, for: endpoint)
        RequestNote.current?.asked(at: path)
        return try await answer(to: request, context, as: callers.caller(of: request), at: path, with: endpoint.init())
    }

    private func answer(
        to request: Request, _ context: ServingRequestContext, as caller: Caller, at path: WebServicePath, with endpoint: any Endpoint
    ) async throws -> Response {
        let note = RequestNote.current
        note?.asked(by: caller)
        let bytes = request.method == .post ? try await ConnectionLost.reading { try await request.bodyBytes() } : []
        note?.received(bytes)
        let body = request.method == .post ? try await RequestObject.reading(bytes) : try RequestObject(parametersOf: request)
        let call = EndpointCall(
            path: path, caller: caller, accounts: callers.accounts, isGET: request.method == .get, body: body,
            // Python clients send True.
            wantsSyncToken: request.uri.queryParameters["getCurrentSyncToken"]?.lowercased() == "true", engine: engine,
            assets: RequestAssets(assets, path.container, path.environment, for: request), requestID: context.requestID, note: note)
        let answer = try await written(call, with: endpoint)
        note?.answered(answer)
        return .json(answer)
    }

    /// The body of an answer. If memory is short, the records are dropped and read again later.
    private func written(_ call: EndpointCall, with endpoint: any Endpoint) async throws -> [UInt8] {
        try await RequestMemory.makeAnswer {
            var writer = JSONWriter(capacity: 4096)
            do {
                try await endpoint.answer(call, into: &writer)
            } catch let shortage as RequestMemory.Shortage {
                call.note?.droppedAnswer()
                throw shortage
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
            return .failure(failure.error, of: context.requestID, noting: RequestNote.current, redirectURL: failure.redirectURL)
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
            return Self.failure(RecordError(.internalError, "The server failed; its log says why"), context)
        }
    }

    private func report(_ error: any Error, _ request: Request, _ context: ServingRequestContext) {
        context.logger.error("A web service failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
    }

    private static func failure(_ error: RecordError, _ context: ServingRequestContext) -> Response {
        .failure(error, of: context.requestID, noting: RequestNote.current)
    }

    private static func refusal(_ refusal: Refusal, _ request: Request, _ context: ServingRequestContext) -> Response {
        RequestNote.current?.failed(refusal, context)
        return refusal.response(from: request, context: context)
    }

    // MARK: The server

    private func serverCall(_ request: Request, _ context: ServingRequestContext) -> ServerCall {
        ServerCall(engine: engine, callers: callers, access: access, peer: context.peer, request: request, instance: instance)
    }

    /// The paths outside the services. They are about the whole server and take GET.
    private var ofServer: [(path: String, answer: @Sendable (Request, ServingRequestContext) async throws -> Response)] {
        [
            ("/health", { try await health($0, $1) }), ("/metrics", { _, _ in await metrics() }),
            (OpenAPIDocument.path, { request, _ in crossOrigin.allowing(request, .json(OpenAPIDocument.bytes)) }),
        ]
    }

    /// The same answer as `/skylight/1/health`, at the path that monitoring tools expect.
    private func health(_ request: Request, _ context: ServingRequestContext) async throws -> Response {
        var writer = JSONWriter()
        let status = try await HealthService.answer(serverCall(request, context), into: &writer)
        return .json(writer.bytes, status: status)
    }

    /// The metrics for Prometheus.
    private func metrics() async -> Response {
        let stores = await (engine as? any StoreHealthReporting)?.health() ?? []
        return await Metrics.response(log, stores: stores, storage: storage.reading())
    }
}

extension Response {
    /// An error answer in the protocol's format.
    /// - Parameter redirectURL: the sign-in page, if the request needs a user.
    static func failure(_ error: RecordError, of requestID: String, noting note: RequestNote?, redirectURL: String? = nil) -> Response {
        func bytes(_ redirectURL: String?) -> [UInt8] {
            Refusal.body(id: requestID, code: error.code, reason: error.reason, retryAfter: error.retryAfter, redirectURL: redirectURL)
        }
        // The sign-in ticket is a credential, so it is not logged.
        note?.failed(error, bytes(redirectURL.map(NotedTarget.withoutTicket(ofRedirect:))))
        var response = Response.json(bytes(redirectURL), status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}

/// The client disconnected before the request was complete. There is no client left to answer, so Hummingbird handles the cause.
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
