internal import AssetStore
internal import RecordStore
internal import Records
internal import Synchronization

/// A check of the records of a place that goes on behind its page.
final class CheckRun: Sendable {
    /// What was found of one kind.
    struct Findings: Sendable {
        var count = 0
        /// The first of them.
        var first: [RecordFinding] = []
    }

    struct State: Sendable {
        var progress = RecordCheck.Progress()
        var findings: [RecordFinding.Kind: Findings] = [:]
    }

    /// Findings of a kind that are kept one by one.
    static let keptLimit = 100

    /// How it ends.
    let run: BackgroundRun
    private let state = Mutex(State())

    init(of place: Place) {
        let page = Frame.Link(text: "Check", href: place.link(Tab.check.rawValue))
        run = BackgroundRun(heading: "Check", verb: "looked at", total: 0, place: place, back: page)
    }

    var place: Place { run.place }
    var now: State { state.withLock { $0 } }

    func start(_ check: RecordCheck) {
        run.start(priority: .utility) { [self] _ in
            _ = try await check.run { progress in
                state.withLock { $0.progress = progress }
                // Others come first.
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

/// The checks that go on, and what came of the latest of each place.
final class CheckRuns: Sendable {
    /// Checks at a time.
    static let runningLimit = 2
    /// Checks that are remembered after their end.
    static let keptLimit = 16

    private let runs = Mutex<[CheckRun]>([])

    /// Begins a check in a place; one that goes on there already goes on.
    /// - Throws: `RecordError` TRY_AGAIN_LATER while as many as may are under way.
    func start(_ check: RecordCheck, of place: Place) throws {
        let started: CheckRun? = try runs.withLock { runs in
            if runs.contains(where: { $0.place == place && !$0.run.isOver }) { return nil }
            guard runs.count(where: { !$0.run.isOver }) < Self.runningLimit else {
                throw RecordError(.tryAgainLater, "\(Self.runningLimit) checks are under way already; wait until one is over", retryAfter: 5)
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
