internal import Accounts
internal import HTTPTypes
internal import JSON
internal import RecordStore
internal import Records

/// One web service.
protocol Endpoint: Sendable, DescribedService {
    /// Whether GET is answered as POST is.
    static var allowsGET: Bool { get }
    /// What it is for, as far as it matters to who may ask. Skylight's own services need not say it.
    static var purpose: EndpointPurpose { get }

    init()

    /// Writes the whole body of the answer.
    /// - Throws: `RecordError` when the request fails as a whole.
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws
}

extension Endpoint {
    static var allowsGET: Bool { false }
    static var purpose: EndpointPurpose { .reading }
}

/// A request as endpoints get it: what is asked, by whom, and the way to the data.
struct EndpointCall: Sendable {
    let path: WebServicePath
    let caller: Caller
    /// Who the users are.
    let accounts: Accounts
    /// Whether it is asked by GET: then the body has what the query says.
    let isGET: Bool
    let body: RequestObject
    /// Whether the answer is to carry the zone's token (`getCurrentSyncToken=true`).
    let wantsSyncToken: Bool
    let engine: any RecordEngine
    let assets: AssetPlace
    /// What the request is known by.
    let requestID: String
    /// Where to say what is asked and answered; `nil` when nobody keeps it.
    let note: RequestNote?

    /// The database that the path names, as the caller sees it.
    func database() async throws -> any RecordDatabase {
        guard case .database(let scope) = path.root else { throw RecordError(.notFound, "This path names no database") }
        return try await engine.database(
            DatabaseAddress(container: path.container, environment: path.environment, scope: scope), as: caller)
    }

    /// What to say of a database that lacks a capability.
    func unable(_ what: String) -> RecordError {
        RecordError(.badRequest, "This database can't \(what)")
    }

    /// The zone's current token, where the request wants it and the zone has one.
    func syncToken(of zoneID: ZoneID, in database: any RecordDatabase) async throws -> ChangeToken? {
        guard wantsSyncToken, case .success(let zone)? = try await database.fetchZones([zoneID]).first else { return nil }
        return zone.syncToken
    }
}
