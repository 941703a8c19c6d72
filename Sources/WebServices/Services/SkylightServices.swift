internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records

/// The services that CloudKit does not have. Database services are at
/// `/skylight/1/{container}/{environment}/{database}/…`, environment services at
/// `/skylight/1/{container}/{environment}/…`, server services at `/skylight/1/…` (docs/services.md).
enum SkylightServices {
    static let root = "/skylight/1/"
    static let rootOfContainers = root + "iCloud."

    /// A GET service of a database that answers with a stream, or that only takes query parameters.
    typealias Stream = @Sendable (FeedRequest) async throws -> Response

    static let streams: [String: Stream] = [
        "changes/playback": { try await Playback($0).response() },
        "changes/follow": { try await Follow($0).response() },
        "commits": { try await Commits($0).response() },
        "notifications": { try await NotificationEvents($0).response() },
        "schema/text": SchemaTextService.answer,
    ]

    /// The services of a database with JSON bodies.
    static let endpoints: [String: any Endpoint] = [
        "changes/page": ChangesPage(),
        "records/explain": RecordsExplain(),
        "records/journal": RecordsJournal(),
        "records/list": RecordsList(),
        "records/lookup": RecordsLookup(open: { try await $0.databaseAsOf() }),
        "records/query": RecordsQuery(limit: { try $0.widePageLimit() }, open: { try await $0.databaseAsOf() }),
        "records/restore": RecordsModify(restores: true),
        "records/revert": RecordsRevert(),
        "schema/deploy": SchemaDeploy(),
        "schema/diff": SchemaDiff(),
        "schema/import": SchemaImport(),
        "schema/reset": SchemaReset(),
        "schema/validate": SchemaValidation(),
    ].merging(
        DatabaseService.table(
            SchemaServices.rows + RecordServices.rows + ChangeServices.rows + ZoneServices.rows),
        uniquingKeysWith: { first, _ in first })

    /// The services of a database that an app calls for its user: they take the credentials of the protocol's services.
    static let ofUsers: [String: any Endpoint] = DatabaseService.table(KeyValueServices.rows)

    /// The services of a container's environment.
    static let ofEnvironments: [String: AssetService] = [
        "assets/facts": AssetService(method: .get, answer: AssetService.facts),
        "assets/sweep": AssetService(method: .post, answer: AssetService.sweep),
        "assets/verify": AssetService(method: .get, answer: AssetService.verification),
    ]

    static let health = ServerService(ServerServices.health.entry) { call in try await call.health() }

    /// The services of the server. They take GET.
    static let server = ServerService.table([
        ServerServices.containers.handle { call, _ in try await call.containers() },
        health,
        Accounts.Services.users.handle { call, _ in
            call.accounts.users().map { SeenUser($0, lastSeen: call.accounts.lastSeen($0.userRecordName)) }
        },
        // Like every request, it creates a user for a new handle.
        ServerServices.caller.handle { call, _ in
            let caller = try call.callers.caller(of: call.request)
            return (caller.userRecordName, caller.deviceID)
        },
    ])

    /// True if a database or environment service of this name exists.
    static func knows(_ action: String) -> Bool {
        streams[action] != nil || endpoints[action] != nil || ofUsers[action] != nil || ofEnvironments[action] != nil
    }

    /// The error for a request without a route: a wrong method, a malformed path, or an unknown service.
    /// - Throws: `RecordError` for a malformed path.
    static func refusal(of request: Request, _ context: ServingRequestContext) throws -> any Error {
        let action: String
        let methods: [HTTPRequest.Method]?
        if request.path.hasPrefix(root), !hasContainer(request, context) {
            action = context.parts.dropFirst(2).joined(separator: "/")
            methods = methodsOfServer(action)
        } else {
            let path = try WebServicePath(request.path)
            action = path.action
            let endpoint = endpoints[action] ?? ofUsers[action]
            methods =
                path.root == .environment
                ? ofEnvironments[action].map { [$0.method] } : streams[action] == nil ? endpoint?.methods : [.get]
        }
        guard let methods, !methods.contains(request.method) else { return unknown(action) }
        return EndpointTable.wrongMethod(request.method, of: action, allowed: methods.map(\.rawValue))
    }

    /// True for the services of a container, which are logged; false for those of the server.
    static func hasContainer(_ request: Request, _ context: ServingRequestContext) -> Bool {
        request.path.hasPrefix(rootOfContainers) || context.parts.dropFirst(2).first?.hasPrefix("iCloud.") ?? false
    }

    /// The methods of a service of the server; `nil` if it does not exist.
    private static func methodsOfServer(_ action: String) -> [HTTPRequest.Method]? {
        if server[action] != nil || TrafficServices.has(action) { return [.get] }
        return root + action == FaultServices.path ? [.get, .post] : AccountServices.all[action].map { [$0.method] }
    }

