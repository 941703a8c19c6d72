internal import AsyncHTTPClient
internal import JSON
internal import NIOHTTP1
internal import Records

/// The way to one database of a server, for one caller.
struct ServerLine: Sendable {
    /// Whose services are asked.
    enum Root: String, Sendable {
        /// CloudKit's.
        case database
        /// Skylight's own.
        case skylight
    }

    let server: Server
    /// Whether what the caller may do is up to the roles of record types. Skylight's own services ask none of them.
    let isHeldToRoles: Bool
    private let place: String
    private let headers: HTTPHeaders

    init(_ server: Server, to address: DatabaseAddress, as caller: Caller) throws {
        guard caller.userRecordName.isUserRecordName else {
            // A name of another form would be taken for a handle, and mean somebody else.
            throw RecordError(
                .badRequest,
                "'\(caller.userRecordName)' is no user record name, which is _ and 32 hexadecimal digits; ask the server for the name of a handle")
        }
        guard caller.deviceID.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RecordError(.badRequest, "The deviceID of the caller holds a control character")
        }
        if caller.access == .anonymous {
            throw RecordError(.badRequest, "A caller without a name can't ask another Skylight; let a user ask")
        }
        self.server = server
        isHeldToRoles = address.scope == .public && caller.access != .unrestricted
        place = "\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)"
        var headers: HTTPHeaders = [
            "X-Skylight-Client": "skylight", "X-Skylight-User": caller.userRecordName.string, "X-Skylight-Device": caller.deviceID,
        ]
        // Whose server it is: no role is asked of them.
        if caller.access == .unrestricted { headers.add(name: "X-Skylight-Access", value: "owner") }
        self.headers = headers
    }

    /// Services of Skylight's own that say no more than the protocol's would, whoever asks.
    private static let harmless: Set<String> = ["schema", "token/current", "token/explain", "changes/zones", "changes/page"]

    /// - Throws: `RecordError` ACCESS_DENIED for a service that would do more than the caller's roles allow.
    private func path(_ root: Root, _ action: String) throws -> String {
        if isHeldToRoles, root == .skylight, !Self.harmless.contains(action) {
            throw RecordError(
                .accessDenied, "Another Skylight asks no roles for '\(action)', and the caller is held to them; let its owner ask")
        }
        return "/\(root.rawValue)/1/\(place)/\(action)"
    }

    func get(_ action: String, of root: Root, parameters: [String: String] = [:]) async throws -> Answer {
        try await server.get(path(root, action), parameters: parameters, headers: headers)
    }

    /// Sends a request whose body is an object with the members that are written.
    func post(
        _ action: String, of root: Root, _ purpose: Server.Purpose, _ members: (inout JSONWriter) throws -> Void
    ) async throws -> Answer {
        var writer = JSONWriter(capacity: 1024)
        try writer.object { writer in try members(&writer) }
        return try await server.post(path(root, action), writer.bytes, headers: headers, purpose)
    }

    func stream(_ action: String) async throws -> HTTPClientResponse.Body {
        try await server.stream(path(.skylight, action), headers: headers)
    }
}
