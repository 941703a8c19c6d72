internal import JSON
internal import Records
internal import Synchronization

/// The running background jobs, and the results of the latest ones.
package final class BackgroundRuns: Sendable {
    /// The maximum number of concurrent jobs.
    static let runningLimit = 4
    /// The maximum number of jobs that are kept.
    package static let keptLimit = 32

    private let runs = Mutex<[BackgroundRun]>([])

    /// Starts a job. A check is not started while another one of the same place is running.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the maximum number of jobs is running.
    package func start(_ run: BackgroundRun, priority: TaskPriority? = nil, _ work: @escaping @Sendable (BackgroundRun) async throws -> Void) throws {
        let isStarted: Bool? = runs.withLock { runs in
            if run.check != nil, runs.contains(where: { $0.check != nil && $0.place == run.place && !$0.isOver }) { return nil }
            if !run.isLasting, runs.count(where: { !$0.isOver && !$0.isLasting }) >= Self.runningLimit { return false }
            runs.append(run)
            while runs.count > Self.keptLimit, let oldest = runs.firstIndex(where: \.isOver) { runs.remove(at: oldest) }
            return true
        }
        guard let isStarted else { return }
        guard isStarted else {
            throw RecordError(.tryAgainLater, "\(Self.runningLimit) background jobs are running; wait until one ends", retryAfter: 5)
        }
        run.start(priority: priority, work)
    }

    /// The latest check of a place. A place without a zone is checked in all zones.
    package func check(of place: Place) -> BackgroundRun? {
        let place = place.inAllZonesUnlessNamed
        return runs.withLock { $0.last { $0.check != nil && $0.place.inAllZonesUnlessNamed == place } }
    }

    /// - Throws: `RecordError` NOT_FOUND if the place has no such job, or its result is no longer kept.
    func run(_ id: String, at place: Place) throws -> BackgroundRun {
        let run = runs.withLock { $0.first { Name($0.id) == Name(id) } }
        guard let run, run.place.address == place.address else {
            throw RecordError(.notFound, "There is no such job; the server may have restarted")
        }
        return run
    }
}
