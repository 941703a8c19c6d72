import Foundation

/// The memory use of this process, including the server.
enum Memory {
    /// `malloc_trim` of glibc, which its module does not show.
    private static let giveBack = dlsym(nil, "malloc_trim").map {
        unsafeBitCast($0, to: (@convention(c) (Int) -> CInt).self)
    }

    /// The growth in bytes of the peak memory use during some work: the least of the attempts within two minutes,
    /// because other tests run in this process too. Before each attempt, freed memory is returned to the system, so
    /// that its reuse is visible.
    /// - Returns: `nil` if the system does not provide the peak.
    static func leastPeakGrowth(enough: Int, _ work: () async throws -> Void) async throws -> Int? {
        var least: Int?
        let start = ContinuousClock.now
        while least ?? .max > enough, ContinuousClock.now - start < .seconds(120) {
            _ = giveBack?(0)
            // Resets the peak to the current use.
            guard (try? Data("5".utf8).write(to: URL(filePath: "/proc/self/clear_refs"))) != nil,
                let before = try status("VmRSS:")
            else {
                try await work()
                return nil
            }
            try await work()
            guard let peak = try status("VmHWM:") else { return nil }
            least = min(least ?? .max, peak - before)
        }
        return least
    }

    private static func status(_ name: String) throws -> Int? {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) }
        return line?.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first.map { $0 << 10 }
    }
}
