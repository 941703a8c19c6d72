internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The states beside the entries of the navigation, such as `3 errors`.
///
/// A badge counts only what someone should look at, never what is merely new. No page waits for them: they come from memory, and from the list of
/// the index jobs.
struct SectionStates {
    private var states: [Tab.Section: Frame.State] = [:]

    /// The age in milliseconds up to which errors count.
    private static let errorAge: Int64 = 3_600_000

    /// - Parameters:
    ///   - check: the latest check of the place.
    ///   - faults: the number of faults that are injected at present.
    init(_ visit: Visit, check: BackgroundRun?, faults: Int) async {
        let (address, now) = (visit.place.address, Timestamp.now())
        let errors = visit.log.errors(in: address.container, address.environment, since: Timestamp(milliseconds: now.milliseconds - Self.errorAge))
        if errors > 0 { states[.requests] = Frame.State(text: Digits.count(errors, "error"), rest: "in the last hour", tone: "bad") }
        let stuck = Self.stuckClients(of: visit.log, in: address, at: now)
        if stuck > 0 { states[.clients] = Frame.State(text: "\(Digits.grouped(stuck)) stuck", rest: stuck == 1 ? "client" : "clients", tone: "bad") }
        let builds = await Self.indexBuilds(visit)
        if builds > 0 { states[.schema] = Frame.State(text: "\(Digits.count(builds, "index", plural: "indexes")) building", rest: nil, tone: "modified") }
        if let check { states[.health] = Self.state(of: check) }
        if faults > 0 { states[.rehearsals] = Frame.State(text: "\(Digits.grouped(faults)) on", rest: "for clients of this server", tone: "warn") }
    }

    subscript(section: Tab.Section) -> Frame.State? { states[section] }

    /// The clients of the environment that need someone, see ``ClientHistory/isStuck(at:_:)``.
    private static func stuckClients(of log: RequestLog, in address: DatabaseAddress, at now: Timestamp) -> Int {
        let histories = log.clients.histories(in: address.container, address.environment)
        if histories.isEmpty { return 0 }
        let told = Dictionary(
            grouping: log.notifications.latest { notification in
                guard case .delivered(let moment) = notification.fate else { return false }
                let there = notification.address
                return there.container == address.container && there.environment == address.environment
                    && now.milliseconds - moment.milliseconds < ClientHistory.attention
            }, by: \.user)
        return histories.count { $0.isStuck(at: now, told[$0.user] ?? []) }
    }

    private static func indexBuilds(_ visit: Visit) async -> Int {
        // A page is shown without the state if the store can't tell it.
        guard visit.connection == nil, let works = try? await visit.indexWorks() else { return 0 }
        return works.builds.count { $0.work == .building }
    }

    /// - Returns: `nil` for a check that found nothing.
    private static func state(of run: BackgroundRun) -> Frame.State? {
        if !run.isOver { return Frame.State(text: "checking", rest: "the records", tone: "modified") }
        let problems = run.check?.now.progress.findings ?? 0
        return problems == 0 ? nil : Frame.State(text: Digits.count(problems, "problem"), rest: "found by the latest check", tone: "warn")
    }
}
