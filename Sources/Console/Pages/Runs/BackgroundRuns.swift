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

    /// Starts a job.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the maximum number of jobs is running.
    package func start(_ run: BackgroundRun, _ work: @escaping @Sendable (BackgroundRun) async throws -> Void) throws {
        let isStarted = runs.withLock { runs in
            if runs.count(where: { !$0.isOver }) >= Self.runningLimit { return false }
            runs.append(run)
            while runs.count > Self.keptLimit, let oldest = runs.firstIndex(where: \.isOver) { runs.remove(at: oldest) }
            return true
        }
        guard isStarted else {
            throw RecordError(.tryAgainLater, "\(Self.runningLimit) background jobs are running; wait until one ends", retryAfter: 5)
        }
        run.start(work)
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
