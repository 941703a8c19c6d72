import AssetStore
import RecordStore
import Records
import TestSupport
import Testing

/// Uploads with every possible status.
@Suite("Asset uploads")
struct AssetUploadTests {
    private static let text = Array(String(repeating: "All work and no play makes Jack a dull boy. ", count: 2000).utf8)

    private func expect(
        _ response: RawResponse, _ status: Int, _ code: String, _ words: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(response.status == status, "\(response.text)", sourceLocation: sourceLocation)
        #expect(response.headers["content-type"] == "application/json; charset=UTF-8", sourceLocation: sourceLocation)
        let expected: JSONValue = [
            "serverErrorCode": .string(code), "reason": .string("<has \(words)>"), "uuid": "<any>",
        ]
        #expect(Subset.differences(expected, try response.json()) == [], sourceLocation: sourceLocation)
    }

    private func leftovers(_ server: TestServer) throws -> [String] {
        try AssetFiles.incoming(in: server.folder)
    }

    // MARK: Upload grants

    @Test("Each token has its own answer, and an address to send the bytes to")
    func grants() async throws {
        try await AssetClient.run { client in
            try await client.save(["title": "x"])
            let tokens: JSONValue = [
                ["recordType": "Note", "fieldName": "file", "recordName": "r"],
                ["recordType": "Note", "fieldName": "file"],
                ["recordType": "Note", "fieldName": "title", "recordName": "r"],
            ]
            let answer = try await client.post("assets/upload", ["tokens": tokens])
            #expect(answer.status == 200)
            let expected: JSONValue = [
                "tokens": [
                    [
                        "recordName": "r", "fieldName": "file",
                        "url": "<has /assets/iCloud.com.example.Test/development/upload/>",
                    ],
                    ["recordName": "<any>", "fieldName": "file", "url": "<any>"],
                    [
                        "recordName": "r", "fieldName": "title", "serverErrorCode": "BAD_REQUEST",
                        "reason": "<has defined to be: STRING>", "url": "<absent>",
                    ],
                ]
            ]
            #expect(Subset.differences(expected, try answer.json()) == [])
        }
    }

    @Test("A wrong request for upload addresses is refused with the reason")
    func badRequests() async throws {
        try await AssetClient.run { client in
            let many = JSONValue.array(Array(repeating: ["recordType": "Note", "fieldName": "file"], count: 201))
            let cases: [(JSONValue, Int, String)] = [
                ([:], 400, "Expected 'tokens' to be an array"),
                (["tokens": [["fieldName": "file"]]], 400, "tokens[0].recordType"),
                (["tokens": [["recordType": "Note"]]], 400, "tokens[0].fieldName"),
                (["tokens": many], 400, "the limit of a request is 200"),
                (
                    ["tokens": [["recordType": "Note", "fieldName": "file"]], "zoneID": ["zoneName": "None"]], 404,
                    "Zone does not exist"
                ),
            ]
            for (body, status, words) in cases {
                try expect(
                    try await client.post("assets/upload", body), status,
                    status == 404 ? "ZONE_NOT_FOUND" : "BAD_REQUEST", words)
            }
            #expect(try await client.send("GET", "\(AssetClient.root)/private/assets/upload").status == 405)
        }
    }

    // MARK: Bytes

    @Test("The answer to an upload can be saved", arguments: ["POST", "PUT"])
    func upload(method: String) async throws {
        try await TestServer.run { server in
            let client = AssetClient(server: server)
            let slot = try await client.slot()
            let answer = try await client.send(method, slot.path, ["X-Skylight-File-Name: %C3%A4.txt"], body: Self.text)
            #expect(answer.status == 200)
            let expected: JSONValue = [
                "singleFile": [
                    "fileChecksum": .string(try Tool.sha256(Self.text)), "size": .integer(Int64(Self.text.count)),
                    "receipt": "<any>",
                    "wrappingKey": "<any>", "referenceChecksum": "<any>", "fileName": "ä.txt",
                ]
            ]
            #expect(Subset.differences(expected, try answer.json()) == [])
            let asset = try #require(Subset.value(at: "singleFile", in: try answer.json()))
            let record = try await client.save(["file": ["value": asset]])
            let saved: JSONValue = [
                "fields": [
                    "file": [
                        "type": "ASSETID",
                        "value": [
                            "size": .integer(Int64(Self.text.count)), "fileName": "ä.txt", "receipt": "<absent>",
                        ],
                    ]
                ]
            ]
            #expect(Subset.differences(saved, record) == [])
            #expect(try await client.send("GET", try client.downloadPath(record)).body == Self.text)
            // Its compression may still be in progress.
            try await eventually { try leftovers(server) == [] }
        }
    }

