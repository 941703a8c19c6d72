internal import RecordStore
internal import Records

/// The progress and the result of a background job.
package struct RunView: Page {
    package static let template = "run"
    package static let tab = Tab.query

    struct ProblemRow: ViewModel {
        let subject: String
        let href: String?
        let code: String?
        let reason: String
    }

    package let frameTab: Tab
    package let title: String
    let isLive: Bool
    /// The final announcement of the live region.
    let announcement: String
    let phase: String?
    let done: String
    let total: String
    let value: String
    let maximum: String
    let percent: String
    let verb: String
    let achieved: String
    let completesAll: Bool
    let skipped: String?
    let state: String
    let tone: String
    let failure: String?
    let notes: [String]
    let problems: [ProblemRow]
    /// `2 errors`, `2 rows`.
    let problemCount: String?
    /// `failed`, `skipped`.
    let problemVerb: String
    let problemTone: String
    let problemTitle: String?
    let moreProblems: String?
    let cancel: String
    let id: String
    let back: Frame.Link
    let results: [Frame.Link]
    let milliseconds: String

    package static func load(_ visit: Visit, runs: BackgroundRuns) throws -> RunView {
        let run = try runs.run(visit.fields["id"] ?? "", at: visit.place)
        let state = run.now
        return RunView(run, state, visit)
    }

    private init(_ run: BackgroundRun, _ state: BackgroundRun.State, _ visit: Visit) {
        frameTab = run.tab
        title = run.heading
        isLive = state.ending == nil
        announcement = "\(run.heading): ended"
        phase = state.phase
        done = Digits.grouped(state.done)
        total = Digits.grouped(state.total)
        let isOver = state.ending == .done
        value = String(isOver ? max(state.total, 1) : state.done)
        maximum = String(max(state.total, 1))
        percent = String(isOver ? 100 : state.total == 0 ? 0 : min(100, state.done * 100 / state.total))
        verb = run.verb
        achieved = Digits.grouped(state.achieved)
        completesAll = run.completesAll
        skipped = state.skipped == 0 ? nil : Digits.grouped(state.skipped)
        (self.state, tone) =
            switch state.ending {
            case nil: ("running", "modified")
            case .done: state.problemCount == 0 || run.problems == .skippedRows ? ("done", "good") : ("done, with errors", "warn")
            case .cancelled: ("cancelled", "warn")
            case .failed: ("failed", "bad")
            }
        failure = if case .failed(let reason)? = state.ending { reason } else { nil }
        notes = state.notes
        problems = state.problems.map { ProblemRow(subject: $0.subject, href: $0.href, code: $0.code, reason: $0.reason) }
        let count = state.problemCount
        (problemVerb, problemTone, problemCount, problemTitle) =
            switch run.problems {
            case _ where count == 0: ("", "", nil, nil)
            case .failures: ("failed", "bad", Digits.count(count, "error"), Digits.count(count, "error"))
            case .skippedRows: ("skipped", "warn", Digits.count(count, "row"), "Skipped \(Digits.count(count, "row"))")
            }
        let left = state.problemCount - state.problems.count
        moreProblems = left > 0 ? "… and \(Digits.grouped(left)) more" : nil
        cancel = visit.place.link("run/cancel")
        id = run.id
        back = run.back
        results = isOver ? run.results : []
        milliseconds = visit.stopwatch.elapsed.millisecondsText
    }

    /// Cancels a job. Completed work stays.
    package static func cancel(_ visit: Visit, runs: BackgroundRuns) throws -> String {
        let run = try runs.run(visit.fields["id"] ?? "", at: visit.place)
        run.cancel()
        return visit.place.link("run", [("id", run.id)])
    }
}
