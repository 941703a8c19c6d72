import Foundation
import JSON
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A server process on a port of its own.
final class Server {
    let process: Process
    let address: String
    let firstLine: String

    /// Starts a server and waits for the line with its address.
    init(_ arguments: [String], environment: [String: String] = [:]) async throws {
        let process = Command.process(["serve", "--port", "0"] + arguments, environment)
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.standardError
        try process.run()
        let line = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var line: [UInt8] = []
                while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") { line.append(byte) }
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

    /// Sends a signal and waits for the end.
    func end(_ signal: Int32 = SIGTERM) async -> Int32 {
        kill(process.processIdentifier, signal)
        let process = process
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume(returning: process.terminationStatus)
            }
        }
    }

    /// Posts JSON to a web service of the demo developer.
    func post(_ path: String, _ body: JSONValue) async throws -> (status: Int, answer: JSONObject) {
        var request = URLRequest(url: try #require(URL(string: address + path)))
        request.httpMethod = "POST"
        request.httpBody = Data(JSONWriter.bytes(of: body))
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        let (data, response) = try await URLSession.shared.data(for: request)
        guard case .object(let object) = try JSONReader.value(of: Array(data)), let http = response as? HTTPURLResponse else {
            throw CocoaError(.coderReadCorrupt)
        }
        return (http.statusCode, object)
    }
}
