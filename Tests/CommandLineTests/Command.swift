import Foundation
import Records
import TestSupport
import Testing

/// Runs the binary that was built with the tests.
struct Command {
    struct Result {
        let status: Int32
        let output: String
        let errors: String

        /// The single JSON object of the output.
        func json(_ text: String) throws -> JSONObject {
            guard
                case .object(let object) = try JSONReader.value(
                    of: text.trimmingCharacters(in: .whitespacesAndNewlines))
            else {
                throw CocoaError(.coderReadCorrupt)
            }
            return object
        }

        var outputJSON: JSONObject { get throws { try json(output) } }

        /// The object in the member `error`.
        var errorJSON: JSONObject {
            get throws {
                guard case .object(let object)? = try json(errors)["error"] else { throw CocoaError(.coderReadCorrupt) }
                return object
            }
        }
    }

    /// The binary beside the one that runs the tests, or the one that `SKYLIGHT_BIN` names.
    static var binary: URL {
        if let path = ProcessInfo.processInfo.environment["SKYLIGHT_BIN"] { return URL(filePath: path) }
        return URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "skylight")
    }

    /// The folder of the package.
    static var package: URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    }

    static func process(_ arguments: [String], _ environment: [String: String]) -> Process {
        let process = Process()
        process.executableURL = binary
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// Runs a command to its end.
    /// - Parameter input: its standard input, of less than a pipe holds.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: String? = nil
    ) async throws -> Result {
        let process = process(arguments, environment)
        if let input {
            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try pipe.fileHandleForWriting.close()
            process.standardInput = pipe
        }
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        async let outputText = output.text()
        async let errorText = errors.text()
        return await Result(status: process.end(), output: outputText, errors: errorText)
    }
}

extension Process {
    /// Waits for the process to end, on a thread that may block. A process that goes on for too long is killed, such as
    /// a server that should have refused to start.
    /// - Returns: its status.
    @discardableResult
    func end() async -> Int32 {
        let tooLong = DispatchWorkItem { [processIdentifier] in kill(processIdentifier, SIGKILL) }
        DispatchQueue.global().asyncAfter(deadline: .now() + patience / .seconds(1), execute: tooLong)
        defer { tooLong.cancel() }
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.waitUntilExit()
                continuation.resume(returning: self.terminationStatus)
            }
        }
    }
}

extension Pipe {
    /// Reads it to its end, on a thread that may block.
    func text() async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let data = self.fileHandleForReading.readDataToEndOfFile()
                continuation.resume(returning: String(decoding: data, as: UTF8.self))
            }
        }
    }
}

/// Tests of commands, with files in a folder that is removed after each.
protocol CommandTests {
    var folder: TemporaryFolder { get }
}

extension CommandTests {
    /// The data folder.
    var data: String { path("data") }

    func path(_ name: String) -> String { folder.url.appending(path: name).path(percentEncoded: false) }

    func write(_ text: String, to name: String) throws -> String {
        try folder.write(text, to: name).path(percentEncoded: false)
    }

    /// Runs a command on a data folder.
    func run(_ arguments: [String], data: String = "data", environment: [String: String] = [:]) async throws
        -> Command.Result
    {
        try await Command.run(arguments + ["--data", path(data)], environment: environment)
    }
}
