import Foundation
import RecordStore
import Records
import RequestLog
import TestSupport
import Testing

@testable import WebServices

/// The services for the request log.
@Suite("Requests, clients and numbers") struct TrafficServiceTests {
    private static func json(_ response: RawResponse, _ place: String) throws -> JSONValue? {
        Subset.value(at: place, in: try response.json())
    }

    private static func ids(_ response: RawResponse) throws -> [String] {
        guard case .array(let requests)? = try json(response, "requests") else { return [] }
        return requests.compactMap { if case .string(let id)? = Subset.value(at: "id", in: $0) { id } else { nil } }
    }

    private static func eventIDs(_ stream: String) -> [String] {
        // HTTP chunk sizes stand between the lines of events.
        stream.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
    }

    @Test("Requests are listed newest first, page by page, and filtered")
    func list() async throws {
        try await TestServer.run { server in
            let (anna, ben) = (
                NotedClient(server: server, headers: ["X-Skylight-Client: Notes", "X-Skylight-User: anna"]),
                NotedClient(server: server, headers: ["X-Skylight-Client: Chat", "X-Skylight-User: ben"])
            )
            try await anna.save(["a"])
            try await ben.send("GET", "zones/list")
            try await ben.post("records/query", #"{"query":{"recordType":"Nothing"}}"#)
            let all = try Self.ids(try await anna.send("GET", "/skylight/1/requests"))
            #expect(all == server.log.latest(10).map(\.id) && all.count == 4)
            let page = try await anna.send("GET", "/skylight/1/requests?resultsLimit=3")
            #expect(try Self.ids(page) == Array(all.prefix(3)) && Self.json(page, "last") == .string(all[2]))
            let rest = try await anna.send("GET", "/skylight/1/requests?resultsLimit=3&after=\(all[2])")
            #expect(try Self.ids(rest) == [all[3]] && Self.json(rest, "last") == nil)
            for (query, expected) in [
                ("user=anna", Array(all[2...])), ("user=ben&operation=zones/list", [all[1]]), ("errors=1", [all[0]]),
                ("errors=0&client=Chat", Array(all[..<2])),
                ("text=nothing", [all[0]]), ("environment=production", []),
                ("container=\(ScenarioRunner.container)&database=private", all), ("warnings=1", []),
                ("user=nobody", []), ("database=public", []),
            ] {
                #expect(
                    try Self.ids(try await anna.send("GET", "/skylight/1/requests?\(query)")) == expected, "\(query)")
            }
            for wrong in ["resultsLimit=0", "errors=maybe", "database=mine", "environment=test", "container=x"] {
                #expect(try await anna.send("GET", "/skylight/1/requests?\(wrong)").status == 400, "\(wrong)")
            }
            #expect(try await anna.post("/skylight/1/requests", "{}").status == 405)
            #expect(
                try Self.ids(try await anna.send("GET", "/skylight/1/requests?after=\(all[2].uppercased())")) == [
                    all[3]
                ])
            let gone = try await anna.send("GET", "/skylight/1/requests?after=00000000-0000-0000-0000-000000000000")
            #expect(gone.status == 404 && gone.text.contains("start again without 'after'"))
            #expect(try await anna.send("GET", "/skylight/1/requests?after=\(all[3])").text == #"{"requests":[]}"#)
            // A filter for a user does not create the user.
            #expect(try await !anna.send("GET", "/skylight/1/users").text.contains("nobody"))
        }
    }

    @Test("A request is shown with its bodies when they are asked for")
    func one() async throws {
        try await NotedClient.run { client in
            let answer = try await client.post("records/lookup", #"{"records":[{"recordName":"ä"}]}"#)
            let id = try client.noted(answer).id
            let plain = try await client.send("GET", "/skylight/1/requests/\(id)")
            let expected: JSONValue = [
                "id": .string(id), "operation": "records/lookup", "status": 200, "database": "private",
                "environment": "development",
                "client": ["id": "Notes", "name": "Notes"],
                "itemErrors": [["name": "ä", "serverErrorCode": "NOT_FOUND", "reason": "<any>"]],
                "requestBody": "<absent>", "responseBody": "<absent>", "warnings": "<absent>", "milliseconds": "<any>",
                "zoneIDs": "<any>",
            ]
            #expect(Subset.differences(expected, try plain.json()) == [])
            let bodies = try await client.send("GET", "/skylight/1/requests/\(id.uppercased())?bodies=1")
            #expect(try Self.json(bodies, "requestBody.text") == #"{"records":[{"recordName":"ä"}]}"#)
            #expect(
                try Self.json(bodies, "responseBody.text") == .string(answer.text)
                    && Self.json(bodies, "responseBody.cut") == false)
            let unknown = try await client.send("GET", "/skylight/1/requests/00000000-0000-0000-0000-000000000000")
            #expect(unknown.status == 404)
        }
    }

    @Test("The live stream shows requests as they are answered, and goes on after the one it broke off at")
    func live() async throws {
        try await NotedClient.run { client in
            func stream(_ query: String = "", _ headers: [String] = [], until mark: String) async throws -> String {
                try await client.server.client.beginning(
                    of: NotedClient.head("GET", "/skylight/1/requests/live\(query)", headers, length: 0), until: mark)
            }
            try await client.send("GET", "zones/list")
            async let live = stream(until: "users/current")
            try await eventually {
                try await client.send("GET", "users/caller").status == 200 && client.server.log.latest(.max).count > 3
            }
            try await client.send("GET", "users/current")
            let text = try await live
            #expect(text.lowercased().contains("content-type: text/event-stream"))
            #expect(!text.contains("zones/list") && text.contains("event: request\ndata: {\"id\":"))
            // From the first request on, each request once.
            let order = client.server.log.latest(.max).reversed().map(\.id)
            let again = try await stream("", ["Last-Event-ID: \(order[0])"], until: "users/current")
            #expect(Self.eventIDs(again) == Array(order.dropFirst()) && !again.contains("event: missed"))
            let filtered = try await stream("?operation=users/current&after=\(order[0])", until: "users/current")
            #expect(Self.eventIDs(filtered) == [order.last ?? ""])
            // After an unknown id, the whole log is sent, with a note that requests may be missing.
            let lost = try await stream("?after=gone", until: "users/current")
            #expect(lost.contains("event: missed\ndata: {}") && lost.contains(order[0]))
        }
    }

    @Test("A client that disconnects before the first event resumes from the start of the stream")
    func liveFromTheStart() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            func stream(_ headers: [String] = [], until mark: String) async throws -> String {
                try await server.client.beginning(
                    of: NotedClient.head("GET", "/skylight/1/requests/live", headers, length: 0), until: mark)
            }
            let empty = try #require(Self.eventIDs(try await stream(until: "id: ")).first)
            try await client.send("GET", "zones/list")
            let first = try await stream(["Last-Event-ID: \(empty)"], until: "zones/list")
            #expect(!first.contains("event: missed"))
            let latest = try #require(server.log.latest(1).first)
            let begun = Self.eventIDs(try await stream(until: "id: \(latest.id)"))
            #expect(begun.first == latest.id)
            try await client.send("GET", "users/current")
            let second = try await stream(["Last-Event-ID: \(latest.id)"], until: "users/current")
            #expect(!second.contains("zones/list") && !second.contains("event: missed"))
        }
    }

    @Test("HEAD has the head of a stream that never ends")
    func headOfLive() async throws {
        try await TestServer.run { server in
            let head = "HEAD /skylight/1/requests/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let text = try await String(decoding: server.client.send(Array(head.utf8)), as: UTF8.self)
            // The answer ends with the connection. In HTTP/1.1 it would have an empty final chunk.
            #expect(
                text.hasPrefix("HTTP/1.0 200") && text.lowercased().contains("content-type: text/event-stream")
                    && text.hasSuffix("\r\n\r\n"))
            #expect(text.components(separatedBy: "\r\n\r\n").count == 2)
        }
    }

    @Test("HEAD says what GET says wherever there is GET, and is noted as what it is")
    func heads() async throws {
        try await TestServer.run { server in
            let client = NotedClient(server: server)
            try await client.save(["a"])
            let root = "/skylight/1/\(ScenarioRunner.container)/development/private"
            let paths = [
                "/health", "/openapi.json", "/metrics", "/skylight/1/health", "/skylight/1/containers",
                "/skylight/1/requests", "/skylight/1/accounts/tokens",
                "/skylight/1/rehearsals", "\(root)/schema", "\(root)/schema/text", "\(root)/token/current?zone=Z",
                "/database/1/\(ScenarioRunner.container)/development/public/users/caller",
                "/database/1/\(ScenarioRunner.container)/development/private/records/query",
            ]
            for path in paths {
                let (get, head) = (try await client.send("GET", path), try await client.send("HEAD", path))
                #expect(head.status == get.status && head.body.isEmpty, "\(path)")
                for name in ["content-type", "content-encoding", "etag", "allow", "vary"] {
                    #expect(head.headers[name] == get.headers[name], "\(path) \(name)")
                }
            }
            #expect(server.log.latest(1, where: { $0.operation == "records/query" }).map(\.method) == ["HEAD"])
        }
    }

    @Test("Clients are listed with their feeds and warnings")
    func clients() async throws {
        try await NotedClient.run { client in
            try await client.save(["a"])
            let token = try client.token(try await client.post("records/changes", #"{"zoneID":{"zoneName":"Z"}}"#))
            let again = try client.noted(try await client.post("records/changes", #"{"zoneID":{"zoneName":"Z"}}"#))
            let answer = try await client.send("GET", "/skylight/1/clients?container=\(ScenarioRunner.container)")
            let expected: JSONValue = [
                "clients": [
                    [
                        "client": ["id": "Notes"], "database": "private", "requests": 4, "failures": 0,
                        "warnings": [
                            [
                                "warning": "restartedFromNothing", "count": 1, "request": .string(again.id),
                                "sentence": "<any>",
                            ]
                        ],
                        "feeds": [
                            [
                                "zoneID": ["zoneName": "Z"], "pulls": 2, "changes": 2, "sent": "<absent>",
                                "given": .string(token), "moreComing": false,
                            ]
                        ],
                    ]
                ]
            ]
            #expect(Subset.differences(expected, try answer.json()) == [])
            #expect(try await client.send("GET", "/skylight/1/clients?user=anna").text == #"{"clients":[]}"#)
        }
    }

    @Test("/metrics and /health are at their usual paths")
    func metrics() async throws {
        try await NotedClient.run { client in
            try await client.save(["a", "b"])
            try await client.post("records/query", #"{"query":{"recordType":"Nothing"}}"#)
            let answer = try await client.send("GET", "/metrics")
            #expect(
                answer.status == 200 && answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            let lines = answer.text.split(separator: "\n").map(String.init)
            let series = lines.filter { !$0.hasPrefix("#") }.map { $0.split(separator: " ").dropLast() }
            #expect(Set(series).count == series.count)
            let stores = try await client.server.engine.require(.measureStores).storage(limit: 10)
            let amount = try #require(stores.first?.total)
            #expect(amount.records == 2 && amount.bytes > 0 && stores.count == 1)
            let type = try #require(stores.first?.types.keys.first)
            let store = #"container="iCloud.com.example.Test",environment="development",database="private""#
            for line in [
                "skylight_records{\(store),type=\"\(type)\"} 2",
                "skylight_record_bytes{\(store),type=\"\(type)\"} \(amount.bytes)",
                "skylight_asset_bytes{\(store),type=\"\(type)\"} 0", "skylight_database_records{\(store)} 2",
                "skylight_database_record_bytes{\(store)} \(amount.bytes)", "skylight_database_asset_bytes{\(store)} 0",
            ] {
                #expect(lines.contains(line), "\(line)")
            }
            #expect(lines.contains { $0.hasPrefix("skylight_zone_records{\(store),zone=") && $0.hasSuffix("} 2") })
            #expect(lines.contains { $0.hasPrefix("skylight_storage_age_seconds ") })
            // All series of a metric have the same labels, so that they can be summed by any of them.
            for metric in ["skylight_records", "skylight_zone_records"] {
                let labels = lines.filter { $0.hasPrefix(metric + "{") }.map { $0.split(separator: ",").count }
                #expect(Set(labels) == [4], "\(metric)")
            }
            for line in [
                #"skylight_requests_total{operation="records/modify",status="200"} 1"#,
                #"skylight_requests_total{operation="records/query",status="404"} 1"#,
                #"skylight_records_returned_total{operation="records/modify"} 2"#, "skylight_clients 1",
                #"skylight_request_duration_seconds_count{operation="zones/modify"} 1"#,
                #"skylight_store_read_only{container="iCloud.com.example.Test",environment="development"} 0"#,
            ] {
                #expect(lines.contains(line), "\(line)")
            }
            let health = try await client.send("GET", "/health")
            let same = try await client.send("GET", "/skylight/1/health")
            #expect(health.status == 200 && health.body == same.body)
        }
    }

    @Test("Every warning, service and metric is documented")
    func documentation() throws {
        let docs = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs")
        let text = try ["requests.md", "services.md"].map {
            try String(contentsOf: docs.appending(path: $0), encoding: .utf8)
        }.joined()
        for warning in RequestWarning.allCases { #expect(text.contains("`\(warning.rawValue)`"), "\(warning)") }
        for name in TrafficServices.names {
            #expect(text.contains("`\(name)`") || text.contains("## \(name)\n"), "\(name)")
        }
        for line in Telemetry().prometheusText.split(separator: "\n") where line.hasPrefix("# TYPE ") {
            let name = String(line.split(separator: " ")[2])
            #expect(text.contains("`\(name)`"), "\(name)")
        }
    }
}
