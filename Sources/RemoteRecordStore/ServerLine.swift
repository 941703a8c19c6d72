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
    private let place: String
    private let headers: HTTPHeaders

    init(_ server: Server, to address: DatabaseAddress, as caller: Caller) throws {
        guard Self.isUserRecordName(caller.userRecordName) else {
            throw RecordError(
                .badRequest,
                "'\(caller.userRecordName)' is no user record name, which is _ and 32 hexadecimal digits; ask the server for the name of a handle")
        }
        guard caller.deviceID.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw RecordError(.badRequest, "The deviceID of the caller holds a control character")
        }
        self.server = server
        place = "\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)"
        headers = [
            "X-Skylight-Client": "skylight", "X-Skylight-User": caller.userRecordName.string, "X-Skylight-Device": caller.deviceID,
        ]
    }

    /// A name of another form would be taken for a handle, and mean somebody else.
    private static func isUserRecordName(_ name: Name) -> Bool {
        name.utf8.count == 33 && name.utf8.first == UInt8(ascii: "_")
            && name.utf8.dropFirst().allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
                default: false
                }
            }
    }

    private func path(_ root: Root, _ action: String) -> String { "/\(root.rawValue)/1/\(place)/\(action)" }

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