    @Test("An empty file is a file")
    func empty() async throws {
        try await AssetClient.run { client in
            let path = try await client.store([])
            let response = try await client.send("GET", path)
            #expect(response.status == 200 && response.body.isEmpty && response.headers["content-length"] == "0")
        }
    }

    @Test("A body may come in chunks, and compressed")
    func codings() async throws {
        try await AssetClient.run(sizeLimit: Int64(Self.text.count)) { client in
            let compressed = try Tool.gzip(Self.text)
            for (body, headers) in [
                (AssetFiles.chunked(Self.text), ["Transfer-Encoding: chunked"]),
                (compressed, ["Content-Encoding: gzip"]),
                (AssetFiles.chunked(compressed), ["Content-Encoding: gzip", "Transfer-Encoding: chunked"]),
                (Self.text, ["Content-Encoding: identity", "Content-Type: multipart/mixed; boundary=x"]),
            ] {
                let asset = try await client.upload(body, to: try await client.slot(), headers)
                #expect(try client.string("fileChecksum", in: asset) == Tool.sha256(Self.text))
            }
        }
    }

    // MARK: Forms

    private static func form(_ content: [UInt8], boundary: String = "x7", before: String = "", name: String = "files")
        -> [UInt8]
    {
        let head =
            before
            + "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"a.bin\"\r\nContent-Type: image/jpeg\r\n\r\n"
        return Array(head.utf8) + content + Array("\r\n--\(boundary)--\r\n".utf8)
    }

