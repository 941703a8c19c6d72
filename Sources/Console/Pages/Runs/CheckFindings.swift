package import RecordStore
internal import Synchronization

/// The progress and the findings of a check, which a ``BackgroundRun`` makes.
package final class CheckFindings: Sendable {
    /// The findings of one kind.
    package struct Findings: Sendable {
        package var count = 0
        /// The first findings.
        package var first: [RecordFinding] = []
    }

    package struct State: Sendable {
        package var progress = RecordCheck.Progress()
        package var findings: [RecordFinding.Kind: Findings] = [:]
    }

    /// The maximum number of findings that are kept per kind.
    package static let keptLimit = 100

    private let state = Mutex(State())

    package init() {}

    package var now: State { state.withLock { $0 } }

    package func note(_ progress: RecordCheck.Progress) {
        state.withLock { $0.progress = progress }
    }

    package func add(_ finding: RecordFinding) {
        state.withLock { state in
            state.findings[finding.kind, default: Findings()].count += 1
            guard state.findings[finding.kind]?.first.count ?? 0 < Self.keptLimit else { return }
            state.findings[finding.kind]?.first.append(finding)
        }
    }
}
