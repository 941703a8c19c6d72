internal import HTTPServing
internal import RecordStore
package import Records
internal import Synchronization

/// A background job over many records. It ends when it completes, when it is cancelled, or when the server stops.
package final class BackgroundRun: Sendable {
    /// A record or a row that the job failed to process.
    package struct Problem: Sendable, Hashable {
        /// The subject: a record name, or a line.
        package let subject: String
        /// The page of the record, if it has one.
        package let href: String?
        package let code: String?
        package let reason: String

        package init(subject: String, href: String?, code: String?, reason: String) {
            self.subject = subject
            self.href = href
            self.code = code
            self.reason = reason
        }
    }

    /// The meaning of the problems of a job.
    package enum Problems: Sendable {
        /// The job failed to process items.
        case failures
        /// The user chose to skip rows.
        case skippedRows
    }

    package enum Ending: Sendable, Hashable {
        case done
        case cancelled
        /// The reason for the failure.
        case failed(String)
    }

    package struct State: Sendable {
        /// The current phase, if the job has several: `Checking every row`.
        package var phase: String?
        /// The progress, and the total.
        package var done = 0
        package var total: Int
        /// The number of successes, for display with the verb: `deleted 1,200`.
        package var achieved = 0
        package var skipped = 0
        /// The first problems.
        var problems: [Problem] = []
        package var problemCount = 0
        /// Remarks for the final report.
        package var notes: [String] = []
        package var ending: Ending?
        package var ended: Timestamp?
    }

    /// The maximum number of problems that are kept.
    static let problemLimit = 200

    package let id: String
    /// `Delete 1,940 records`
    let heading: String
    /// The past participle for a processed record: `deleted`.
    let verb: String
    /// The place that started the job. The page of the job is available only there.
    package let place: Place
    let back: Frame.Link
    /// Links to what the job made, for the page of a job that is done.
    let results: [Frame.Link]
    /// The findings, if the job is a check. The page Check shows them.
    package let check: CheckFindings?
    /// True if the job goes on until somebody stops it. It takes no place among the others.
    let isLasting: Bool
    /// The tab that the page of the job shows.
    let tab: Tab
    let problems: Problems
    /// True if the job completes each item that it sees, so that its page needs no second figure.
    let completesAll: Bool
    private let state: Mutex<State>
    private let task = Mutex<Task<Void, Never>?>(nil)

    package init(
        heading: String, verb: String, total: Int, place: Place, back: Frame.Link, results: [Frame.Link] = [], check: CheckFindings? = nil,
        isLasting: Bool = false, tab: Tab = .query, problems: Problems = .failures, completesAll: Bool = false
    ) {
        id = String(UInt64.random(in: .min ... .max), radix: 16)
        self.heading = heading
        self.verb = verb
        self.place = place
        self.back = back
        self.results = results
        self.check = check
        self.isLasting = isLasting
        self.tab = tab
        self.problems = problems
        self.completesAll = completesAll
        state = Mutex(State(total: total))
    }

    package var now: State { state.withLock { $0 } }
    package var isOver: Bool { state.withLock { $0.ending != nil } }

    package func update(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    package func add(_ problem: Problem) {
        update { state in
            state.problemCount += 1
            if state.problems.count < Self.problemLimit { state.problems.append(problem) }
        }
    }

    package func cancel() {
        task.withLock { $0 }?.cancel()
    }

    /// Starts the job on threads for long work. The job reports its progress
    /// through its argument. Called once, by ``BackgroundRuns``.
    package func start(priority: TaskPriority? = nil, _ work: @escaping @Sendable (BackgroundRun) async throws -> Void) {
        let running = Task.detached(executorPreference: WorkPool.lengthy, priority: priority) { [self] in
            let ending: Ending
            do {
                try await work(self)
                ending = .done
            } catch is CancellationError {
                ending = .cancelled
            } catch let error as RecordError {
                ending = .failed(error.description)
            } catch {
                ending = .failed("\(error)")
            }
            update { ($0.ending, $0.ended) = (ending, .now()) }
        }
        task.withLock { $0 = running }
    }
}
