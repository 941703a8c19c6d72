import DataTransfer
import Synchronization

/// Shows the progress of an import on standard error, when it takes over a second and a person is watching.
final class ProgressBar: Sendable {
    private struct State {
        var isShown = false
        var lastDrawn = ContinuousClock.now
    }

    private static let width = 30

    private let start = ContinuousClock.now
    private let isWatched = Output.isWatched
    private let state = Mutex(State())

    func show(_ progress: ImportProgress) {
        let now = ContinuousClock.now
        guard isWatched, now - start > .seconds(1) else { return }
        state.withLock { state in
            if state.isShown, now - state.lastDrawn < .milliseconds(80) { return }
            state.isShown = true
            state.lastDrawn = now
            Output.write("\r\u{1B}[K" + Self.line(for: progress))
        }
    }

    /// Leaves the line empty again.
    func finish() {
        state.withLock { state in
            if state.isShown { Output.write("\r\u{1B}[K") }
            state.isShown = false
        }
    }

    private static func line(for progress: ImportProgress) -> String {
        let verb =
            switch progress.phase {
            case .reading: "Reading"
            case .checking: "Checking"
            case .saving: "Saving"
            }
        let filled = Int((progress.fraction * Double(width)).rounded())
        let bar = String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
        let label = verb + String(repeating: " ", count: 9 - verb.count)
        return "\(label)\(bar) \(Int(progress.fraction * 100)) %  \(Output.grouped(progress.count)) \(progress.phase == .saving ? "records" : "rows")"
    }
}
