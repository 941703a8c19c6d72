import Foundation
import Records
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server process on its own port.
final class Server {
    let process: Process
    let address: String
    let firstLine: String

    /// Starts a server and waits for the line with its address.
    /// - Parameter log: the file for standard error.
    init(_ arguments: [String], environment: [String: String] = [:], log: URL? = nil) async throws {
        let process = Command.process(["serve", "--port", "0"] + arguments, environment)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = try log.map { try FileHandle(forWritingTo: $0) } ?? FileHandle.standardError
        try process.run()
        let line = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var line: [UInt8] = []
                while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n")
                { line.append(byte) }
                continuation.resume(returning: String(decoding: line, as: UTF8.self))
            }
        }
        self.process = process
        firstLine = line
        address = line.range(of: "http://").map { String(line[$0.lowerBound...]) } ?? ""
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    /// Sends a signal and waits for the process to end.
    func end(_ signal: Int32 = SIGTERM) async -> Int32 {
        kill(process.processIdentifier, signal)
        return await process.end()
    }

    /// Uploads a file for a field of a record and saves the record with it, like any client.
    func save(
        _ bytes: [UInt8], named name: String?, in record: String, field: String = "file", container: String,
        zone: String = "_defaultZone"
    ) async throws {
        let database = "/database/1/\(container)/development/private/"
        let zoneID: JSONValue = ["zoneName": .string(zone)]
        let token: JSONValue = ["recordType": "Note", "fieldName": .string(field), "recordName": .string(record)]
        let granted = try await post(database + "assets/upload", ["zoneID": zoneID, "tokens": .array([token])])
        guard case .array(let tokens)? = granted.answer["tokens"], case .object(let grant)? = tokens.first,
            case .string(let url)? = grant["url"]
        else {
            throw CocoaError(.coderReadCorrupt)
        }
        let uploaded = try await upload(bytes, named: name, to: url)
        let asset = try #require(uploaded.answer["singleFile"], "\(uploaded)")
        let operation: JSONValue = [
            "operationType": "forceReplace",
            "record": [
                "recordName": .string(record), "recordType": "Note",
                "fields": .object(JSONObject([.init(name: Name(field), value: ["value": asset])])),
            ],
        ]
        let saved = try await post(database + "records/modify", ["zoneID": zoneID, "operations": .array([operation])])
        #expect(saved.status == 200 && !"\(saved.answer)".contains("serverErrorCode"), "\(saved.answer)")
    }

    /// Sends bytes to an upload address.
    func upload(_ bytes: [UInt8], named name: String?, to url: String) async throws -> (status: Int, answer: JSONObject)
    {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.httpMethod = "POST"
        request.httpBody = Data(bytes)
        if let name = name?.addingPercentEncoding(withAllowedCharacters: .alphanumerics) {
            request.setValue(name, forHTTPHeaderField: "X-Skylight-File-Name")
        }
        return try await answer(to: request)
    }

    /// Posts JSON to a web service of the demo developer.
    func post(_ path: String, _ body: JSONValue) async throws -> (status: Int, answer: JSONObject) {
        var request = URLRequest(url: try #require(URL(string: address + path)))
        request.httpMethod = "POST"
        request.httpBody = Data(JSONWriter.bytes(of: body))
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        return try await answer(to: request)
    }

    /// Sends any request.
    func exchange(_ method: String, _ path: String, _ body: String = "") async throws -> (status: Int, text: String) {
        var request = URLRequest(url: try #require(URL(string: path.hasPrefix("http") ? path : address + path)))
        request.httpMethod = method
        if method == "POST" { request.httpBody = Data(body.utf8) }
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        let (data, response) = try await URLSession.shared.data(for: request)
        return (try #require(response as? HTTPURLResponse).statusCode, String(decoding: data, as: UTF8.self))
    }

    private func answer(to request: URLRequest) async throws -> (status: Int, answer: JSONObject) {
        let (data, response) = try await URLSession.shared.data(for: request)
        guard case .object(let object) = try JSONReader.value(of: Array(data)), let http = response as? HTTPURLResponse
        else {
            throw CocoaError(.coderReadCorrupt)
        }
        return (http.statusCode, object)
    }
}
