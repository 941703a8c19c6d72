public import JSON
internal import NIOHTTP1

extension RemoteRecordEngine {
    /// Calls one of the account services under `/skylight/1/accounts/` (docs/services.md).
    /// - Parameters:
    ///   - service: the name of the service, such as `tokens` or `tokens/revoke`.
    ///   - body: the request body; `nil` for services that only read.
    public func accounts(_ service: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let path = "/skylight/1/accounts/\(service)"
        guard let body else { return try await server.get(path).value }
        return try await server.post(path, JSONWriter.bytes(of: body), headers: [:], .saves).value
    }

    /// All users with their details, in the format of `/skylight/1/users`.
    public func userFacts() async throws -> JSONValue {
        try await server.get("/skylight/1/users").value
    }
}
