import Accounts
import HTTPServing
import InMemoryRecordStore
import Records
import RequestLog
import TestSupport
import Testing

@testable import WebServices

/// The web courier over a real connection. The scenarios have what it hands out.
@Suite("The web courier")
struct WebCourierTests {
    private static let device = "/device/1/\(ScenarioRunner.container)/development"

    /// A client with a token, whose user subscribes to a zone.
    private struct Listener {
        let client: NotedClient
        let token: String

        init(_ server: TestServer) async throws {
            client = NotedClient(server: server)
            try await client.save(["first"])
            let subscription =
                #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"Z"},"notificationInfo":{"soundName":"default"}}"#
            try await client.post(
                "subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
            token = try client.token(
                try await client.post("\(WebCourierTests.device)/tokens/create", "{}"), "apnsToken")
        }

        var target: String { "/aps?tok=\(token)&ttl=43200" }
        var request: [UInt8] { Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8) }

        func take() async throws -> RawResponse { try await client.send("GET", target) }
    }

    @Test("Without a notification, the answer is null in the end")
    func nothing() async throws {
        try await TestServer.run(patience: .milliseconds(1)) { server in
            let answer = try await Listener(server).take()
            #expect(
                answer.status == 200 && answer.text == "null"
                    && answer.headers["content-type"]?.hasPrefix("application/json") == true)
            #expect(answer.headers["cache-control"] == "no-store")
        }
    }

    /// CloudKit JS would hand an error in JSON to the app as a notification.
    @Test("An unknown token gets no JSON", arguments: ["", "?tok=", "?tok=none", "?ttl=43200"])
    func unknown(query: String) async throws {
        try await TestServer.run(requiring: .required) { server in
            let answer = try await NotedClient(server: server).send("GET", "/aps\(query)")
            #expect(answer.status == 404 && (try? JSONReader.value(of: answer.body)) == nil, "\(answer.text)")
        }
    }

    @Test("A notification that a client waits for comes when it fires")
    func waiting() async throws {
        try await TestServer.run { server in
            let listener = try await Listener(server)
            let queue = try #require(server.notifier.queue(of: listener.token))
            async let answer = listener.take()
            try await eventually { queue.takers >= 1 }
            try await listener.client.save(["a"])
            let expected: JSONValue = ["aps": ["sound": "default"], "ck": ["fet": ["sid": "z", "zid": "Z"]]]
            #expect(Subset.differences(expected, try await answer.json()) == [])
            try await eventually { queue.count == 0 }
        }
    }

    @Test("A client that leaves, and a HEAD, take nothing away")
    func leaving() async throws {
        try await TestServer.run { server in
            let listener = try await Listener(server)
            let queue = try #require(server.notifier.queue(of: listener.token))
            try await server.client.hangUp(after: listener.request) { try await eventually { queue.takers >= 1 } }
            try await eventually { queue.takers == 0 }
            try await listener.client.save(["a"])
            try await eventually { queue.count >= 1 }
            #expect(try await listener.client.send("HEAD", listener.target).status == 200)
            #expect(queue.count == 1)
            #expect(try await listener.take().text.contains("fet"))
        }
    }

    @Test("Tokens are not in the request log")
    func log() async throws {
        try await TestServer.run(patience: .milliseconds(1)) { server in
            let listener = try await Listener(server)
            let created = try await listener.client.post("\(Self.device)/tokens/create", "{}")
            let registered = try await listener.client.post(
                "\(Self.device)/tokens/register", #"{"apnsToken":"\#(listener.token)"}"#)
            let taken = try await listener.take()
            let secrets = [listener.token, try listener.client.token(created, "apnsToken")]
            for answer in [created, registered, taken] {
                let noted = try listener.client.noted(answer)
                #expect(
                    noted.status == 200 && noted.userRecordName == ScenarioRunner.developer.userRecordName
                        && noted.bytesOut == answer.body.count)
                let bodies = server.log.bodies(of: noted.id)
                let texts =
                    [noted.target]
                    + [bodies?.request, bodies?.response].compactMap {
                        $0.map { String(decoding: $0.bytes, as: UTF8.self) }
                    }
                for secret in secrets { #expect(!texts.contains { $0.contains(secret) }) }
            }
            #expect(try listener.client.noted(created).operation == "tokens/create")
            #expect(try listener.client.noted(taken).target == "/aps?tok=hidden&ttl=43200")
        }
    }

    @Test("Pages of the sites that an API token lists may take notifications, and no others")
    func origins() async throws {
        try await TestServer.run(patience: .milliseconds(1)) { server in
            let listener = try await Listener(server)
            let container = try #require(ContainerID(ScenarioRunner.container))
            _ = try await server.accounts.makeAPIToken(
                named: "App", container: container, environment: .development, allowedOrigins: ["https://app.example"],
                callback: nil)
            let taken = try await listener.client.send("GET", listener.target, "", ["Origin: https://app.example"])
            #expect(taken.status == 200 && taken.headers["access-control-allow-origin"] == "https://app.example")
            #expect(
                try await listener.client.send("GET", listener.target, "", ["Origin: https://other.example"]).status
                    == 403)
            let posted = try await listener.client.send("POST", listener.target)
            #expect(posted.status == 405 && posted.text.contains("'/aps' accepts GET"))
        }
    }

    @Test("On a server that requires credentials, tokens are for users who have signed in")
    func credentials() async throws {
        try await TestServer.run(requiring: .required) { server in
            let answer = try await NotedClient(server: server).post("\(Self.device)/tokens/create", "{}")
            #expect(answer.status == 421 || answer.status == 401)
        }
    }

    @Test("A server with nothing but the protocol has the courier", arguments: [false, true])
    func protocolOnly(isOnly: Bool) async throws {
        let engine = InMemoryRecordEngine()
        try await TestServer.run(keeping: engine, protocolOnly: isOnly) { server in
            let client = NotedClient(server: server, headers: [])
            let token = try client.token(try await client.post("\(Self.device)/tokens/create", "{}"), "apnsToken")
            server.notifier.queue(of: token)?.close()
            let answer = try await client.send("GET", "/aps?tok=\(token)")
            #expect(answer.status == 200 && answer.text == "null")
        }
        await engine.close()
    }

    @Test("Notifications stream as server-sent events, and go on after the last one that arrived")
    func stream() async throws {
        try await TestServer.run { server in
            let listener = try await Listener(server)
            func request(_ more: String = "") -> String {
                "GET \(NotedClient.skylight)/notifications HTTP/1.1\r\nHost: localhost\r\n\(more)\r\n"
            }
            let received = try await server.client.beginning(
                of: request(), until: #""zid":"Z""#, after: "event: following"
            ) {
                try await listener.client.save(["a"])
            }
            #expect(received.contains("event: notification\ndata: {\"aps\":{\"sound\":\"default\"}"))
            let ids = received.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("id: ") }.compactMap {
                Int64($0.dropFirst(4))
            }
            #expect(ids.count == 2 && ids[0] < ids[1])
            // The one after the last event is told again to a client that did not get it.
            let again = try await server.client.beginning(
                of: request("Last-Event-ID: \(ids[0])\r\n"), until: #""zid":"Z""#)
            #expect(again.contains("id: \(ids[1])\nevent: notification"))
            let refused = try await listener.client.send("GET", "\(NotedClient.skylight)/notifications?since=x")
            #expect(refused.status == 400 && refused.text.contains("'since'"))
        }
    }
}
