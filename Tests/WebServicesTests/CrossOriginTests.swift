import HTTPServing
import Testing

/// CORS headers for pages of other origins.
@Suite("Cross-origin requests")
struct CrossOriginTests {
    private static let path = "/database/1/iCloud.com.example.Test/development/private/records/query"

    @Test(
        "A preflight from a trusted page is answered",
        arguments: ["http://localhost:3000", "http://127.0.0.1", "https://app.example"])
    func preflight(origin: String) async throws {
        try await TestServer.run(trusting: TrustedSites(origins: ["https://app.example"])) { server in
            let request =
                "OPTIONS \(Self.path) HTTP/1.1\r\nHost: localhost\r\nOrigin: \(origin)\r\nAccess-Control-Request-Method: POST\r\n"
                + "Access-Control-Request-Headers: content-type,x-skylight-user\r\nConnection: close\r\n\r\n"
            let response = try #require(try await server.client.exchange(request).first)
            #expect(response.status == 204)
            #expect(response.headers["access-control-allow-origin"] == origin)
            #expect(response.headers["access-control-allow-methods"]?.contains("POST") == true)
            #expect(response.headers["access-control-allow-headers"] == "content-type,x-skylight-user")
            #expect(response.headers["vary"]?.contains("Origin") == true)
        }
    }

    @Test("Answers and errors can be read by a trusted page")
    func answers() async throws {
        try await TestServer.run { server in
            for (header, body, status) in [
                ("", #"{"query":{"recordType":"Nothing"}}"#, 404), ("", "{", 400),
                ("X-Skylight-Rehearse: throttled\r\n", "{}", 429),
            ] {
                let request =
                    "POST \(Self.path) HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\nContent-Type: text/plain\r\n"
                    + "\(header)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
                let response = try #require(try await server.client.exchange(request).first)
                #expect(response.status == status)
                #expect(response.headers["access-control-allow-origin"] == "http://localhost:3000")
                #expect(response.headers["access-control-expose-headers"]?.contains("X-Skylight-Rehearsal") == true)
            }
        }
    }

    @Test(
        "A change is let in that a page of the server makes, one of a trusted origin, or no page",
        arguments: [
            [], ["Sec-Fetch-Site: none"], ["Sec-Fetch-Site: same-origin"],
            ["Sec-Fetch-Site: same-site", "Origin: http://localhost:3000"],
            ["Sec-Fetch-Site: cross-site", "Origin: https://app.example"],
        ])
    func changes(headers: [String]) async throws {
        try await TestServer.run(trusting: TrustedSites(origins: ["https://app.example"])) { server in
            let body = #"{"query":{"recordType":"Nothing"}}"#
            let lines = headers.map { $0 + "\r\n" }.joined()
            let request =
                "POST \(Self.path) HTTP/1.1\r\nHost: localhost\r\n\(lines)Content-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
            let statuses = try await server.client.exchange(request).map(\.status)
            #expect(statuses == [404])
        }
    }

    @Test("Without an origin there are no such headers")
    func plain() async throws {
        try await TestServer.run { server in
            let request =
                "GET /database/1/iCloud.com.example.Test/development/public/users/caller HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            let response = try #require(try await server.client.exchange(request).first)
            #expect(response.status == 200)
            #expect(response.headers["access-control-allow-origin"] == nil)
        }
    }
}
