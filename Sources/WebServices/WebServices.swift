public import Accounts
public import AssetStore
public import HTTPServing
internal import HTTPTypes
public import Hummingbird
internal import JSON
internal import Logging
public import RecordStore
internal import Records

/// CloudKit Web Services: `/database/1/{container}/{environment}/{database}/{entity}/{action}` and the few paths under `/device/1`
/// (Apple: "CloudKit Web Services Reference"); under `/skylight/1` what Skylight has beyond them (docs/services.md); and under `/assets` the
/// bytes of files (docs/assets.md).
///
/// Every answer below these paths but a file is the protocol's JSON, whatever was asked. A request that fails as a whole has the HTTP status of its
/// `serverErrorCode`; an item that fails alone stands as an error among the others, in an answer with status 200.
public struct WebServices: Sendable {
    /// With what is rehearsed.
    private let engine: any RecordEngine
    let assets: AssetStores
    private let callers: CallerResolver
    private let crossOrigin: CrossOrigin
    private let rehearsalServices: RehearsalServices
    private let instance: String?

    /// - Parameters:
    ///   - engine: where the containers are.
    ///   - accounts: who the users are.
    ///   - assets: where the files of the same engine's records are.
    ///   - trusted: the sites whose pages may read answers; pages on this machine always may.
    ///   - rehearsals: what clients are tried against (docs/rehearsals.md).
    ///   - instance: what `health` tells this server apart from others by; `nil` when nobody needs to.
    public init(
        engine: any RecordEngine, accounts: Accounts, assets: AssetStores, trusting trusted: TrustedSites = .loopback,
        rehearsals: Rehearsals = Rehearsals(), instance: String? = nil
    ) {
        self.instance = instance
        self.assets = assets
        self.engine = RehearsingEngine(engine, rehearsals)
        callers = CallerResolver(accounts: accounts)
        crossOrigin = CrossOrigin(trusted: trusted)
        rehearsalServices = RehearsalServices(engine: engine, rehearsals: rehearsals, callers: callers, crossOrigin: crossOrigin)
    }

    /// Answers everything below `/database`, `/device`, `/skylight` and `/assets`.
    public func addRoutes(to router: Router<ServingRequestContext>) {
        rehearsalServices.addRoutes(to: router)
        let methods: [HTTPRequest.Method] = [.get, .post, .put, .patch, .delete, .head, .options]
        for method in methods {
            for path in ["/database/**", "/device/**", "/skylight/**", "/assets/**"] as [RouterPath] {
                router.on(path, method: method) { request, context in
                    try await respond(to: request, context: context)
                }
            }
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
        return try await guarded(request, context) {
            if request.uri.path.hasPrefix(SkylightServices.root) { return try await skylight(request) }
            let path = try WebServicePath(request.uri.path)
            let endpoint = try EndpointTable.endpoint(at: path, method: request.method)
            return try await answer(to: request, at: path, with: endpoint)
        }
    }

    /// What Skylight has beyond the protocol, under a path of its own (docs/services.md).
    private func skylight(_ request: Request) async throws -> Response {
        let action = String(request.uri.path.dropFirst(SkylightServices.root.count))
        if let service = SkylightServices.server[action] {
            try SkylightServices.check(request.method, of: action, allowing: .get)
            var writer = JSONWriter()
            let status = try await service.answer(ServerCall(engine: engine, callers: callers, request: request, instance: instance), into: &writer)
            return .json(writer.bytes, status: status)
        }
        guard action.hasPrefix("iCloud.") else { throw SkylightServices.unknown(action) }
        let path = try WebServicePath(request.uri.path)
        let place = AssetPlace(assets, path.container, path.environment, for: request)
        if path.root == .environment, let service = SkylightServices.ofEnvironments[path.action] {
            try SkylightServices.check(request.method, of: path.action, allowing: service.method)
            guard let store = try await place.existingStore() else { throw RecordError(.notFound, "There is no container \(path.container)") }
            return try await service.answer(AssetCall(store: store, place: place, request: request))
        }
        if let stream = SkylightServices.streams[path.action], case .database(let scope) = path.root {
            try SkylightServices.check(request.method, of: path.action, allowing: .get)
            let address = DatabaseAddress(container: path.container, environment: path.environment, scope: scope)
            let database = try await engine.database(address, as: try callers.caller(of: request))
            return try await stream(try FeedRequest(request, database: database, assets: place))
        }
        guard let endpoint = SkylightServices.endpoints[path.action] else { throw SkylightServices.unknown(path.action) }
        try EndpointTable.check(request.method, of: path.action, for: endpoint)
        return try await answer(to: request, at: path, with: endpoint.init())
    }

    private func answer(to request: Request, at path: WebServicePath, with endpoint: any Endpoint) async throws -> Response {
        let caller = try callers.caller(of: request)
        let body = request.method == .post ? try RequestObject(try await Self.body(of: request)) : try RequestObject(parametersOf: request)
        let call = EndpointCall(
            path: path, caller: caller, callers: callers, body: body,
            // Python clients write True.
            wantsSyncToken: request.uri.queryParameters["getCurrentSyncToken"]?.lowercased() == "true", engine: engine,
            assets: AssetPlace(assets, path.container, path.environment, for: request))
        var writer = JSONWriter(capacity: 4096)
        try await endpoint.answer(call, into: &writer)
        return .json(writer.bytes)
    }

    /// An answer, or the protocol's words for why there is none.
    func guarded(
        _ request: Request, _ context: ServingRequestContext, _ answer: () async throws -> Response
    ) async throws -> Response {
        do {
            return try await answer()
        } catch let error as RecordError {
            if error.code == .internalError { log(error, request, context) }
            return Self.failure(error)
        } catch let expired as AssetTicketExpired {
            return Refusal(.gone, expired.error.code, expired.error.reason).response(from: request, context: context)
        } catch let error as Refusal {
            return error.response(from: request, context: context)
        } catch let lost as ConnectionLost {
            throw lost.cause
        } catch let error as CancellationError {
            throw error
        } catch {
            log(error, request, context)
            return Self.failure(RecordError(.internalError, "The server failed; its log says why"))
        }
    }

    private static func body(of request: Request) async throws -> [UInt8] {
        do {
            return try await request.bodyBytes()
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw ConnectionLost(cause: error)
        }
    }

    private func log(_ error: any Error, _ request: Request, _ context: ServingRequestContext) {
        context.logger.error("A web service failed", metadata: ["path": "\(request.uri.path)", "error": "\(error)"])
    }

    private static func failure(_ error: RecordError) -> Response {
        var response = Response.json(
            Refusal.body(code: error.code, reason: error.reason, retryAfter: error.retryAfter), status: error.code.httpStatus)
        if let seconds = error.retryAfter { response.headers[.retryAfter] = String(seconds) }
        return response
    }
}

/// The request did not arrive as a whole: nobody is left to answer, and Hummingbird knows what to do with the cause.
struct ConnectionLost: Error {
    let cause: any Error
}
