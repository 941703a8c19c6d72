import Foundation
import Testing

/// A shell for checking copied commands.
enum Shell {
    /// The arguments with which a command that begins with `skylight` runs it, with any other output of the script.
    static func words(of command: String) throws -> [String] {
        try output("skylight() { printf '%s\\0' \"$@\"; }\n" + command)
    }

    /// The output of `printf` for words of a shell.
    static func printed(_ words: [String]) throws -> [String] {
        try output("printf '%s\\0' " + words.joined(separator: " "))
    }

    private static func output(_ script: String) throws -> [String] {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast().map {
            String(decoding: $0, as: UTF8.self)
        }
    }
}
