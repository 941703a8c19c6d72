internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import RecordStore
internal import Records

/// The services that CloudKit does not have: of a database at `/skylight/1/{container}/{environment}/{database}/…`, of an environment at
/// `/skylight/1/{container}/{environment}/…`, and of the server at `/skylight/1/…`. docs/services.md describes them.
enum SkylightServices {
    static let root = "/skylight/1/"

    /// A service of a database that answers with a stream, or to query parameters alone. Answers to GET.
    typealias Stream = @Sendable (FeedRequest) async throws -> Response

    static let streams: [String: Stream] = [
        "token/current": TokenServices.current,
        "token/explain": TokenServices.explained,
        "changes/playback": { try await Playback($0).response() },
        "changes/follow": { try await Follow($0).response() },
        "commits": { try await Commits($0).response() },
        "schema/text": SchemaTextService.answer,
    ]

    /// The services of a database that take and answer JSON.
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

    /// The services of a container's environment.
    static let ofEnvironments: [String: AssetService] = [
        "assets/facts": AssetService(method: .get, answer: { try await AssetFactsService.answer($0) }),
        "assets/sweep": AssetService(method: .post, answer: { try await AssetSweepService.answer($0) }),
        "assets/verify": AssetService(method: .get, answer: { try await AssetVerificationService.answer($0) }),
    ]

    /// The services of the server. They answer to GET.
    static let server: [String: any ServerService.Type] = [
        "containers": ContainersService.self,
        "health": HealthService.self,
        "users": UsersService.self,
        "users/caller": UsersCallerService.self,
    ]

    /// Whether there is a service of this name of a database, or of an environment.
    static func knows(_ action: String) -> Bool {
        streams[action] != nil || endpoints[action] != nil || ofEnvironments[action] != nil
    }

    /// Why there is no service at a path, and which there are.
    static func unknown(_ action: String) -> RecordError {
        let ofDatabases = (Array(streams.keys) + endpoints.keys).sorted().joined(separator: ", ")
        return RecordError(
            .notFound,
            "There is no service '\(action)' under /skylight/1; there are \((server.keys + TrafficServices.names + AccountServices.all.keys).sorted().joined(separator: ", ")), under "
                + "{container}/{environment} \(ofEnvironments.keys.sorted().joined(separator: ", ")), and under "
                + "{container}/{environment}/{database} \(ofDatabases)")
    }

    /// - Throws: ``Refusal`` 405 when the service answers to other methods.
    static func check(_ method: HTTPRequest.Method, of action: String, allowing allowed: HTTPRequest.Method...) throws {
        if !allowed.contains(method) { throw EndpointTable.wrongMethod(method, of: action, allowed: allowed.map(\.rawValue)) }
    }
}

/// A service that speaks of the whole server.
protocol ServerService: Sendable, DescribedService {
    static func answer(_ call: ServerCall, into writer: inout JSONWriter) async throws -> HTTPResponse.Status
}

/// A request for a service of the server.
struct ServerCall: Sendable {
    let engine: any RecordEngine
    let callers: CallerResolver
    let access: AccessControl
    /// Where the request comes from.
    let peer: String
    let request: Request
    /// What this server is told apart from others by.
    let instance: String?

    /// Whether whoever asks may know everything about the server.
    /// - Throws: `RecordError` THROTTLED after too many wrong passwords.
    var isOfAdministrator: Bool {
        get async throws {
            if access.mode == .open { return true }
            return try await access.administrator(of: request, peer: peer) != nil
        }
    }
}
