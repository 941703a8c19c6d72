internal import JSON
internal import Records
internal import Synchronization

/// The work that goes on behind the pages, and what came of the latest.
final class BackgroundRuns: Sendable {
    /// Works at a time.
    static let runningLimit = 4
    /// Works that are remembered after their end.
    static let keptLimit = 32

    private let runs = Mutex<[BackgroundRun]>([])

    /// Begins a work.
    /// - Throws: `RecordError` TRY_AGAIN_LATER while as many as may are under way.
    func start(_ run: BackgroundRun, _ work: @escaping @Sendable (BackgroundRun) async throws -> Void) throws {
        let isStarted = runs.withLock { runs in
            if runs.count(where: { !$0.isOver }) >= Self.runningLimit { return false }
            runs.append(run)
            while runs.count > Self.keptLimit, let oldest = runs.firstIndex(where: \.isOver) { runs.remove(at: oldest) }
            return true
        }
        guard isStarted else {
            throw RecordError(.tryAgainLater, "\(Self.runningLimit) works on many records are under way already; wait until one is over", retryAfter: 5)
        }
        run.start(work)
    }

    /// - Throws: `RecordError` NOT_FOUND when there is none of this name in the place, or it is long forgotten.
    func run(_ id: String, at place: Place) throws -> BackgroundRun {
        let run = runs.withLock { $0.first { Name($0.id) == Name(id) } }
        guard let run, run.place.address == place.address else {
            throw RecordError(.notFound, "There is no such work; the server may have been started anew since")
        }
        return run
    }
}
