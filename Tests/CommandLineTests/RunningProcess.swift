import Foundation

/// A command that runs until it is told to end. Its output is read line by line.
final class RunningProcess {
    let process: Process
    private let lines: AsyncStream<String>
    private var iterator: AsyncStream<String>.Iterator
    private let errors: Pipe

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        process = Command.process(arguments, environment)
        let output = Pipe()
        errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        self.lines = lines
        iterator = lines.makeAsyncIterator()
        try process.run()
        Thread.detachNewThread {
            var rest: [UInt8] = []
            while true {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { break }
                rest += data
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest.removeFirst(end + 1)
                }
            }
            continuation.finish()
        }
    }

    deinit {
        if process.isRunning { process.terminate() }
    }

    /// The next line; `nil` at the end of the output.
    func nextLine() async -> String? {
        await iterator.next()
    }

    /// All remaining lines.
    func rest() async -> [String] {
        var lines: [String] = []
        while let line = await nextLine() { lines.append(line) }
        return lines
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    /// Waits for the process to end.
    func end() async -> (status: Int32, errors: String) {
        let (process, errors) = (process, errors)
        async let text = errors.text()
        return await (process.end(), text)
    }
}
