internal import HTTPServing
internal import RecordStore
internal import Records
internal import Synchronization

/// Work on many records that goes on behind the pages: it ends by itself, by a click, or with the server.
final class BackgroundRun: Sendable {
    /// A record or a row that the work did not get done.
    struct Problem: Sendable, Hashable {
        /// What it is about: a record's name, a line.
        let subject: String
        /// The page of the record, if there is one.
        let href: String?
        let code: String?
        let reason: String
    }

    enum Ending: Sendable, Hashable {
        case done
        case cancelled
        /// Why it could not go on.
        case failed(String)
    }

    struct State: Sendable {
        /// What is being done at the moment, where that changes: `Checking every row`.
        var phase: String?
        /// How much of it is done, and of how much.
        var done = 0
        var total: Int
        /// What was achieved, by name: `deleted 1,200`.
        var achieved = 0
        var skipped = 0
        /// The first of them.
        var problems: [Problem] = []
        var problemCount = 0
        /// Said at the end.
        var notes: [String] = []
        var ending: Ending?
        var ended: Timestamp?
    }

    /// Problems that are kept one by one.
    static let problemLimit = 200

    let id: String
    /// `Delete 1,940 records`
    let heading: String
    /// What has become of a record that the work was done on: `deleted`.
    let verb: String
    /// Where the work was asked for; its page is found only there.
    let place: Place
    let back: Frame.Link
    private let state: Mutex<State>
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(heading: String, verb: String, total: Int, place: Place, back: Frame.Link) {
        id = String(UInt64.random(in: .min ... .max), radix: 16)
        self.heading = heading
        self.verb = verb
        self.place = place
        self.back = back
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

    /// Begins the work, which tells here how far it is, on threads where it may take long. Only ``BackgroundRuns`` and ``CheckRuns`` call this, once.
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
