internal import HTTPServing
internal import RecordStore
internal import Records
internal import Synchronization

/// A background job over many records. It ends when it completes, when it is cancelled, or when the server stops.
final class BackgroundRun: Sendable {
    /// A record or a row that the job failed to process.
    struct Problem: Sendable, Hashable {
        /// The subject: a record name, or a line.
        let subject: String
        /// The page of the record, if it has one.
        let href: String?
        let code: String?
        let reason: String
    }

    enum Ending: Sendable, Hashable {
        case done
        case cancelled
        /// The reason for the failure.
        case failed(String)
    }

    struct State: Sendable {
        /// The current phase, if the job has several: `Checking every row`.
        var phase: String?
        /// The progress, and the total.
        var done = 0
        var total: Int
        /// The number of successes, for display with the verb: `deleted 1,200`.
        var achieved = 0
        var skipped = 0
        /// The first problems.
        var problems: [Problem] = []
        var problemCount = 0
        /// Remarks for the final report.
        var notes: [String] = []
        var ending: Ending?
        var ended: Timestamp?
    }

    /// The maximum number of problems that are kept.
    static let problemLimit = 200

    let id: String
    /// `Delete 1,940 records`
    let heading: String
    /// The past participle for a processed record: `deleted`.
    let verb: String
    /// The place that started the job. The page of the job is available only there.
    let place: Place
    let back: Frame.Link
    /// The findings, if the job is a check. The page Check shows them.
    let check: CheckFindings?
    private let state: Mutex<State>
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(heading: String, verb: String, total: Int, place: Place, back: Frame.Link, check: CheckFindings? = nil) {
        id = String(UInt64.random(in: .min ... .max), radix: 16)
        self.heading = heading
        self.verb = verb
        self.place = place
        self.back = back
        self.check = check
        state = Mutex(State(total: total))
    }

    var now: State { state.withLock { $0 } }
    var isOver: Bool { state.withLock { $0.ending != nil } }

    func update(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    func add(_ problem: Problem) {
        update { state in
            state.problemCount += 1
            if state.problems.count < Self.problemLimit { state.problems.append(problem) }
        }
    }

    func cancel() {
        task.withLock { $0 }?.cancel()
    }

    /// Starts the job on threads for long work. The job reports its progress
    /// through its argument. Called once, by ``BackgroundRuns``.
    func start(priority: TaskPriority? = nil, _ work: @escaping @Sendable (BackgroundRun) async throws -> Void) {
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
