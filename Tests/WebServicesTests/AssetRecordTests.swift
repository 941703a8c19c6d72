import HTTPServing
import RecordStore
import Records
import TestSupport
import Testing

/// Assets in records: saves, and all answers with records.
@Suite("Assets in records")
struct AssetRecordTests {
    private static let bytes = Array("Some bytes.".utf8)

    private static func field(_ asset: JSONValue) -> JSONValue { ["file": ["value": asset, "type": "ASSETID"]] }

    // MARK: Saving

    @Test(
        "A read asset can be saved in the same field, and is refused in other records")
    func kept() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.bytes)
            let read = try await client.post("records/lookup", ["records": [["recordName": "r"]]])
            let field = try #require(Subset.value(at: "records[0].fields", in: try read.json()))
            let again = try await client.save(field, as: "forceReplace")
            #expect(
                Subset.differences(["fields": ["file": ["value": ["size": 11, "downloadURL": "<any>"]]]], again) == [])
            let copy = try await client.save(field, to: "s")
            #expect(
                Subset.differences(["serverErrorCode": "BAD_REQUEST", "reason": "<has assets/rereference>"], copy) == []
            )
            // The remedy that the error names.
            let answer = try await client.post(
                "assets/rereference", ["assets": [["recordName": "r", "fieldName": "file"]]])
            let asset = try #require(Subset.value(at: "assets[0]", in: try answer.json()))
            let path = try client.downloadPath(try await client.save(Self.field(asset), to: "s"))
            #expect(try await client.send("GET", path).body == Self.bytes)
        }
    }

    @Test("An asset read with numbersAsStrings can be saved again")
    func numbersAsStrings() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.bytes)
            let read = try await client.post(
                "records/lookup", ["records": [["recordName": "r"]], "numbersAsStrings": true])
            let fields = try #require(Subset.value(at: "records[0].fields", in: try read.json()))
            #expect(Subset.differences(["file": ["value": ["size": "11"]]], fields) == [])
            let again = try await client.save(fields, as: "forceReplace")
            #expect(Subset.differences(["fields": ["file": ["value": ["size": 11]]]], again) == [])
        }
    }

    @Test("A field holds a list of assets, each with its own address")
    func lists() async throws {
        try await AssetClient.run { client in
            var assets: [JSONValue] = []
            for text in ["one", "two", "three"] {
                assets.append(
                    try await client.upload(
                        Array(text.utf8), to: try await client.slot("files"), ["X-Skylight-File-Name: \(text).txt"]))
            }
            let record = try await client.save(["files": ["value": .array(assets), "type": "ASSETID_LIST"]])
            #expect(Subset.value(at: "fields.files.type", in: record) == "ASSETID_LIST")
            for (index, text) in ["one", "two", "three"].enumerated() {
                let url = try client.string("fields.files.value[\(index)].downloadURL", in: record)
                #expect(url.hasSuffix("/\(text).txt"))
                #expect(try await client.send("GET", url.withoutOrigin).text == text)
            }
            let answer = try await client.post(
                "assets/rereference", ["assets": [["recordName": "r", "fieldName": "files", "index": 1]]])
            #expect(Subset.differences(["assets": [["size": 3, "fileName": "two.txt"]]], try answer.json()) == [])
        }
    }

    // MARK: Rereferencing

    @Test("Each asset to take over has its own answer")
    func rereference() async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.bytes)
            _ = try await client.post(
                "zones/modify", ["operations": [["operationType": "create", "zone": ["zoneID": ["zoneName": "Z"]]]]])
            let sources: JSONValue = [
                ["recordName": "r", "fieldName": "file"], ["recordName": "none", "fieldName": "file"],
                ["recordName": "r", "fieldName": "none"],
            ]
            let answer = try await client.post(
                "assets/rereference", ["assets": sources, "targetZoneID": ["zoneName": "Z"]])
            #expect(answer.status == 200)
            let expected: JSONValue = [
                "assets": [
                    [
                        "fileChecksum": "<any>", "size": 11, "receipt": "<any>", "wrappingKey": "<any>",
                        "referenceChecksum": "<any>",
                    ],
                    ["recordName": "none", "fieldName": "file", "serverErrorCode": "NOT_FOUND"],
                    ["recordName": "r", "fieldName": "none", "serverErrorCode": "BAD_REQUEST"],
                ]
            ]
            #expect(Subset.differences(expected, try answer.json()) == [])
            let many = JSONValue.array(Array(repeating: ["recordName": "r", "fieldName": "file"], count: 201))
            let cases: [(JSONValue, Int, String)] = [
                ([:], 400, "'assets'"), (["assets": [["recordName": "r"]]], 400, "assets[0].fieldName"),
                (["assets": many], 400, "the limit of a request is 200"),
                (["assets": [["recordName": "r", "fieldName": "file", "index": -1]]], 400, "assets[0].index"),
                (["assets": sources, "targetZoneID": ["zoneName": "None"]], 404, "Zone does not exist"),
            ]
            for (body, status, words) in cases {
                let refused = try await client.post("assets/rereference", body)
                #expect(refused.status == status && refused.text.contains(words), "\(refused.text)")
            }
        }
    }

    // MARK: Reading

    @Test("Every answer that carries a record says where its assets are")
    func everywhere() async throws {
        try await TestServer.run { server in
            let client = AssetClient(server: server)
            let zone: JSONValue = ["zoneName": "Z"]
            _ = try await client.post(
                "zones/modify", ["operations": [["operationType": "create", "zone": ["zoneID": zone]]]])
            let slot = try await client.post(
                "assets/upload",
                ["zoneID": zone, "tokens": [["recordType": "Note", "fieldName": "file", "recordName": "r"]]])
            let path = try client.string("tokens[0].url", in: try slot.json()).withoutOrigin
            let asset = try await client.upload(Self.bytes, to: AssetClient.Slot(recordName: "r", path: path))
            func operation(_ kind: JSONValue, _ fields: JSONValue) -> JSONValue {
                [
                    "zoneID": zone,
                    "operations": [
                        ["operationType": kind, "record": ["recordType": "Note", "recordName": "r", "fields": fields]]
                    ],
                ]
            }
            let saved = try await client.post("records/modify", operation("create", Self.field(asset)))
            try await index("___recordID", of: "Note", .queryable).perform(on: server.engine)
            let read = try #require(Subset.value(at: "records[0].fields", in: try saved.json()))
            let query: JSONValue = ["zoneID": zone, "query": ["recordType": "Note"]]
            let own = "/skylight/1/iCloud.com.example.Test/development/private"
            let answers: [(String, RawResponse)] = [
                ("modify", saved),
                ("restore", try await client.post("\(own)/records/restore", operation("forceReplace", read))),
                (
                    "lookup",
                    try await client.post("records/lookup", ["zoneID": zone, "records": [["recordName": "r"]]])
                ),
                ("query", try await client.post("records/query", query)),
                ("wide query", try await client.post("\(own)/records/query", query)),
                ("changes", try await client.post("records/changes", ["zoneID": zone])),
                ("zone changes", try await client.post("changes/zone", ["zones": [["zoneID": zone]]])),
                ("page", try await client.post("\(own)/changes/page", ["zoneID": zone])),
                ("list", try await client.post("\(own)/records/list", ["zoneID": zone])),
                ("playback", try await client.send("GET", "\(own)/changes/playback?zone=Z")),
                (
                    "numbers as strings",
                    try await client.post("records/query", query.setting("numbersAsStrings", to: true))
                ),
            ]
            for (name, answer) in answers {
                let urls = answer.text.matches(of: #/"downloadURL":"(http:[^"]*)"/#).map { String($0.output.1) }
                #expect(answer.status == 200 && urls.count == 1, "\(name): \(answer.text)")
                guard let url = urls.first else { continue }
                #expect(
                    url.hasPrefix(
                        "http://localhost:\(server.port)/assets/iCloud.com.example.Test/development/download/"),
                    "\(name)")
                #expect(try await client.send("GET", url.withoutOrigin).body == Self.bytes, "\(name)")
                #expect(
                    answer.text.contains("wrappingKey") && answer.text.contains("referenceChecksum")
                        && !answer.text.contains("receipt"), "\(name)")
            }
        }
    }

    @Test("Changes that are followed have addresses too")
    func followed() async throws {
        try await TestServer.run { server in
            let client = AssetClient(server: server)
            let zone: JSONValue = ["zoneName": "Z"]
            _ = try await client.post(
                "zones/modify", ["operations": [["operationType": "create", "zone": ["zoneID": zone]]]])
            let token = try await client.send(
                "GET", "/skylight/1/iCloud.com.example.Test/development/private/token/current?zone=Z")
            let since = try client.string("syncToken", in: try token.json())
            let slot = try await client.post(
                "assets/upload",
                ["zoneID": zone, "tokens": [["recordType": "Note", "fieldName": "file", "recordName": "r"]]])
            let path = try client.string("tokens[0].url", in: try slot.json()).withoutOrigin
            let asset = try await client.upload(Self.bytes, to: AssetClient.Slot(recordName: "r", path: path))
            let record: JSONValue = ["recordType": "Note", "recordName": "r", "fields": Self.field(asset)]
            _ = try await client.post(
                "records/modify", ["zoneID": zone, "operations": [["operationType": "create", "record": record]]])
            let target = "/skylight/1/iCloud.com.example.Test/development/private/changes/follow?zone=Z&since=\(since)"
            let text = try await server.client.beginning(
                of: "GET \(target) HTTP/1.1\r\nHost: localhost:\(server.port)\r\n\r\n", until: "downloadURL")
            #expect(text.contains("event: changes"))
        }
    }

    @Test(
        "The address begins with the host that the request was sent to",
        arguments: ["127.0.0.1:99", "localhost", "[::1]:8080"])
    func origins(host: String) async throws {
        try await AssetClient.run { client in
            _ = try await client.store(Self.bytes)
            let body = #"{"records":[{"recordName":"r"}]}"#
            let request =
                "POST \(AssetClient.root)/private/records/lookup HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            let answer = try #require(try await client.server.client.exchange(request).first)
            #expect(answer.text.contains(#""downloadURL":"http://\#(host)/assets/"#))
        }
    }
}

extension JSONValue {
    /// A copy with another member.
    func setting(_ name: Name, to value: JSONValue) -> JSONValue {
        guard case .object(var object) = self else { return self }
        object[name] = value
        return .object(object)
    }
}

extension String {
    /// The path of a URL.
    var withoutOrigin: String {
        firstRange(of: "://").map { scheme in
            String(self[(self[scheme.upperBound...].firstIndex(of: "/") ?? endIndex)...])
        } ?? self
    }
}

extension Step {
    /// Runs a step of a scenario that acts on the engine directly.
    func perform(on engine: any RecordEngine) async throws {
        if case .act(let act) = self { try await act(engine) }
    }
}