    @Test("Only the file of a form is stored, byte for byte")
    func forms() async throws {
        let content = Array("line\r\n--x7 and more\r\n".utf8) + Self.text + [13, 10]
        let other = "--x7\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n"
        let plain = "Content-Type: multipart/form-data; boundary=x7"
        try await AssetClient.run(sizeLimit: Int64(content.count)) { client in
            for (body, headers) in [
                (Self.form(content), [plain]),
                (AssetFiles.chunked(Self.form(content)), [plain, "Transfer-Encoding: chunked"]),
                (Self.form(content, before: other, name: "photo"), [plain]),
                (try Tool.gzip(Self.form(content)), [plain, "Content-Encoding: gzip"]),
                (Self.form(content, boundary: "a b'7"), [#"content-type: Multipart/Form-Data; Boundary="a b'7""#]),
            ] {
                let asset = try await client.upload(body, to: try await client.slot(), headers)
                #expect(
                    Subset.differences(
                        ["fileChecksum": .string(try Tool.sha256(content)), "size": .integer(Int64(content.count))],
                        asset) == [])
                let record = try await client.save(["file": ["value": asset]])
                #expect(try await client.send("GET", try client.downloadPath(record)).body == content)
            }
            #expect(try await client.upload(Self.form([]), to: try await client.slot(), [plain]) != .null)
        }
    }

    @Test("A form without one file, or with one that is too large, is refused and leaves nothing")
    func badForms() async throws {
        let form = Self.form(Self.text)
        try await TestServer.run(sizeLimit: Int64(Self.text.count) - 1) { server in
            let client = AssetClient(server: server)
            let path = try await client.slot().path
            let cases: [([UInt8], String, Int, String, String)] = [
                (form, "boundary=x7", 413, "QUOTA_EXCEEDED", "--asset-size-limit"),
                (Self.form([1]).dropLast(8) + Self.form([2]), "boundary=x7", 400, "BAD_REQUEST", "more than one file"),
                (
                    Array("--x7\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x7--".utf8), "boundary=x7",
                    400, "BAD_REQUEST", "has no file"
                ),
                ([], "boundary=x7", 400, "BAD_REQUEST", "has no end"),
                (Array("raw".utf8), "boundary=x7", 400, "BAD_REQUEST", "has no end"),
                (Self.form([1]), "charset=utf-8", 400, "BAD_REQUEST", "without a valid boundary"),
            ]
            for (body, parameter, status, code, words) in cases {
                let answer = try await client.send(
                    "POST", path, ["Content-Type: multipart/form-data; \(parameter)"], body: body)
                try expect(answer, status, code, words)
            }
            try await eventually { try leftovers(server) == [] }
            #expect(try AssetFiles.stored(in: server.folder) == [])
            // The ticket is still valid.
            _ = try await client.upload(
                Self.form([1]), to: AssetClient.Slot(recordName: "r", path: path),
                ["Content-Type: multipart/form-data; boundary=x7"])
        }
    }

    @Test("A client that names no zone saves into any zone")
    func noZone() async throws {
        try await AssetClient.run { client in
            let zone: JSONValue = ["zoneName": "Album"]
            _ = try await client.post(
                "zones/modify", ["operations": [["operationType": "create", "zone": ["zoneID": zone]]]])
            let asset = try await client.upload(Self.text, to: try await client.slot())
            let save: JSONValue = [
                "operationType": "create",
                "record": [
                    "recordType": "Note", "recordName": "r", "fields": ["file": ["value": asset, "type": "ASSETID"]],
                ],
            ]
            let saved = try await client.post("records/modify", ["operations": [save], "zoneID": zone]).json()
            let expected: JSONValue = [
                "records": [
                    ["recordName": "r", "zoneID": zone, "fields": ["file": ["value": ["downloadURL": "<any>"]]]]
                ]
            ]
            #expect(Subset.differences(expected, saved) == [])
        }
    }

    @Test("A client that asks first is told to go on")
    func expectation() async throws {
        try await AssetClient.run { client in
            let path = try await client.slot().path
            let head =
                "POST \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc"
            #expect(try await client.server.client.exchange(head).map(\.status) == [100, 200])
        }
    }

    // MARK: Refusals

    @Test("A ticket that was altered, is another store's, or is none, is not found")
    func unknownTickets() async throws {
        try await AssetClient.run { client in
            let path = try await client.slot().path
            let download = try await client.store(Self.text)
            let altered = path.dropLast(9) + (path.hasSuffix("AAAAAAAAA") ? "BBBBBBBBB" : "AAAAAAAAA")
            let paths = [
                String(altered), path + "A", path.replacing("/development/", with: "/production/"),
                path.replacing("Test", with: "Other"),
                "/assets/iCloud.com.example.Test/development/upload/x",
                String(download.split(separator: "/").dropLast().joined(separator: "/")).replacing(
                    "assets/", with: "/assets/"
                ).replacing("download", with: "upload"),
            ]
            for path in paths {
                try expect(try await client.send("POST", path, body: Self.text), 404, "NOT_FOUND", "assets/upload")
            }
            for path in [
                "/assets/", "/assets/x", "/assets/iCloud.com.example.Test/development/upload",
                "/assets/iCloud.com.example.Test/staging/upload/x",
            ] {
                #expect(try await client.send("POST", path, body: Self.text).status == 404)
            }
            #expect(
                try await client.server.engine.require(.listContainers).containers().map(\.description) == [
                    ScenarioRunner.container
                ])
        }
    }

    @Test("After 15 minutes the address is gone")
    func expired() async throws {
        let clock = MovingClock()
        try await AssetClient.run(clock: clock) { client in
            let slot = try await client.slot()
            clock.advance(by: .seconds(14 * 60))
            _ = try await client.upload(Self.text, to: slot)
            clock.advance(by: .seconds(61))
            let answer = try await client.send("POST", slot.path, body: Self.text)
            try expect(answer, 410, "BAD_REQUEST", "15 minutes")
            #expect(answer.headers["connection"] == "close")
        }
    }

