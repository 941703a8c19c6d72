import AssetStore
import Foundation
import Records
import TestSupport
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

    /// Runs a server while the body runs.
    static func run(
        sizeLimit: Int64 = AssetStores.defaultSizeLimit,
        clock: MovingClock = MovingClock(), _ body: @Sendable (AssetClient) async throws -> Void
    ) async throws {
        try await TestServer.run(sizeLimit: sizeLimit, clock: clock) { try await body(AssetClient(server: $0)) }
    }

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

/// The files of an asset store on disk.
enum AssetFiles {
    /// The paths of the complete files of all stores in a data folder.
    static func stored(in folder: URL) throws -> [String] {
        try all(in: folder).filter { !$0.contains("/incoming/") }
    }

    /// The paths of uploads in progress.
    static func incoming(in folder: URL) throws -> [String] {
        try all(in: folder).filter { $0.contains("/incoming/") }
    }

    private static func all(in folder: URL) throws -> [String] {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))
        return paths.filter { path in
            var isFolder: ObjCBool = false
            let file = folder.appending(path: path).path(percentEncoded: false)
            return path.contains(".assets/") && FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    /// A body in HTTP chunks of odd sizes.
    static func chunked(_ bytes: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        var rest = bytes[...]
        var size = 1
        while !rest.isEmpty {
            let chunk = rest.prefix(size)
            body += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + [13, 10]
            rest = rest.dropFirst(size)
            size = size * 3 % 9973 + 1
        }
        return body + Array("0\r\n\r\n".utf8)
    }
}

/// Independent tools for compression and checksums, so that the code under test does not check itself.
enum Tool {
    static func gzip(_ bytes: [UInt8]) throws -> [UInt8] { try run(["gzip", "-6", "-c"], bytes) }

    static func gunzip(_ bytes: [UInt8]) throws -> [UInt8] { try run(["gzip", "-dc"], bytes) }

    /// 64 hexadecimal digits.
    static func sha256(_ bytes: [UInt8]) throws -> String {
        String(decoding: try run(["sha256sum"], bytes).prefix(64), as: UTF8.self)
    }

    private static func run(_ arguments: [String], _ bytes: [UInt8]) throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appending(path: "skylight-tool-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        let output = Pipe()
        process.standardInput = try FileHandle(forReadingFrom: file)
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let result = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Array(result)
    }
}
