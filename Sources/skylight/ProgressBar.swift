import DataTransfer
import Synchronization

/// Shows how far something is on standard error, when it takes over a second and a person is watching.
final class ProgressBar: Sendable {
    private struct State {
        var isShown = false
        var lastDrawn = ContinuousClock.now
    }

    private static let width = 30

    private let start = ContinuousClock.now
    private let isWatched = Output.isWatched
    private let state = Mutex(State())

    /// - Parameters:
    ///   - verb: what is being done, such as `Saving`.
    ///   - fraction: how much of it is done, 0 to 1; `nil` when nobody knows.
    ///   - noun: what is counted.
    func show(_ verb: String, fraction: Double?, count: Int, _ noun: String) {
        let now = ContinuousClock.now
        guard isWatched, now - start > .seconds(1) else { return }
        state.withLock { state in
            if state.isShown, now - state.lastDrawn < .milliseconds(80) { return }
            state.isShown = true
            state.lastDrawn = now
            Output.write("\r\u{1B}[K" + Self.line(verb, fraction, count, noun))
        }
    }

    func show(_ progress: ImportProgress) {
        switch progress.phase {
        case .reading: show("Reading", fraction: progress.fraction, count: progress.count, "rows")
        case .checking: show("Checking", fraction: progress.fraction, count: progress.count, "rows")
        case .saving: show("Saving", fraction: progress.fraction, count: progress.count, "records")
        }
    }

    /// Leaves the line empty again.
    func finish() {
        state.withLock { state in
            if state.isShown { Output.write("\r\u{1B}[K") }
            state.isShown = false
        }
    }

    private static func line(_ verb: String, _ fraction: Double?, _ count: Int, _ noun: String) -> String {
        let label = verb + String(repeating: " ", count: max(1, 10 - verb.count))
        let number = "\(Output.grouped(count)) \(noun)"
        guard let fraction else { return label + number }
        let shown = min(1, max(0, fraction))
        let filled = Int((shown * Double(width)).rounded())
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        return "\(label)\(bar) \(Int(shown * 100)) %  \(number)"
    }
}
