internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import RecordStore
internal import Records

/// A web service.
protocol Endpoint: Sendable {
    /// True if the service answers GET as well as POST.
    var allowsGET: Bool { get }
    /// The purpose of the service, for access control. Skylight's own services need not set it.
    var purpose: EndpointPurpose { get }
    /// True if it reads little as a rule, and changes nothing. Then it begins on the event loop, as ``Records/BriefWork``.
    var isBrief: Bool { get }
    var methods: [HTTPRequest.Method] { get }

    /// Writes the body of the answer.
    /// - Throws: `RecordError` if the request fails as a whole.
    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws
}

extension Endpoint {
    var allowsGET: Bool { false }
    var purpose: EndpointPurpose { .reading }
    var isBrief: Bool { false }
    var methods: [HTTPRequest.Method] { allowsGET ? [.get, .post] : [.post] }
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
    /// The client's connection, for a service that waits before it answers.
    let context: ServingRequestContext
    /// The request's entry in the request log; `nil` if the request is not logged.
    let note: RequestRecorder?

    /// The database of the path, with the access rights of the client.
    func database() async throws -> any RecordDatabase {
        guard case .database(let scope) = path.root else { throw RecordError(.notFound, "This path has no database") }
        return try await engine.database(
            DatabaseAddress(container: path.container, environment: path.environment, scope: scope), as: caller)
    }

    /// The database of the path; with the member `asOf`, which only services of our own have, as it was then.
    func databaseAsOf() async throws -> any RecordDatabase {
        try await database(asOf: try AsOf?.member("asOf", of: body))
    }

    func database(asOf point: AsOf?) async throws -> any RecordDatabase {
        let database = try await database()
        guard let point else { return database }
        return try await database.require(.readEarlierStates).database(asOf: point)
    }

    /// The zone's current token, if the request asks for it and the zone has one.
    func syncToken(of zoneID: ZoneID, in database: any RecordDatabase) async throws -> ChangeToken? {
        guard wantsSyncToken, !(database is any EarlierDatabase),
            case .success(let zone)? = try await database.fetchZones([zoneID]).first
        else { return nil }
        return zone.syncToken
    }
}

extension JSONWriter {
    /// Writes which earlier state was read, and what is not known of it. Writes nothing for the present one.
    mutating func members(of database: any RecordDatabase, lacking notKnown: NotKnown = NotKnown()) {
        guard let earlier = database as? any EarlierDatabase else { return }
        member("position", earlier.position)
        if !notKnown.isEmpty { notKnown.write(as: "notKnown", into: &self) }
    }
}

// MARK: - Memory

extension EndpointCall {
    /// Reserves memory for an answer with these records. Services without side effects call it right after
    /// they read the records. If there is no memory, the answer is dropped and the service is called again.
    /// - Throws: `RequestMemory.Shortage` if there is not enough memory now.
    func makeRoom(for records: some Sequence<StoredRecord>) throws {
        try makeRoom(for: records.reduce(0) { $0 + $1.fields.bytes.count })
    }

    /// - Parameter bytes: the size of the fields that were read.
    func makeRoom(for bytes: Int) throws {
        try BriefWork.end(after: bytes)
        // Twice the size: for the records and for the text made from them.
        try RequestMemory.current?.prepareAnswer(of: 2 * bytes)
    }
}

// MARK: - Purpose

/// The purpose of a service, for access control.
enum EndpointPurpose: Sendable, Hashable, CaseIterable {
    /// Reads records. In the public database this needs no user; the roles of the types limit it.
    case reading
    /// Acts for a user: saves, or reads what belongs to the user alone, such as zones. Requires a user or a key.
    case ofUser
    /// Identifies the client.
    case caller
    /// Returns data about other users.
    case people
}

// MARK: - Path

/// The parsed path of a web service.
struct WebServicePath: Sendable {
    /// The first part of the path: a database under `/database/1` and `/skylight/1`, a whole environment, or
    /// `/device/1`.
    enum Root: Sendable, Hashable {
        case database(DatabaseScope)
        case environment
        case device
    }

    let root: Root
    let container: ContainerID
    let environment: Environment
    /// The service, such as `records/query` or `tokens/create`.
    let action: String

    /// - Throws: `RecordError` NOT_FOUND if the path cannot be a service, BAD_REQUEST for an invalid part.
    init(_ path: Substring) throws {
        let parts = try path.utf8.split(separator: UInt8(ascii: "/")).map { part in
            guard let decoded = PercentEncoding.decoded(Substring(part)) else {
                throw RecordError(.badRequest, "Malformed path: '\(Substring(part))' is not percent-encoded UTF-8")
            }
            return decoded[...]
        }
        try self.init(parts)
    }

    /// - Parameters:
    ///   - parts: the percent-decoded parts of the path.
    ///   - action: the name of the service, if it is already known; `nil` to build it from the parts.
    /// - Throws: the errors of ``init(_:)``.
    init(_ parts: [Substring], action: String? = nil) throws {
        let isDevice = parts.first == "device"
        let isSkylight = parts.first == "skylight"
        let service = parts.count == 6 ? "\(parts[4])/\(parts[5])" : ""
        // Services of devices are under `/device`. The endpoint table refuses them under `/database`, with an error
        // that names the right path.
        let isOfEnvironment =
            !isDevice
            && (isSkylight ? SkylightServices.ofEnvironments[service] != nil : EndpointTable.device[service] != nil)
        guard parts.count >= 2, parts[1] == "1",
            isDevice ? parts.count == 6 : parts.count >= (isSkylight || isOfEnvironment ? 6 : 7)
        else {
            throw RecordError(
                .notFound,
                "No service at this path; expected /\(isSkylight ? "skylight" : "database")/1/{container}/{environment}/{public|private|shared}/{entity}/{action}"
            )
        }
        guard let container = ContainerID(String(parts[2])) else {
            throw RecordError(
                .badRequest,
                "Invalid container '\(parts[2])': expected iCloud. and letters, digits, dots, hyphens and underscores, up to \(ContainerID.limit) in all"
            )
        }
        guard let environment = Environment(rawValue: String(parts[3])) else {
            throw RecordError(.badRequest, "Invalid environment '\(parts[3])', expected development or production")
        }
        if isDevice {
            root = .device
        } else if isOfEnvironment {
            root = .environment
        } else {
            guard let scope = DatabaseScope(rawValue: String(parts[4])) else {
                throw RecordError(.badRequest, "Invalid database '\(parts[4])', expected public, private or shared")
            }
            root = .database(scope)
        }
        self.container = container
        self.environment = environment
        // The action may have several parts, as in `users/lookup/email`.
        self.action = action ?? parts.dropFirst(isDevice || root == .environment ? 4 : 5).joined(separator: "/")
    }
}