    @Test("Other methods are not allowed")
    func methods() async throws {
        try await AssetClient.run { client in
            let path = try await client.slot().path
            for method in ["GET", "HEAD", "DELETE", "PATCH"] {
                let answer = try await client.send(method, path)
                #expect(answer.status == 405 && answer.headers["allow"] == "POST, PUT, OPTIONS")
            }
        }
    }

    @Test("A file that is too large is refused, before it is read if it says so")
    func tooLarge() async throws {
        try await TestServer.run(sizeLimit: 10_000) { server in
            let client = AssetClient(server: server)
            let path = try await client.slot().path
            // None of the body is sent, so waiting for it would time out.
            let declared = try await client.send("POST", path, ["Content-Length: 10001"], body: [])
            try expect(declared, 413, "QUOTA_EXCEEDED", "larger than 10000 bytes")
            #expect(declared.headers["connection"] == "close")
            let chunks = AssetFiles.chunked(Array(repeating: 1, count: 10_001))
            try expect(
                try await client.send("POST", path, ["Transfer-Encoding: chunked"], body: chunks), 413,
                "QUOTA_EXCEEDED", "larger than 10000 bytes")
            let asking =
                "POST \(path) HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10001\r\n\r\n"
            #expect(try await server.client.exchange(asking).map(\.status) == [413])
            #expect(try leftovers(server) == [])
            _ = try await client.upload(
                Array(repeating: 1, count: 10_000), to: AssetClient.Slot(recordName: "r", path: path))
        }
    }

    @Test("A body that inflates beyond the limit is refused, and so is one that is damaged")
    func bombs() async throws {
        try await TestServer.run(sizeLimit: 100_000) { server in
            let client = AssetClient(server: server)
            let path = try await client.slot().path
            let bomb = try Tool.gzip(Array(repeating: 0, count: 32 << 20))
            #expect(bomb.count < 100_000)
            try expect(
                try await client.send("POST", path, ["Content-Encoding: gzip"], body: bomb), 413, "QUOTA_EXCEEDED",
                "larger than 100000 bytes")
            let whole = try Tool.gzip(Self.text)
            for damaged in [
                Array(whole.dropLast(9)), Array("plain text".utf8),
                Array(whole.prefix(20)) + Array(repeating: 255, count: 20),
            ] {
                try expect(
                    try await client.send("POST", path, ["Content-Encoding: gzip"], body: damaged), 400, "BAD_REQUEST",
                    "gzip")
            }
            try expect(
                try await client.send("POST", path, ["Content-Encoding: br"], body: whole), 415, "BAD_REQUEST", "br")
            #expect(try leftovers(server) == [])
        }
    }

    @Test("An upload that breaks off leaves nothing")
    func brokenOff() async throws {
        try await TestServer.run { server in
            let client = AssetClient(server: server)
            let path = try await client.slot().path
            for headers in ["Content-Length: 1000000", "Transfer-Encoding: chunked"] {
                let head = "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\r\n"
                let part = headers.hasPrefix("T") ? AssetFiles.chunked(Self.text).dropLast(5) : Self.text[...]
                try await server.client.hangUp(after: Array(head.utf8) + part)
            }
            try await eventually { try leftovers(server) == [] }
            #expect(try AssetFiles.stored(in: server.folder) == [])
            // The ticket is still valid.
            _ = try await client.upload(Self.text, to: AssetClient.Slot(recordName: "r", path: path))
        }
    }

    @Test("A name that is not percent-encoded UTF-8 is refused", arguments: ["%", "%ZZ", "%FF", "100%"])
    func badName(name: String) async throws {
        try await AssetClient.run { client in
            let path = try await client.slot().path
            try expect(
                try await client.send("POST", path, ["X-Skylight-File-Name: \(name)"], body: Self.text), 400,
                "BAD_REQUEST", "percent-encoded")
        }
    }
}
