internal import HTTPServing
package import RecordStore
package import Records
internal import Synchronization

/// The page of a background job: its progress and its result.
package enum RunView {
    package static func load(_ visit: Visit) throws -> ComponentPage {
        let run = try visit.console.runs.run(visit.fields["id"] ?? "", at: visit.place)
        return page(run, run.now, visit)
    }

    private static func page(_ run: BackgroundRun, _ state: BackgroundRun.State, _ visit: Visit) -> ComponentPage {
        let isOver = state.outcome == .done
        let percent = isOver ? 100 : state.total == 0 ? 0 : min(100, state.done * 100 / state.total)
        let total = max(state.total, 1)
        return ComponentPage(
            run.tab, PageHead(run.heading, actions: [.button(run.back.text, run.back.href)]),
            [
                JobProgress(
                    "run", outcome(run, state), announcement: "\(run.heading): ended", reloads: true,
                    phase: state.phase.map { Inline($0) },
                    bar: JobProgress.Bar(run.heading, done: isOver ? total : state.done, of: total, percent: percent),
                    figures(run, state), notes(run, state) + steps(run, state, visit) + problems(run, state))
            ])
    }

    private static func outcome(_ run: BackgroundRun, _ state: BackgroundRun.State) -> JobProgress.Outcome {
        switch state.outcome {
        case nil: .running()
        case _ where run.isUndone: .good("undone")
        case .done where state.problemCount == 0 || run.problems == .skippedRows: .good()
        case .done: .warn("done, with errors")
        case .cancelled: .warn("cancelled")
        case .failed: .bad()
        }
    }

    private static func figures(_ run: BackgroundRun, _ state: BackgroundRun.State) -> [JobProgress.Figure] {
        let of = "of \(Digits.grouped(state.total))"
        var figures = [
            JobProgress.Figure(run.verb, Digits.grouped(state.achieved), note: run.completesAll ? of : nil)
        ]
        if !run.completesAll { figures.append(JobProgress.Figure("seen", Digits.grouped(state.done), note: of)) }
        if state.skipped > 0 { figures.append(JobProgress.Figure("already deleted", Digits.grouped(state.skipped))) }
        if state.problemCount > 0 {
            let words = run.problems.words
            figures.append(
                JobProgress.Figure(words.verb, Digits.count(state.problemCount, words.noun), tone: words.tone))
        }
        return figures
    }

    private static func notes(_ run: BackgroundRun, _ state: BackgroundRun.State) -> [any Component] {
        var notes: [any Component] = state.notes.map { Paragraph(Inline($0)) }
        if case .failed(let reason)? = state.outcome {
            notes.insert(Note(bad: "It stopped: \(reason)", "Completed changes remain."), at: 0)
        }
        if let left = run.change?.leftByUndo {
            let others = left == 0 ? "" : ", except for \(Digits.count(left, "record"))"
            notes.insert(Paragraph("This \(run.changeNoun) was undone\(others)."), at: 0)
        }
        if run.change?.isTooLarge == true {
            let limit = Digits.grouped(UndoableChange.recordLimit)
            notes.append(Paragraph("This change can’t be undone here: it has more than \(limit) records."))
        }
        return notes
    }

    /// What can be done with the job, or after it.
    private static func steps(_ run: BackgroundRun, _ state: BackgroundRun.State, _ visit: Visit) -> [any Component] {
        guard state.outcome != nil else {
            return [
                Form(
                    .line, visit.place.link("run/cancel"), hidden: [Frame.Hidden(name: "id", value: run.id)], [],
                    button: "Cancel", buttonStyle: "danger", note: "Completed changes remain.")
            ]
        }
        // The results of the job are no longer there.
        if run.isUndone { return [] }
        let results = state.outcome == .done ? run.results.map { Frame.Link.button($0.text, $0.href) } : []
        let change = run.change.flatMap { visit.changes.change($0.id, at: visit.place) }
        guard let change, !change.recordIDs.isEmpty else { return results.isEmpty ? [] : [Paragraph.actions(results)] }
        let undo = NoticeView.Undo(change, back: visit.here, at: visit.place)
        return [
            Form(
                .line, undo.action, hidden: undo.fields, [],
                button: "Undo this \(run.changeNoun)", links: results)
        ]
    }

    private static func problems(_ run: BackgroundRun, _ state: BackgroundRun.State) -> [any Component] {
        guard !state.problems.isEmpty else { return [] }
        let words = run.problems.words
        let title = words.title + Digits.count(state.problemCount, words.noun)
        let left = state.problemCount - state.problems.count
        return [
            Section(
                "problems", Inline(title), style: "findings",
                [
                    Table(
                        title, [.column("what", "name"), "code", .column("why", "wide")],
                        state.problems.map { problem in
                            Table.Row([
                                problem.href.map { .link(problem.subject, $0) } ?? Inline(problem.subject),
                                problem.code.map { .badge($0, "lacks") } ?? "", Inline(problem.reason),
                            ])
                        }, more: left > 0 ? "… and \(Digits.grouped(left)) more" : nil)
                ])
        ]
    }

    /// Cancels a job. Completed work stays.
    package static func cancel(_ visit: Visit) throws -> String {
        let run = try visit.console.runs.run(visit.fields["id"] ?? "", at: visit.place)
        run.cancel()
        return visit.place.link("run", [("id", run.id)])
    }
}

