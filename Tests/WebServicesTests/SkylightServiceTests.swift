import Foundation
import HTTPServing
import RecordStore
import Records
import Testing

@testable import WebServices

/// Inputs of Skylight's own services other than bodies: origins, devices, and the state of stores.
@Suite("Skylight's own services")
struct SkylightServiceTests {
    private static let root = "/skylight/1/iCloud.com.example.Test/development/private"

    private static func request(_ method: String, _ path: String, _ body: String = "", headers: String...) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n"
            + headers.map { $0 + "\r\n" }.joined() + "\r\n" + body
    }

    @Test(
        "Pages of other sites change and read nothing",
        arguments: [
            ("POST", "\(root)/schema/edit"), ("POST", "\(root)/zones/share"), ("POST", "\(root)/zones/unshare"),
            ("POST", "\(root)/zones/purge"),
            ("POST", "\(root)/records/restore"), ("POST", "\(root)/records/revert"),
            ("GET", "\(root)/records/journal?recordName=r"), ("POST", "\(root)/tokens/expire"),
            ("POST", "\(root)/changes/page"), ("POST", "\(root)/changes/zones"),
            ("POST", "\(root)/records/query"), ("GET", "\(root)/schema"), ("GET", "\(root)/records/list?zone=Z"),
            ("GET", "\(root)/records/counts?zone=Z"),
            ("GET", "\(root)/records/referrers?zone=Z"), ("GET", "\(root)/zones/participants?zone=Z"),
            ("GET", "\(root)/commits"),
            ("POST", "\(root)/schema/import"), ("POST", "\(root)/schema/reset"), ("POST", "\(root)/schema/validate"),
            ("POST", "\(root)/schema/diff"),
            ("POST", "/skylight/1/iCloud.com.example.Test/production/public/schema/deploy"),
            ("GET", "\(root)/schema/text"), ("GET", "\(root)/schema/builds"),
            ("GET", "\(root)/schema/history"), ("GET", "\(root)/schema/usage?recordType=N"),
            ("GET", "\(root)/query/statistics"),
            ("POST", "\(root)/records/explain"),
            ("GET", "/skylight/1/health"), ("GET", "/skylight/1/containers"), ("GET", "/skylight/1/users"),
            ("GET", "/skylight/1/users/caller"),
        ])
    func foreignOrigin(method: String, path: String) async throws {
        try await TestServer.run { server in
            for header in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
                let response = try #require(
                    try await server.client.exchange(Self.request(method, path, "{}", headers: header)).first)
                #expect(response.status == 403)
                #expect(Subset.differences(["serverErrorCode": "ACCESS_DENIED"], try response.json()) == [])
            }
            let foreignHost = Self.request(method, path, "{}").replacing("Host: localhost", with: "Host: evil.example")
            #expect(try await server.client.exchange(foreignHost).first?.status ?? 0 >= 400)
            #expect(try await server.engine.require(.listContainers).containers().isEmpty)
        }
    }

    @Test("A trusted page may ask first and then do it")
    func trustedOrigin() async throws {
        try await TestServer.run { server in
            let preflight = Self.request(
                "OPTIONS", "\(Self.root)/tokens/expire", headers: "Origin: http://localhost:3000",
                "Access-Control-Request-Method: POST")
            let allowed = try #require(try await server.client.exchange(preflight).first)
            #expect(allowed.status == 204 && allowed.headers["access-control-allow-origin"] == "http://localhost:3000")
            let answer = Self.request(
                "POST", "\(Self.root)/tokens/expire", "{}", headers: "Origin: http://localhost:3000")
            let response = try #require(try await server.client.exchange(answer).first)
            #expect(
                response.status == 200 && response.headers["access-control-allow-origin"] == "http://localhost:3000")
        }
    }

    @Test("A store that takes no saves makes the server's health 503")
    func health() async throws {
        let container = try #require(ContainerID("iCloud.com.example.Test"))
        let stores = [
            StoreHealth(container: container, environment: .development, readOnlyBecause: nil),
            StoreHealth(
                container: container, environment: .production,
                readOnlyBecause: RecordError(.tryAgainLater, "The disk failed", retryAfter: 9)),
        ]
        try await TestServer.run(on: SickEngine(stores: stores)) { server in
            let response = try #require(
                try await server.client.exchange(Self.request("GET", "/skylight/1/health")).first)
            #expect(response.status == 503)
            let expected = try JSONReader.value(
                of:
                    #"{"status":"read-only","stores":[{"environment":"development","status":"ok"},{"environment":"production","status":"read-only","reason":"The disk failed","retryAfter":9}]}"#
            )
            #expect(Subset.differences(expected, try response.json()) == [])
        }
    }

    @Test(
        "Nobody rehearses through a proxy",
        arguments: ["X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1", "x-forwarded-for: 10.0.0.1"])
    func forwarded(header: String) async throws {
        try await TestServer.run { server in
            let start = #"{"start":"pages-of-one"}"#
            let service = "\(Self.root)/token/current"
            for (request, status) in [
                (Self.request("POST", "/skylight/1/rehearsals", start, headers: header), 403),
                (Self.request("GET", "/skylight/1/rehearsals", headers: header), 403),
                (Self.request("GET", service, headers: header, "X-Skylight-Rehearse: throttled"), 403),
                (Self.request("GET", service, headers: header), 200),
                (Self.request("GET", service, headers: "X-Skylight-Rehearse: throttled"), 429),
            ] {
                #expect(try await server.client.exchange(request).first?.status == status)
            }
            let list = try #require(
                try await server.client.exchange(Self.request("GET", "/skylight/1/rehearsals")).first)
            #expect(Subset.differences(["on": []], try list.json()) == [])
        }
    }

    @Test("A heartbeat takes no commit's place")
    func heartbeats() async throws {
        let (wakes, continuation) = AsyncStream.makeStream(of: Wake.self, bufferingPolicy: .bufferingNewest(1))
        var taken: [Wake] = []
        var iterator = wakes.makeAsyncIterator()
        continuation.yield(.commit)
        for _ in 0..<2 {
            Wake.beat(continuation)
            Wake.beat(continuation)
            if let wake = await iterator.next() { taken.append(wake) }
        }
        #expect(taken == [.commit, .heartbeat])
    }

    @Test("The schema comes as a file that makes the same schema again")
    func schemaText() async throws {
        try await TestServer.run { server in
            func send(_ method: String, _ action: String, _ body: String = "") async throws -> RawResponse {
                try #require(
                    try await server.client.exchange(Self.request(method, "\(Self.root)/schema/\(action)", body)).first)
            }
            let edit =
                #"{"edits":[{"addType":{"name":"Note","fields":{"title":{"type":"STRING","indexes":["QUERYABLE"]}}}}]}"#
            #expect(try await send("POST", "edit", edit).status == 200)
            let file = try await send("GET", "text")
            #expect(file.status == 200 && file.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(
                file.headers["content-disposition"]
                    == #"attachment; filename="iCloud.com.example.Test-development.ckdb""#)
            #expect(
                file.text.hasPrefix("DEFINE SCHEMA\n")
                    && file.text.contains("\n        title           STRING QUERYABLE,\n"))
            let body = String(decoding: JSONWriter.bytes(of: ["text": .string(file.text)]), as: UTF8.self)
            #expect(
                Subset.differences(["different": false, "changes": []], try await send("POST", "diff", body).json())
                    == [])
            #expect(
                Subset.differences(["changes": [], "losses": []], try await send("POST", "import", body).json()) == [])
            #expect(try await send("GET", "text").body == file.body)
            #expect(try await send("POST", "text").status == 405)
        }
    }

    /// A service without documentation cannot be found.
    @Test("Every service is documented")
    func documentation() throws {
        let docs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs")
        let text = try ["services.md", "feeds.md", "rehearsals.md"].map {
            try String(contentsOf: docs.appending(path: $0), encoding: .utf8)
        }.joined()
        let names =
            Array(SkylightServices.endpoints.keys) + SkylightServices.ofUsers.keys + SkylightServices.streams.keys
            + SkylightServices.server.keys
        for name in names {
            #expect(["`\(name)`", "/\(name)", "## \(name)\n"].contains { text.contains($0) }, "\(name)")
        }
        for name in SkylightServices.ofEnvironments.keys {
            #expect(text.contains("`\(name.dropFirst("assets/".count))`"), "\(name)")
        }
    }

    @Test("A record names the device that the request named", arguments: ["iPhone", "Ännas iPad 💬", ""])
    func device(name: String) async throws {
        try await TestServer.run { server in
            let save = #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"r"}}]}"#
            let path = "/database/1/iCloud.com.example.Test/development/private/records/modify"
            let response = try #require(
                try await server.client.exchange(
                    Self.request("POST", path, save, headers: "X-Skylight-Device: \(name)")
                ).first)
            let expected: JSONValue = ["records": [["created": ["deviceID": .string(name.isEmpty ? "iCloud" : name)]]]]
            #expect(Subset.differences(expected, try response.json()) == [])
            let long = String(repeating: "x", count: 256)
            let refused = try #require(
                try await server.client.exchange(
                    Self.request("POST", path, save, headers: "X-Skylight-Device: \(long)")
                ).first)
            #expect(refused.status == 400)
        }
    }
}

private struct SickEngine: RecordEngine, HealthReporting {
    let stores: [StoreHealth]

    func health() async -> [StoreHealth] { stores }
    func database(_ address: DatabaseAddress, as caller: Caller) async throws -> any RecordDatabase {
        throw RecordError(.internalError, "none")
    }
    func close() async {}
}
