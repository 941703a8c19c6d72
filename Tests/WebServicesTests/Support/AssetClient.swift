import Records
import Testing

/// Uploads, saves and downloads assets over the network, like a client of the protocol.
struct AssetClient: Sendable {
    /// An upload grant.
    struct Slot {
        let recordName: String
        /// The path without scheme and host.
        let path: String
    }

    static let root = "/database/1/\(ScenarioRunner.container)/development"

    let server: TestServer
    var database = "private"
    var user: String?

    // MARK: Requests

    func send(_ method: String, _ path: String, _ headers: [String] = [], body: [UInt8]? = nil) async throws
        -> RawResponse
    {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost:\(server.port)\r\nConnection: close\r\n"
        if let body,
            !headers.contains(where: {
                $0.lowercased().hasPrefix("content-length") || $0.lowercased().hasPrefix("transfer-encoding")
            })
        {
            head += "Content-Length: \(body.count)\r\n"
        }
        for header in headers { head += header + "\r\n" }
        return try #require(
            try await server.client.exchange(Array((head + "\r\n").utf8) + (body ?? [])).first,
            "no answer to \(method) \(path)")
    }

    func post(_ action: String, _ body: JSONValue) async throws -> RawResponse {
        let path = action.hasPrefix("/") ? action : "\(Self.root)/\(database)/\(action)"
        return try await send(
            "POST", path, user.map { ["X-Skylight-User: \($0)"] } ?? [], body: JSONWriter.bytes(of: body))
    }

    // MARK: Uploading

    func slot(_ fieldName: String = "file", of recordName: String? = "r", type: String = "Note") async throws -> Slot {
        let token: JSONValue = [
            "recordType": .string(type), "fieldName": .string(fieldName),
            "recordName": recordName.map { .string($0) } ?? .null,
        ]
        let answer = try await post("assets/upload", ["tokens": [token]])
        #expect(answer.status == 200, "\(answer.text)")
        let json = try answer.json()
        return Slot(recordName: try string("tokens[0].recordName", in: json), path: try path("tokens[0].url", in: json))
    }

    /// Uploads a file and returns the value to save in the record.
    func upload(_ bytes: [UInt8], to slot: Slot, _ headers: [String] = []) async throws -> JSONValue {
        let answer = try await send("POST", slot.path, headers, body: bytes)
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(Subset.value(at: "singleFile", in: try answer.json()))
    }

    // MARK: Saving and fetching

    @discardableResult
    func save(_ fields: JSONValue, to recordName: String = "r", as kind: String = "forceUpdate", type: String = "Note")
        async throws -> JSONValue
    {
        let record: JSONValue = ["recordType": .string(type), "recordName": .string(recordName), "fields": fields]
        let answer = try await post(
            "records/modify", ["operations": [["operationType": .string(kind), "record": record]]])
        #expect(answer.status == 200, "\(answer.text)")
        return try #require(Subset.value(at: "records[0]", in: try answer.json()))
    }

    /// The download path of an asset field in a saved record.
    func downloadPath(_ record: JSONValue, _ field: String = "file") throws -> String {
        try path("fields.\(field).value.downloadURL", in: record)
    }

    /// Uploads a file, saves a record with it, and returns the download path.
    func store(_ bytes: [UInt8], named name: String? = nil, in recordName: String = "r") async throws -> String {
        let asset = try await upload(
            bytes, to: try await slot(of: recordName), name.map { ["X-Skylight-File-Name: \($0)"] } ?? [])
        return try downloadPath(try await save(["file": ["value": asset, "type": "ASSETID"]], to: recordName))
    }

    // MARK: Answers

    func string(_ place: String, in json: JSONValue) throws -> String {
        guard case .string(let text)? = Subset.value(at: place, in: json) else {
            throw RecordError(
                .internalError,
                "no string at \(place) in \(String(decoding: JSONWriter.bytes(of: json), as: UTF8.self))")
        }
        return text
    }

    private func path(_ place: String, in json: JSONValue) throws -> String {
        let url = try string(place, in: json)
        let origin = "http://localhost:\(server.port)"
        #expect(url.hasPrefix(origin + "/assets/"))
        return String(url.dropFirst(origin.count))
    }
}
