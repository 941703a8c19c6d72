import Foundation
import Records
import TestSupport
import Testing

/// The command check, on a folder and through a server, and for how long a server keeps earlier versions.
@Suite(.serialized) struct CheckTests: CommandTests {
    private static let name = "iCloud.com.example.Check"
    private static let root = "/database/1/\(name)/development/private"
    private static let services = "/skylight/1/\(name)/development/private"

    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func check(_ arguments: String...) async throws -> Command.Result {
        try await Command.run(["check", "--container", Self.name, "--data", data] + arguments)
    }

    private func save(_ record: JSONValue, on server: Server, as operationType: JSONValue = "forceUpdate") async throws
    {
        let operation: JSONValue = ["operationType": operationType, "record": record]
        let answer = try await server.post(
            "\(Self.root)/records/modify", ["zoneID": ["zoneName": "Z"], "operations": .array([operation])])
        #expect(answer.status == 200)
    }

    private func withServer(_ arguments: [String] = [], _ body: (Server) async throws -> Void) async throws {
        let server = try await Server(["--data", data] + arguments)
        do {
            try await body(server)
        } catch {
            _ = await server.end()
            throw error
        }
        _ = await server.end()
    }

    private func makeZone(_ server: Server) async throws {
        let operation: JSONValue = ["operationType": "create", "zone": ["zoneID": ["zoneName": "Z"]]]
        _ = try await server.post("\(Self.root)/zones/modify", ["operations": .array([operation])])
    }

    @Test func whatIsFoundIsNamedAndEndsWithOne() async throws {
        try await withServer { server in
            try await makeZone(server)
            try await save(["recordName": "a", "recordType": "N", "fields": ["x": 1]], on: server)
            let clean = try await check()
            #expect(
                clean.status == 0
                    && clean.output.contains("1 record in 2 zones of the private database: nothing found."))
            let link: JSONValue = ["value": ["recordName": "nobody", "action": "NONE"], "type": "REFERENCE"]
            try await save(["recordName": "house", "recordType": "N"], on: server)
            let house: JSONValue = ["value": ["recordName": "house", "action": "DELETE_SELF"], "type": "REFERENCE"]
            try await save(["recordName": "home", "recordType": "N", "fields": ["link": house]], on: server)
            try await save(
                ["recordName": "b", "recordType": "N", "fields": ["link": link], "parent": ["recordName": "home"]],
                on: server)
            try await save(["recordName": "house"], on: server, as: "forceDelete")
            // The result is the same through the server and on its closed folder.
            let found = try await check()
            #expect(found.status == 1)
            #expect(
                found.output.contains("danglingReference  N 'b' in zone Z · link")
                    && found.output.contains("danglingParent  N 'b' in zone Z · parent"))
            #expect(found.output.contains("2 records in 2 zones of the private database: 2 found."))
        }
        let json = try await check("--json", "--zone", "Z")
        #expect(json.status == 1)
        let lines = try json.output.split(separator: "\n").map { try JSONReader.value(of: String($0)) }
        let kinds = lines.map { line -> JSONValue? in
            if case .object(let object) = line { object["finding"] ?? object["check"] } else { nil }
        }
        #expect(kinds == ["danglingReference", "danglingParent", "finished"])
        if case .object(let last)? = lines.last {
            #expect(last["records"] == 2 && last["findings"] == 2 && last["zones"] == 1)
        }
        let elsewhere = try await check("--zone", "_defaultZone")
        #expect(elsewhere.status == 0)
        let nowhere = try await check("--zone", "Nowhere")
        #expect(nowhere.status == 1 && nowhere.errors.contains("Zone does not exist"))
        let wrong = try await check("--owner", "ada")
        #expect(wrong.status == 64)
    }

    @Test func aServerKeepsTheConfiguredEarlierVersions() async throws {
        func changes(_ server: Server) async throws -> Int {
            let answer = try await server.post(
                "\(Self.services)/records/journal", ["recordName": "a", "zoneID": ["zoneName": "Z"]])
            guard case .array(let changes)? = answer.answer["changes"] else { return -1 }
            return changes.count
        }
        try await withServer { server in
            try await makeZone(server)
            for number in [1, 2, 3] as [JSONValue] {
                try await save(["recordName": "a", "recordType": "N", "fields": ["x": number]], on: server)
            }
            #expect(try await changes(server) == 3)
        }
        try await withServer(["--journal-days", "0"]) { server in
            try await save(["recordName": "a", "recordType": "N", "fields": ["x": 9]], on: server)
            #expect(try await changes(server) == 1)
        }
        // The last setting persists until it is changed.
        try await withServer { server in
            try await save(["recordName": "a", "recordType": "N", "fields": ["x": 10]], on: server)
            #expect(try await changes(server) == 1)
        }
        let refused = try await Command.run(["serve", "--data", data, "--journal-days", "-1"])
        #expect(refused.status == 64)
    }
}
