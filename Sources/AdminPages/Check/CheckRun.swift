internal import AssetStore
internal import Console
internal import RecordStore
internal import Records
internal import Synchronization

/// A check of the records of a place. It runs in the background.
final class CheckRun: Sendable {
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

    /// The job, with its state and outcome.
    let run: BackgroundRun
    private let state = Mutex(State())

    init(of place: Place) {
        let page = Frame.Link(text: "Check", href: place.link(Tab.check.rawValue))
        run = BackgroundRun(heading: "Check", verb: "checked", total: 0, place: place, back: page)
    }

    var place: Place { run.place }
    var now: State { state.withLock { $0 } }

    func start(_ check: RecordCheck) {
        run.start(priority: .utility) { [self] _ in
            _ = try await check.run { progress in
                state.withLock { $0.progress = progress }
                // Lets other tasks run first.
                await Task.yield()
            } found: { finding in
                add(finding)
            }
        }
    }

    private func add(_ finding: RecordFinding) {
        state.withLock { state in
            state.findings[finding.kind, default: Findings()].count += 1
            guard state.findings[finding.kind]?.first.count ?? 0 < Self.keptLimit else { return }
            state.findings[finding.kind]?.first.append(finding)
        }
    }
}

/// The running checks, and the results of the latest check of each place.
final class CheckRuns: Sendable {
    /// The maximum number of concurrent checks.
    static let runningLimit = 2
    /// The maximum number of finished checks that are kept.
    static let keptLimit = 16

    private let runs = Mutex<[CheckRun]>([])

    /// Starts a check of a place. Does nothing if a check of that place is already running.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the maximum number of checks is running.
    func start(_ check: RecordCheck, of place: Place) throws {
        let started: CheckRun? = try runs.withLock { runs in
            if runs.contains(where: { $0.place == place && !$0.run.isOver }) { return nil }
            guard runs.count(where: { !$0.run.isOver }) < Self.runningLimit else {
                throw RecordError(.tryAgainLater, "\(Self.runningLimit) checks are running; wait until one ends", retryAfter: 5)
            }
            runs.removeAll { $0.place == place }
            while runs.count >= Self.keptLimit, let oldest = runs.firstIndex(where: \.run.isOver) { runs.remove(at: oldest) }
            let run = CheckRun(of: place)
            runs.append(run)
            return run
        }
        started?.start(check)
    }

    /// The latest check of a place.
    func run(of place: Place) -> CheckRun? {
        runs.withLock { $0.first { $0.place == place } }
    }
}
