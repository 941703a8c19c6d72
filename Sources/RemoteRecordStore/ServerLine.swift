internal import AsyncHTTPClient
internal import JSON
internal import NIOHTTP1
internal import Records

/// The connection to one database of a server, for one caller.
struct ServerLine: Sendable {
    /// The root path of the services.
    enum Root: String, Sendable {
        /// CloudKit's services.
        case database
        /// Skylight's own services.
        case skylight
    }

    let server: ServerClient
    /// True if the roles of record types restrict the caller. Skylight's own services do not check roles.
    let isHeldToRoles: Bool
    private let place: String
    private let headers: HTTPHeaders

    init(_ server: ServerClient, to address: DatabaseAddress, as caller: Caller) throws {
        guard caller.userRecordName.isUserRecordName else {
            // The server would read a name of another format as a handle, possibly that of another user.
            throw RecordError(
                .badRequest,
                "'\(caller.userRecordName)' is not a user record name (_ and 32 hexadecimal digits); get the name for a handle from the server")
        }
        guard caller.deviceID.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RecordError(.badRequest, "The deviceID of the caller contains a control character")
        }
        if caller.access == .anonymous {
            throw RecordError(.badRequest, "A caller without a name can't use another Skylight; use a user")
        }
        self.server = server
        isHeldToRoles = address.scope == .public && caller.access != .unrestricted
        place = "\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)"
        var headers: HTTPHeaders = [
            "X-Skylight-Client": "skylight", "X-Skylight-User": caller.userRecordName.string, "X-Skylight-Device": caller.deviceID,
        ]
        // Roles do not restrict the owner of the server.
        if caller.access == .unrestricted { headers.add(name: "X-Skylight-Access", value: "owner") }
        self.headers = headers
    }

    /// Skylight services that reveal no more than the protocol's own services.
    private static let harmless: Set<String> = ["schema", "token/current", "token/explain", "changes/zones", "changes/page"]

    /// - Throws: `RecordError` ACCESS_DENIED for a service that would bypass the caller's roles.
    private func path(_ root: Root, _ action: String) throws -> String {
        if isHeldToRoles, root == .skylight, !Self.harmless.contains(action) {
            throw RecordError(
                .accessDenied, "Another Skylight does not check roles for '\(action)', but the caller is limited by them; use the owner")
        }
        return "/\(root.rawValue)/1/\(place)/\(action)"
    }

    func get(_ action: String, of root: Root, parameters: [String: String] = [:]) async throws -> Answer {
        try await server.get(path(root, action), parameters: parameters, headers: headers)
    }

    /// Sends a request with an object of the written members.
    func post(
        _ action: String, of root: Root, _ purpose: ServerClient.Purpose, _ members: (inout JSONWriter) throws -> Void
    ) async throws -> Answer {
        var writer = JSONWriter(capacity: 1024)
        try writer.object { writer in try members(&writer) }
        return try await server.post(path(root, action), writer.bytes, headers: headers, purpose)
    }

    /// - Parameter lastEventID: the last event of an earlier stream, after which this one begins; `nil` for none.
    func stream(_ action: String, lastEventID: String? = nil) async throws -> HTTPClientResponse.Body {
        var headers = headers
        if let lastEventID { headers.add(name: "Last-Event-ID", value: lastEventID) }
        return try await server.stream(path(.skylight, action), headers: headers)
    }
}