// MARK: - Background job

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

        fileprivate var words: (verb: String, tone: String, noun: String, title: String) {
            switch self {
            case .failures: ("failed", "bad", "error", "")
            case .skippedRows: ("skipped", "warn", "row", "Skipped ")
            }
        }
    }

    package enum Outcome: Sendable, Hashable {
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
        package var outcome: Outcome?
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
    /// What the job changes, if that can be undone.
    let change: UndoableChange?
    /// True if the job completes each item that it sees, so that its page needs no second figure.
    let completesAll: Bool
    private let state: Mutex<State>
    private let task = Mutex<Task<Void, Never>?>(nil)

    package init(
        heading: String, verb: String, total: Int, place: Place, back: Frame.Link, results: [Frame.Link] = [],
        check: CheckFindings? = nil,
        isLasting: Bool = false, tab: Tab = .query, problems: Problems = .failures, completesAll: Bool = false,
        change: UndoableChange? = nil
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
        self.change = change
        state = Mutex(State(total: total))
    }

    package var now: State { state.withLock { $0 } }
    package var isOver: Bool { state.withLock { $0.outcome != nil } }
    fileprivate var isUndone: Bool { change?.isUndone ?? false }
    fileprivate var changeNoun: String { tab == .importing ? "import" : "change" }

    package func update(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    package func add(_ problem: Problem) {
        update { state in
            state.problemCount += 1
            if state.problems.count < Self.problemLimit { state.problems.append(problem) }
        }
    }

    /// Waits until the job has ended.
    func end() async {
        await task.withLock { $0 }?.value
    }

    package func cancel() {
        task.withLock { $0 }?.cancel()
    }

    /// Starts the job on threads for long work. The job reports its progress
    /// through its argument. Called once, by ``BackgroundRuns``.
    package func start(priority: TaskPriority? = nil, _ work: @escaping @Sendable (BackgroundRun) async throws -> Void)
    {
        let running = Task.detached(executorPreference: WorkPool.lengthy, priority: priority) { [self] in
            let outcome: Outcome
            do {
                try await work(self)
                outcome = .done
            } catch is CancellationError {
                outcome = .cancelled
            } catch let error as RecordError {
                outcome = .failed(error.description)
            } catch {
                outcome = .failed("\(error)")
            }
            update { ($0.outcome, $0.ended) = (outcome, .now()) }
        }
        task.withLock { $0 = running }
    }
}

/// The running background jobs, and the results of the latest ones.
package final class BackgroundRuns: Sendable {
    /// The maximum number of concurrent jobs.
    static let runningLimit = 4
    /// The maximum number of jobs that are kept.
    package static let keptLimit = 32

    private let runs = Mutex<[BackgroundRun]>([])

    /// Starts a job. A check is not started while another one of the same place is running.
    /// - Throws: `RecordError` TRY_AGAIN_LATER if the maximum number of jobs is running.
    package func start(
        _ run: BackgroundRun, priority: TaskPriority? = nil,
        _ work: @escaping @Sendable (BackgroundRun) async throws -> Void
    ) throws {
        let isStarted: Bool? = runs.withLock { runs in
            if run.check != nil, runs.contains(where: { $0.check != nil && $0.place == run.place && !$0.isOver }) {
                return nil
            }
            if !run.isLasting, runs.count(where: { !$0.isOver && !$0.isLasting }) >= Self.runningLimit { return false }
            runs.append(run)
            while runs.count > Self.keptLimit, let oldest = runs.firstIndex(where: \.isOver) { runs.remove(at: oldest) }
            return true
        }
        guard let isStarted else { return }
        guard isStarted else {
            throw RecordError(
                .tryAgainLater, "\(Self.runningLimit) background jobs are running; wait until one ends", retryAfter: 5)
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

// MARK: - Findings of a check

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
