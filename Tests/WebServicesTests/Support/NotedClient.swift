import Records
import RequestLog
import Testing

/// A client whose requests are then looked up in the server's log.
struct NotedClient: Sendable {
    static let root = "/database/1/\(ScenarioRunner.container)/development/private"
    static let skylight = "/skylight/1/\(ScenarioRunner.container)/development/private"

    let server: TestServer
    var headers = ["X-Skylight-Client: Notes"]

    /// Runs a server while the body runs.
    static func run(_ body: @Sendable (NotedClient) async throws -> Void) async throws {
        try await TestServer.run { try await body(NotedClient(server: $0)) }
    }

    static func head(_ method: String, _ path: String, _ headers: [String], length: Int) -> String {
        let lines =
            ["\(method) \(path) HTTP/1.1", "Host: localhost", "Connection: close", "Content-Length: \(length)"]
            + headers
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    @discardableResult
    func send(_ method: String, _ path: String, _ body: String = "", _ more: [String] = []) async throws -> RawResponse
    {
        let target = path.hasPrefix("/") ? path : "\(Self.root)/\(path)"
        let head = Self.head(method, target, headers + more, length: body.utf8.count)
        return try #require(try await server.client.exchange(head + body).first, "no answer to \(method) \(path)")
    }

    @discardableResult
    func post(_ path: String, _ body: String) async throws -> RawResponse {
        try await send("POST", path, body)
    }

    /// The log entry of a request.
    func noted(_ response: RawResponse) throws -> ServedRequest {
        let id = try #require(response.headers["x-skylight-request"], "an answer without its request's id")
        return try #require(server.log.request(id), "the request is not in the log")
    }

    func token(_ response: RawResponse, _ place: String = "syncToken") throws -> String {
        guard case .string(let text)? = Subset.value(at: place, in: try response.json()) else {
            throw RecordError(.internalError, "no token in \(response.text)")
        }
        return text
    }

    /// Creates a zone and saves records in it, in one request each.
    func save(_ names: [String], in zone: String = "Z") async throws {
        try await post(
            "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(zone)"}}}]}"#)
        let operations = names.map {
            #"{"operationType":"forceUpdate","record":{"recordType":"N","recordName":"\#($0)","fields":{"x":{"value":1}}}}"#
        }
        let answer = try await post(
            "records/modify",
            #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[\#(operations.joined(separator: ","))]}"#)
        #expect(answer.status == 200)
    }
}
