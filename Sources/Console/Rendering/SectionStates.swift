internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// The states beside the entries of the navigation, such as `3 errors`.
///
/// No page waits for them: they come from memory, from the zones that the page has read, and from the list of the index jobs.
struct SectionStates {
    private var states: [Tab.Section: Frame.State] = [:]

    /// The age in milliseconds up to which errors count.
    private static let errorAge: Int64 = 3_600_000

    /// - Parameters:
    ///   - check: the latest check of the place.
    ///   - faults: the number of faults that are injected at present.
    init(_ visit: Visit, check: BackgroundRun?, faults: Int) async {
        let errors = visit.log.errors(
            in: visit.place.address.container, visit.place.address.environment, since: Timestamp(milliseconds: Timestamp.now().milliseconds - Self.errorAge))
        if errors > 0 { states[.requests] = Frame.State(text: Digits.count(errors, "error"), rest: "in the last hour", tone: "bad") }
        let behind = Self.clientsBehind(visit)
        if behind > 0 { states[.clients] = Frame.State(text: "\(Digits.grouped(behind)) behind", rest: "the changes of this database", tone: "warn") }
        let builds = await Self.indexBuilds(visit)
        if builds > 0 { states[.schema] = Frame.State(text: "\(Digits.count(builds, "index", plural: "indexes")) building", rest: nil, tone: "modified") }
        if let check { states[.health] = Self.state(of: check) }
        if faults > 0 { states[.rehearsals] = Frame.State(text: "\(Digits.grouped(faults)) on", rest: "for clients of this server", tone: "warn") }
    }

    subscript(section: Tab.Section) -> Frame.State? { states[section] }

    /// The user's clients that lack changes of a zone of the database.
    private static func clientsBehind(_ visit: Visit) -> Int {
        let clients = visit.log.clients(of: visit.people.actor.userRecordName, in: visit.place.address).filter { !$0.identity.isOfSkylight }
        guard let first = clients.first else { return 0 }
        let tokens = Dictionary(visit.zones.map { (first.normalized($0.zoneID), $0.syncToken) }, uniquingKeysWith: { first, _ in first })
        return clients.count { client in
            client.feeds.contains { feed in
                guard let zoneID = feed.zoneID, let token = tokens[zoneID], let token else { return false }
                return feed.lastGiven != token || feed.moreComing
            }
        }
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
