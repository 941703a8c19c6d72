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
        "token/current": TokenServices.current,
        "token/explain": TokenServices.explained,
        "changes/playback": { try await Playback($0).response() },
        "changes/follow": { try await Follow($0).response() },
        "commits": { try await Commits($0).response() },
        "notifications": { try await NotificationEvents($0).response() },
        "schema/text": SchemaTextService.answer,
    ]

    /// The services of a database with JSON bodies.
    static let endpoints: [String: any Endpoint.Type] = [
        "assets/uses": AssetUsesService.self,
        "changes/page": ChangesPage.self,
        "changes/zones": ChangedZones.self,
        "query/statistics": QueryStatisticsRead.self,
        "records/counts": RecordsCounts.self,
        "records/explain": RecordsExplain.self,
        "records/journal": RecordsJournal.self,
        "records/list": RecordsList.self,
        "records/query": RecordsWideQuery.self,
        "records/referrers": RecordsReferrers.self,
        "records/restore": RecordsRestore.self,
        "records/revert": RecordsRevert.self,
        "schema": SchemaRead.self,
        "schema/builds": SchemaBuilds.self,
        "schema/counts": SchemaCounts.self,
        "schema/deploy": SchemaDeploy.self,
        "schema/diff": SchemaDiff.self,
        "schema/edit": SchemaEdits.self,
        "schema/history": SchemaHistory.self,
        "schema/import": SchemaImport.self,
        "schema/reset": SchemaReset.self,
        "schema/usage": SchemaUsage.self,
        "schema/validate": SchemaValidation.self,
        "tokens/expire": TokensExpire.self,
        "zones/participants": ZonesParticipants.self,
        "zones/purge": ZonesPurge.self,
        "zones/share": ZonesShare.self,
        "zones/unshare": ZonesUnshare.self,
    ]

    /// The services of a database that an app calls for its user: they take the credentials of the protocol's services.
    static let ofUsers: [String: any Endpoint.Type] = [
        "keyvalues/changes": KeyValuesChanges.self,
        "keyvalues/modify": KeyValuesModify.self,
    ]

    /// The services of a container's environment.
    static let ofEnvironments: [String: AssetService] = [
        "assets/facts": AssetService(method: .get, answer: { try await AssetFactsService.answer($0) }),
        "assets/sweep": AssetService(method: .post, answer: { try await AssetSweepService.answer($0) }),
        "assets/verify": AssetService(method: .get, answer: { try await AssetVerificationService.answer($0) }),
    ]

    /// The services of the server. They take GET.
    static let server: [String: any ServerService.Type] = [
        "containers": ContainersService.self,
        "health": HealthService.self,
        "users": UsersService.self,
        "users/caller": UsersCallerService.self,
    ]

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

/// A service of the whole server.
protocol ServerService: Sendable {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status
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

    /// True if the client may see everything about the server.
    /// - Throws: `RecordError` THROTTLED after too many wrong passwords.
    var isOfAdministrator: Bool {
        get async throws {
            if access.mode == .open { return true }
            return try await access.administrator(of: request, peer: peer) != nil
        }
    }
}

// MARK: - Services of the server

/// `health`: reports whether the stores are readable and writable. The status is 200 if all of them are, and 503
/// otherwise. If credentials are required, only the administrator sees the list of stores.
enum HealthService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let stores = call.engine.can(.reportHealth) ? try await call.engine.require(.reportHealth).health() : []
        let states = Set(stores.map(\.status))
        let status: StoreHealth.Status =
            states.contains(.unreadable) ? .unreadable : states.contains(.readOnly) ? .readOnly : .ok
        let mayKnow = try await call.isOfAdministrator
        writer.object { writer in
            writer.member("status", status.rawValue)
            writer.member("version", SkylightVersion.current)
            if let instance = call.instance { writer.member("instance", instance) }
            guard mayKnow else { return }
            writer.name("stores")
            writer.array { writer in
                for store in stores { writer.value(store) }
            }
        }
        return status == .ok ? .ok : .serviceUnavailable
    }
}

/// `containers`: lists the containers, with their environments if the engine knows them.
enum ContainersService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let containers = try await call.engine.require(.listContainers).containers()
        let environments = try await environments(of: containers, call.engine)
        writer.object { writer in
            writer.name("containers")
            writer.array { writer in
                for container in containers { writer.value(container.description) }
            }
            guard let environments else { return }
            writer.name("environments")
            writer.object { writer in
                for (container, environments) in zip(containers, environments) {
                    writer.name(Name(container.description))
                    writer.array { writer in
                        for environment in environments { writer.value(environment.rawValue) }
                    }
                }
            }
        }
        return .ok
    }
}

extension ContainersService {
    private static func environments(of containers: [ContainerID], _ engine: any RecordEngine) async throws -> [[Records
        .Environment]]?
    {
        guard engine.can(.listEnvironments) else { return nil }
        var environments: [[Records.Environment]] = []
        for container in containers {
            environments.append(try await engine.require(.listEnvironments).environments(of: container))
        }
        return environments
    }
}

/// `users`: lists all known users, the developer first.
enum UsersService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let accounts = call.callers.accounts
        let users = accounts.users()
        writer.object { writer in
            writer.name("users")
            writer.array { writer in
                for user in users { writer.value(user, lastSeen: accounts.lastSeen(user.userRecordName)) }
            }
        }
        return .ok
    }
}

/// `users/caller`: returns the user that the request acts for. Like every request, it creates a user for a new handle.
enum UsersCallerService: ServerService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status {
        let caller = try call.callers.caller(of: call.request)
        writer.object { writer in
            writer.member("userRecordName", caller.userRecordName)
            writer.member("deviceID", caller.deviceID)
        }
        return .ok
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ health: StoreHealth) {
        object { writer in
            writer.member("container", health.container.description)
            writer.member("environment", health.environment.rawValue)
            writer.member("status", health.status.rawValue)
            if let since = health.since { writer.member("since", since.milliseconds) }
            if let database = health.database { writer.member("database", database) }
            if let error = health.reason { writer.members(of: error) }
        }
    }
}
