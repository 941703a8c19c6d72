import Foundation
import HTTPServing
import Records
import Testing

/// Requests that are refused before they reach a route.
@Suite("Guards")
struct GuardTests {
    private static let path = "/database/1/iCloud.com.example.Test/development/public/users/caller"

    /// A request to this machine.
    private static func request(_ line: String, _ headers: String..., body: String = "") -> String {
        "\(line) HTTP/1.1\r\nHost: localhost\r\n" + headers.map { $0 + "\r\n" }.joined() + "\r\n" + body
    }

    @Test(
        "Requests that leave a doubt are refused and the connection ends",
        arguments: [
            ("no host", "GET \(path) HTTP/1.1\r\n\r\n", 400),
            ("two hosts", request("GET \(path)", "Host: localhost"), 400),
            ("two hosts, one foreign", request("GET \(path)", "host: evil.example"), 400),
            ("a foreign host", "GET \(path) HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403),
            ("a host that only starts well", "GET \(path) HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", 403),
            ("an address of the network", "GET \(path) HTTP/1.1\r\nHost: 192.168.0.1:8080\r\n\r\n", 403),
            ("a host with a user", "GET \(path) HTTP/1.1\r\nHost: evil@localhost\r\n\r\n", 403),
            ("an empty host", "GET \(path) HTTP/1.1\r\nHost:\r\n\r\n", 403),
            ("an absolute target", request("GET http://localhost\(path)"), 400),
            ("an absolute target elsewhere", request("GET http://evil.example\(path)"), 400),
            ("an asterisk", request("OPTIONS *"), 400),
            ("a tunnel", request("CONNECT localhost:80"), 400),
            ("half an escape", request("GET \(path)?a=%4"), 400),
            ("no escape", request("GET \(path)?a=%zz"), 400),
            ("a long target", request("GET \(path)?a=\(String(repeating: "a", count: 20_000))"), 414),
            ("a large header", request("GET \(path)", "X-Large: \(String(repeating: "a", count: 100_000))"), 400),
            (
                "many headers",
                "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(String(repeating: "X-A: b\r\n", count: 300))\r\n", 400
            ),
            ("an empty part at the start of the path", request("GET /\(path)"), 400),
            ("an empty part within the path", request("GET /skylight//1/health"), 400),
            ("an empty part at the end of the path", request("GET \(path)//?a=b"), 400),
            (
                "an empty part that hides a link on a foreign page",
                request(
                    "GET /\(path)", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"
                ), 400
            ),
            ("no HTTP", "hello\r\n\r\n", 400),
            ("a space in the target", request("GET /a b"), 400),
            ("two lengths", request("POST \(path)", "Content-Length: 2", "Content-Length: 3", body: "{}"), 400),
            (
                "a length and chunks",
                request("POST \(path)", "Content-Length: 2", "Transfer-Encoding: chunked", body: "0\r\n\r\n"), 400
            ),
            (
                "a foreign origin",
                request("POST \(path)", "Origin: https://evil.example", "Content-Length: 2", body: "{}"), 403
            ),
            ("a foreign origin that reads", request("GET \(path)", "Origin: https://evil.example"), 403),
            ("an origin that only starts well", request("GET \(path)", "Origin: http://localhost.evil.example"), 403),
            ("no origin's change", request("POST \(path)", "Origin: null", "Content-Length: 2", body: "{}"), 403),
            ("two origins", request("GET \(path)", "Origin: http://localhost", "Origin: http://localhost"), 403),
            (
                "an image on a foreign page",
                request("GET \(path)", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"), 403
            ),
            (
                "a link on a foreign page",
                request(
                    "GET \(path)", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"),
                403
            ),
            (
                "a link on a foreign page with an encoded letter in its path",
                request(
                    "GET /%64atabase\(path.dropFirst("/database".count))", "Connection: close",
                    "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), 404
            ),
            (
                "a change from elsewhere that hides its origin",
                request("POST \(path)", "Sec-Fetch-Site: cross-site", "Content-Length: 2", body: "{}"), 403
            ),
            (
                "a change from another port that hides its origin",
                request("POST \(path)", "Sec-Fetch-Site: same-site", "Content-Length: 2", body: "{}"), 403
            ),
            (
                "a form of a foreign page that hides its origin",
                request(
                    "POST /containers", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate",
                    "Sec-Fetch-Dest: document"), 403
            ),
            ("a deletion from somewhere", request("DELETE /containers", "Sec-Fetch-Site: somewhere"), 403),
            (
                "a change from a sandbox",
                request("POST \(path)", "Origin: null", "Sec-Fetch-Site: same-origin", "Content-Length: 2", body: "{}"),
                403
            ),
            (
                "a sandboxed frame on a foreign page",
                request("GET \(path)", "Origin: null", "Sec-Fetch-Site: cross-site"), 403
            ),
            (
                "a body that says it is too large", request("POST \(path)", "Content-Length: 99999999999", body: "{"),
                413
            ),
        ] as [(String, String, Int)])
    func refused(what: String, request: String, status: Int) async throws {
        try await TestServer.run { server in
            // The server closes the connection without being asked to.
            let responses = try await server.client.exchange(request)
            #expect(responses.map(\.status) == [status], "\(what)")
            if let response = responses.first, response.headers["content-type"]?.hasPrefix("application/json") == true {
                #expect(
                    Subset.differences(
                        ["uuid": "<any>", "serverErrorCode": "<any>", "reason": "<any>"], try response.json()
                    ).isEmpty, "\(what)")
            }
        }
    }

    @Test(
        "The machine's own names are answered, with any port",
        arguments: [
            "localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "127.1.2.3:8080", "[::1]", "[::1]:8080",
            "skylight.example", "box.example:8080",
        ])
    func answered(host: String) async throws {
        try await TestServer.run(trusting: TrustedSites(hosts: ["skylight.example", "box.example:8080"])) { server in
            let responses = try await server.client.exchange(
                "GET \(Self.path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
            #expect(responses.map(\.status) == [200])
        }
    }

    @Test("Slashes in a query string are no path")
    func slashesInQueries() async throws {
        try await TestServer.run { server in
            let responses = try await server.client.exchange(
                "GET \(Self.path)?a=//b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            #expect(responses.map(\.status) == [200])
        }
    }

    @Test("Nothing hides behind a refused request")
    func pipelined() async throws {
        try await TestServer.run { server in
            let create =
                #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"hidden"}}]}"#
            let modify = "/database/1/iCloud.com.example.Test/development/public/records/modify"
            let second =
                "POST \(modify) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(create.utf8.count)\r\n\r\n\(create)"
            let responses = try await server.client.exchange(
                "GET \(Self.path) HTTP/1.1\r\nHost: evil.example\r\n\r\n" + second)
            #expect(responses.map(\.status) == [403])
            var runner = ScenarioRunner(server)
            try await runner.play(
                Scenario(
                    "not saved",
                    post(
                        "public/records/lookup", #"{"records":[{"recordName":"hidden"}]}"#, 200,
                        #"{"records":[{"serverErrorCode":"NOT_FOUND"}]}"#)))
        }
    }

    @Test("A body that turns out too large is refused while it comes")
    func endlessBody() async throws {
        try await TestServer.run { server in
            let chunk = "100000\r\n" + String(repeating: " ", count: 0x100000) + "\r\n"
            let head =
                "POST /database/1/iCloud.com.example.Test/development/public/records/modify HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            let responses = try await server.client.exchange(
                Array(head.utf8) + Array(String(repeating: chunk, count: 40).utf8))
            #expect(responses.map(\.status) == [413])
            #expect(try responses.first?.json() != nil)
        }
    }

    @Test("Several requests follow each other on a connection")
    func keptAlive() async throws {
        try await TestServer.run { server in
            let get = "GET \(Self.path) HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let notFound = "GET /database/1/x HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let last = "GET /nothing/here HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            let responses = try await server.client.exchange(get + notFound + get + last)
            #expect(responses.map(\.status) == [200, 404, 200, 404])
            #expect(responses.last?.headers["content-type"] == "text/plain; charset=utf-8")
        }
    }

    @Test("A client that asks whether to send its body is told to")
    func expectation() async throws {
        try await TestServer.run { server in
            let head = "POST \(Self.path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\n"
            let asked = try await server.client.exchange(head + "Content-Length: 2\r\n\r\n{}")
            #expect(asked.map(\.status) == [100, 200])
            let tooLarge = try await server.client.exchange(head + "Content-Length: 99999999\r\n\r\n")
            #expect(tooLarge.map(\.status) == [413])
        }
    }

    @Test("An answer to HEAD has no body, so the next answer is not mistaken")
    func heads() async throws {
        try await TestServer.run { server in
            let head = "HEAD /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let api = "HEAD \(Self.path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            let text = try await String(decoding: server.client.send(Array((head + api).utf8)), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 404"))
            #expect(text.hasSuffix("\r\n\r\n"))
            #expect(text.components(separatedBy: "\r\n\r\nHTTP/1.1 200").count == 2)
            let refused = try await String(
                decoding: server.client.send(Array("HEAD / HTTP/1.1\r\nHost: evil.example\r\n\r\n".utf8)), as: UTF8.self
            )
            #expect(refused.hasPrefix("HTTP/1.1 403"))
            #expect(refused.hasSuffix("\r\n\r\n"))
        }
    }

    @Test("Every answer, refusals too, carries the security headers and the time it took")
    func headers() async throws {
        try await TestServer.run { server in
            for request in [
                "GET \(Self.path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            ] {
                let response = try #require(try await server.client.exchange(request).first)
                #expect(response.headers["x-content-type-options"] == "nosniff")
                #expect(response.headers["content-security-policy"]?.contains("default-src 'none'") == true)
                #expect(response.headers["content-security-policy"]?.contains("unsafe") == false)
                #expect(response.headers["server-timing"]?.hasPrefix("total;dur=") == true)
            }
        }
    }
}
