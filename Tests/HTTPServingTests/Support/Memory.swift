import Foundation

/// What this process, the server included, takes.
enum Memory {
    /// Bytes of memory that are in use, from `/proc`.
    static func resident() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
            let kilobytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { throw CocoaError(.fileReadCorruptFile) }
        return kilobytes << 10
    }

    /// How much more is in use at a point within some work, in the best of a few attempts: other tests run in this process too.
    static func leastGrowth(_ work: () async throws -> Int) async throws -> Int {
        var least = Int.max
        for _ in 0..<8 where least > 4 << 20 {
            let before = try resident()
            least = min(least, try await work() - before)
        }
        return least
    }
}
