import Foundation
import Records
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.serialized) struct ServeTests: CommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func names(in url: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path(percentEncoded: false))
    }

    @Test func printsItsAddressAnswersAndEndsWithATermSignal() async throws {
        let server = try await Server(["--ephemeral"], environment: ["TMPDIR": folder.url.path(percentEncoded: false)])
        #expect(server.firstLine.contains(/^Skylight is listening on http:\/\/127\.0\.0\.1:[0-9]+$/))
        let answer = try await server.post("/database/1/iCloud.com.example.New/development/private/zones/list", [:])
        #expect(answer.status == 200)
        #expect(answer.answer["zones"] != nil)
        #expect(try names(in: folder.url).count == 1)
        #expect(await server.end(SIGTERM) == 0)
        // The server removes its temporary data.
        #expect(try names(in: folder.url).isEmpty)
    }

    @Test func standsInForICloud() async throws {
        let server = try await Server(["--ephemeral", "--protocol-only"])
        #expect(
            try await server.post("/database/1/iCloud.com.example.New/development/private/zones/list", [:]).status
                == 200)
        let (_, health) = try await URLSession.shared.data(
            from: try #require(URL(string: server.address + "/skylight/1/health")))
        #expect((health as? HTTPURLResponse)?.statusCode == 404)
        #expect(await server.end() == 0)
    }

    @Test func endsWithAnInterrupt() async throws {
        let server = try await Server(["--ephemeral"])
        #expect(await server.end(SIGINT) == 0)
    }

    @Test func theAddressCanBeJSON() async throws {
        let server = try await Server(["--ephemeral", "--json", "--hostname", "::1"])
        guard case .object(let line) = try JSONReader.value(of: server.firstLine),
            case .string(let address)? = line["address"]
        else {
            Issue.record("The line is no JSON: \(server.firstLine)")
            return
        }
        #expect(address.hasPrefix("http://[::1]:"))
        #expect(await server.end() == 0)
    }

    @Test(arguments: [
        ["--ephemeral", "--data", "x"], ["--port", "65536"], ["--templates", "/no/such/folder"],
        ["--log-level", "loud"],
        ["--token-lifetime", "0"], ["--token-lifetime", "often"], ["--asset-size-limit", "0"],
        ["--asset-size-limit", "many"], ["--transfer-memory", "much"],
        ["--asset-size-limit", "9999999TB"], ["--asset-grace", "-1"], ["--asset-grace", "1 week"],
        ["--asset-grace", "99999999d"],
    ])
    func optionsThatCannotWork(arguments: [String]) async throws {
        #expect(try await Command.run(["serve"] + arguments).status == 64)
    }

    @Test(arguments: ["129TB", "140737488355329", "9223372036854775807"]) func aSizeLimitBeyondAllFiles(limit: String)
        async throws
    {
        let result = try await Command.run(["serve", "--ephemeral", "--port", "0", "--asset-size-limit", limit])
        #expect(result.status == 64)
        #expect(result.errors.contains("--asset-size-limit is a size of at most 128 TB"), "\(result.errors)")
    }

    @Test(arguments: ["1MB", "129TB"]) func memoryForTransfersBeyondItsBounds(size: String) async throws {
        let result = try await Command.run(["serve", "--ephemeral", "--port", "0", "--transfer-memory", size])
        #expect(result.status == 64)
        #expect(
            result.errors.contains("--transfer-memory is a size of at least 64 MB and at most 128 TB"),
            "\(result.errors)")
    }

    @Test func aPortInUse() async throws {
        let server = try await Server(["--ephemeral"])
        let port = try #require(server.address.split(separator: ":").last)
        let result = try await Command.run(["serve", "--ephemeral", "--port", String(port), "--json"])
        #expect(result.status == 69)
        #expect(try result.errorJSON["code"] == "ADDRESS_NOT_AVAILABLE")
        #expect(await server.end() == 0)
    }

    /// They ask after the address is printed.
    @Test func theDemoHasClientsToDiagnose() async throws {
        let server = try await Server(["--demo", "--ephemeral"])
        func asked(_ filter: String) async throws -> String {
            try await server.exchange("GET", "/skylight/1/requests?container=iCloud.com.example.Chat&\(filter)").text
        }
        try await eventually { try await asked("errors=1").contains("Field 'author' is not marked queryable") }
        #expect(try await asked("warnings=1").contains("moreComingNotFollowed"))
        let clients = try await server.exchange("GET", "/skylight/1/clients?container=iCloud.com.example.Chat").text
        for id in ["iPhone-7C21", "iPad-51AA", "Chat Web"] { #expect(clients.contains("\"id\":\"\(id)\""), "\(id)") }
        #expect(await server.end() == 0)
    }

    @Test func theDemoIsFilledOnceAndKept() async throws {
        func records() async throws -> JSONObject {
            try await Command.run(
                ["zone", "list", "--container", "iCloud.com.example.Chat", "--json"],
                environment: ["SKYLIGHT_DATA": data]
            ).outputJSON
        }
        let first = try await Server(["--demo"], environment: ["SKYLIGHT_DATA": data])
        let query: JSONValue = [
            "zoneID": ["zoneName": "Chats"], "resultsLimit": 3,
            "query": ["recordType": "Message", "sortBy": [["fieldName": "sentAt", "ascending": false]]],
        ]
        let answer = try await first.post(
            "/database/1/iCloud.com.example.Chat/development/private/records/query", query
        ).answer
        guard case .array(let found)? = answer["records"] else {
            Issue.record("No records: \(answer)")
            return
        }
        #expect(found.count == 3)
        #expect(await first.end() == 0)
        let before = try await records()
        let second = try await Server(["--demo", "--data", data])
        #expect(await second.end() == 0)
        #expect(try await records() == before)
    }
}
