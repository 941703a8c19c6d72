internal import RecordStore
internal import Synchronization

/// The progress and the findings of a check, which a ``BackgroundRun`` makes.
final class CheckFindings: Sendable {
    /// The findings of one kind.
    struct Findings: Sendable {
        var count = 0
        /// The first findings.
        var first: [RecordFinding] = []
    }

    struct State: Sendable {
        var progress = RecordCheck.Progress()
        var findings: [RecordFinding.Kind: Findings] = [:]
    }

    /// The maximum number of findings that are kept per kind.
    static let keptLimit = 100

    private let state = Mutex(State())

    var now: State { state.withLock { $0 } }

    func note(_ progress: RecordCheck.Progress) {
        state.withLock { $0.progress = progress }
    }

    func add(_ finding: RecordFinding) {
        state.withLock { state in
            state.findings[finding.kind, default: Findings()].count += 1
            guard state.findings[finding.kind]?.first.count ?? 0 < Self.keptLimit else { return }
            state.findings[finding.kind]?.first.append(finding)
        }
    }
}
