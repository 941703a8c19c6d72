public import JSON
internal import NIOHTTP1

extension RemoteRecordEngine {
    /// Asks the server about accounts, or has it change something: one of the services under `/skylight/1/accounts/` (docs/services.md).
    /// - Parameters:
    ///   - service: its name, such as `tokens` or `tokens/revoke`.
    ///   - body: what it takes; `nil` for services that only tell.
    public func accounts(_ service: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        let path = "/skylight/1/accounts/\(service)"
        guard let body else { return try await server.get(path).value }
        return try await server.post(path, JSONWriter.bytes(of: body), headers: [:], .saves).value
    }

    /// All users with what is known of each, as `/skylight/1/users` tells it.
    public func userFacts() async throws -> JSONValue {
        try await server.get("/skylight/1/users").value
    }
}
