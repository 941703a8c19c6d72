import Foundation

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
