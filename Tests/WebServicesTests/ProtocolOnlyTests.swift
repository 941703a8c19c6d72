import InMemoryRecordStore
import RecordStore
import Records
import Testing

/// A server that stands in for iCloud.
@Suite("The protocol alone")
struct ProtocolOnlyTests {
    @Test("Answers have only members and headers of CloudKit's, and nothing else is there")
    func standIn() async throws {
        let engine = InMemoryRecordEngine()
        try await TestServer.run(keeping: engine) { server in
            let client = AssetClient(server: server)
            _ = try await client.store(Array("text".utf8), named: "a.txt")
            let looked = try await client.post("records/lookup", ["records": [["recordName": "r"]]])
            #expect(
                looked.text.contains("fileName") && looked.headers["x-skylight-request"] != nil,
                "the checks below could not fail")
            let others = try await AssetClient(server: server, user: "bo").post(
                "records/lookup", ["records": [["recordName": "r"]]])
            #expect(others.text.contains("NOT_FOUND"), "the header means another user, so the check below could fail")
        }
        try await TestServer.run(keeping: engine, protocolOnly: true) { server in
            let client = AssetClient(server: server)
            let uploaded = try await client.send(
                "POST", try await client.slot(of: "s").path, ["X-Skylight-File-Name: b.txt"], body: Array("more".utf8))
            #expect(uploaded.status == 200)
            var asset = try #require(Subset.value(at: "singleFile", in: try uploaded.json()))
            if case .object(var members) = asset {
                members["fileName"] = "c.txt"
                asset = .object(members)
            }
            let record: JSONValue = ["recordType": "Note", "recordName": "s", "fields": ["file": ["value": asset]]]
            let answers = [
                uploaded, try await client.post("records/lookup", ["records": [["recordName": "r"]]]),
                try await client.post(
                    "records/modify", ["operations": [["operationType": "create", "record": record]]]),
                try await client.post("records/lookup", ["records": [["recordName": "s"]]]),
                try await client.post("records/none", [:]),
                try await client.send(
                    "GET", "\(AssetClient.root)/private/zones/list",
                    ["Origin: http://localhost:3000", "X-Skylight-Rehearse: pages-of-one"]),
            ]
            #expect(answers.map(\.status) == [200, 200, 200, 200, 404, 200])
            #expect(answers[1].text.contains("downloadURL") && answers[2].text.contains("downloadURL"))
            let others = try await AssetClient(server: server, user: "bo").post(
                "records/lookup", ["records": [["recordName": "r"]]])
            #expect(others.text.contains("downloadURL"), "the header has no effect")
            let faulty = try await client.send(
                "GET", "\(AssetClient.root)/private/zones/list", ["X-Skylight-Rehearse: throttled"])
            #expect(faulty.status == 429)
            #expect(answers[5].headers["access-control-expose-headers"]?.contains("ETag") == true)
            for answer in answers {
                #expect(!answer.text.contains("fileName"), "\(answer.text)")
                for (name, value) in answer.headers {
                    #expect(
                        name != "server-timing" && !name.hasPrefix("x-skylight")
                            && !value.lowercased().contains("x-skylight"), "\(name): \(value)")
                }
            }
            let gone = [
                "/", "/health", "/metrics", "/openapi.json", "/skylight/1/health", "/skylight/1/rehearsals",
                "/%73kylight/1/health", "/Database/1",
                "/skylight/1/\(ScenarioRunner.container)/development/private/records/list",
            ]
            for path in gone {
                for method in ["GET", "POST"] {
                    let answer = try await client.send(method, path, body: method == "POST" ? Array("{}".utf8) : nil)
                    #expect(answer.status == 404 && answer.body.isEmpty, "\(method) \(path): \(answer.status)")
                }
            }
            #expect(
                try await client.send("GET", "//skylight/1/health").status == 400,
                "two slashes name a host, which is refused before")
        }
        await engine.close()
    }
}