    /// The error for an unknown service. It lists the known ones.
    static func unknown(_ action: String) -> RecordError {
        let ofDatabases = (Array(streams.keys) + endpoints.keys + ofUsers.keys).sorted().joined(separator: ", ")
        return RecordError(
            .notFound,
            "There is no service '\(action)' under /skylight/1; expected one of \((server.keys + TrafficServices.names + AccountServices.all.keys).sorted().joined(separator: ", ")), under "
                + "{container}/{environment} \(ofEnvironments.keys.sorted().joined(separator: ", ")), and under "
                + "{container}/{environment}/{database} \(ofDatabases)")
    }

    /// - Throws: ``Refusal`` 405 for an unsupported method.
    static func check(_ method: HTTPRequest.Method, of action: String, allowing allowed: HTTPRequest.Method...) throws {
        if !allowed.contains(method) {
            throw EndpointTable.wrongMethod(method, of: action, allowed: allowed.map(\.rawValue))
        }
    }
}

/// A service of the whole server: a row of the tables of services, with its answer.
struct ServerService: Sendable {
    let entry: ServiceEntry
    let answer: @Sendable (ServerCall) async throws -> Response

    var method: HTTPRequest.Method { entry.methods[0] }

    init(_ entry: ServiceEntry, _ answer: @escaping @Sendable (ServerCall) async throws -> Response) {
        (self.entry, self.answer) = (entry, answer)
    }

    static func table(_ services: [ServerService]) -> [String: ServerService] {
        Dictionary(services.map { ($0.entry.path, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

/// A service of a database: a row of the tables of services, with its answer.
struct DatabaseService: Endpoint {
    let entry: ServiceEntry
    let purpose: EndpointPurpose
    let write: @Sendable (EndpointCall, inout JSONWriter) async throws -> Void

    var methods: [HTTPRequest.Method] { entry.methods }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws { try await write(call, &writer) }

    static func table(_ services: [DatabaseService]) -> [String: any Endpoint] {
        Dictionary(services.map { ($0.entry.path, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension ServiceEntry {
    var methods: [HTTPRequest.Method] {
        switch use {
        case .get: [.get]
        case .read: [.get, .post]
        case .ask, .change: [.post]
        }
    }
}

extension SkylightService {
    /// The service with its answer.
    func handle(_ answer: @escaping @Sendable (ServerCall, Request) async throws -> Answer) -> ServerService {
        ServerService(entry) { call in
            let body =
                call.request.method == .get
                ? try RequestObject(parametersOf: call.request)
                : try await RequestObject.reading(try await call.request.receivedBytes())
            return .json(bytes(of: try await answer(call, try readRequest(body))))
        }
    }

    /// The service of a database with its answer.
    func serve(
        for purpose: EndpointPurpose = .reading,
        _ answer: @escaping @Sendable (EndpointCall, Request) async throws -> Answer
    ) -> DatabaseService {
        DatabaseService(entry: entry, purpose: purpose) { call, writer in
            let answered = try await answer(call, try readRequest(call.body))
            writer.object { writeAnswer(answered, &$0) }
        }
    }
}

/// A request for a server service.
struct ServerCall: Sendable {
    let engine: any RecordEngine
    let callers: CallerResolver
    let access: AccessControl
    /// The address of the client.
    let peer: String
    let request: Request
    /// An identifier that distinguishes this server from others.
    let instance: String?

    var accounts: Accounts { access.accounts }

    /// True if the client may see everything about the server.
    /// - Throws: `RecordError` THROTTLED after too many wrong passwords.
    private var isOfAdministrator: Bool {
        get async throws {
            if access.mode == .open { return true }
            return try await access.administrator(of: request, peer: peer) != nil
        }
    }

    /// Reports whether the stores are readable and writable. The status is 200 if all of them are, and 503 otherwise.
    /// If credentials are required, only the administrator sees the list of stores.
    fileprivate func health() async throws -> Response {
        let stores = engine.can(.reportHealth) ? try await engine.require(.reportHealth).health() : []
        let states = Set(stores.map(\.status))
        let status: StoreHealth.Status =
            states.contains(.unreadable) ? .unreadable : states.contains(.readOnly) ? .readOnly : .ok
        let bytes = ServerServices.health.bytes(
            of: (status, SkylightVersion.current, instance, try await isOfAdministrator ? stores : nil))
        return .json(bytes, status: status == .ok ? .ok : .serviceUnavailable)
    }

    /// The containers, with their environments if the engine knows them.
    fileprivate func containers() async throws -> ([ContainerID], [Name: [Records.Environment]]?) {
        let containers = try await engine.require(.listContainers).containers()
        guard engine.can(.listEnvironments) else { return (containers, nil) }
        var environments: [Name: [Records.Environment]] = [:]
        for container in containers {
            environments[Name(container.description)] = try await engine.require(.listEnvironments).environments(
                of: container)
        }
        return (containers, environments)
    }
}
