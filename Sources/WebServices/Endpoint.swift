internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

/// A web service.
protocol Endpoint: Sendable {
    /// True if the service answers GET as well as POST.
    static var allowsGET: Bool { get }
    /// The purpose of the service, for access control. Skylight's own services need not set it.
    static var purpose: EndpointPurpose { get }

    init()

    /// Writes the body of the answer.
    /// - Throws: `RecordError` if the request fails as a whole.
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws
}

extension Endpoint {
    static var allowsGET: Bool { false }
    static var purpose: EndpointPurpose { .reading }
    static var methods: [HTTPRequest.Method] { allowsGET ? [.get, .post] : [.post] }
}

/// A request as endpoints see it: the request itself, the client, and access to the data.
struct EndpointCall: Sendable {
    let path: WebServicePath
    let caller: Caller
    /// The known users.
    let accounts: Accounts
    /// True for GET. ``body`` then has the members from the query string.
    let isGET: Bool
    let body: RequestObject
    /// True if the answer must carry the zone's token (`getCurrentSyncToken=true`).
    let wantsSyncToken: Bool
    let engine: any RecordEngine
    let assets: RequestAssets
    let notifier: Notifier
    /// The address at which the client reached the server, such as `https://example.org`.
    let origin: @Sendable () -> String
    /// The identifier of the request in the logs.
    let requestID: String
    /// The connection of the client, for a service that waits.
    let context: ServingRequestContext
    /// The request's entry in the request log; `nil` if the request is not logged.
    let note: RequestNote?

    /// The database of the path, with the access rights of the client.
    func database() async throws -> any RecordDatabase {
        guard case .database(let scope) = path.root else { throw RecordError(.notFound, "This path has no database") }
        return try await engine.database(
            DatabaseAddress(container: path.container, environment: path.environment, scope: scope), as: caller)
    }

    /// The zone's current token, if the request asks for it and the zone has one.
    func syncToken(of zoneID: ZoneID, in database: any RecordDatabase) async throws -> ChangeToken? {
        guard wantsSyncToken, case .success(let zone)? = try await database.fetchZones([zoneID]).first else { return nil }
        return zone.syncToken
    }
}
