internal import Accounts
internal import RecordStore
internal import Records
internal import RemoteRecordStore
internal import RequestLog

/// The texts beside the entries of the sidebar: the record counts of the types, and states such as `3 failed`.
///
/// A badge counts only what someone should look at, never what is merely new. No page waits for them: they come from
/// memory, from the list of the index jobs, and from counts that the store keeps.
struct SidebarStates {
    private var states: [Tab: Frame.State] = [:]
    /// The record counts by type, in the zones of the place; `nil` if they are not known at once. In an earlier state,
    /// those that the page has read.
    let counts: [Name: Int]?

    /// - Parameters:
    ///   - check: the latest check of the place.
    ///   - faults: the number of faults that are injected at present.
    init(_ visit: Visit, check: BackgroundRun?, faults: Int) async {
        counts = if let earlier = visit.earlier { earlier.counts.read } else { await visit.recordCounts() }
        let (address, now) = (visit.place.address, Timestamp.now())
        let failed = visit.log.errors(
            in: address.container, address.environment, since: visit.log.startOfRecent(at: now))
        if failed > 0 {
            states[.requests] = Frame.State(
                text: "\(Digits.grouped(failed)) failed", rest: "in the last hour", tone: "bad",
                list: visit.place.link(
                    Tab.requests.rawValue, [("in", "container"), ("errors", RequestLog.recentErrors)]))
        }
        let stuck = Self.stuckClients(of: visit.log, in: address, at: now)
        if stuck > 0 {
            states[.sync] = Frame.State(
                text: "\(Digits.grouped(stuck)) stuck", rest: stuck == 1 ? "client" : "clients", tone: "bad")
        }
        let builds = await Self.indexBuilds(visit)
        if builds > 0 {
            states[.types] = Frame.State(
                text: "\(Digits.count(builds, "index", plural: "indexes")) building", rest: nil, tone: "modified")
        }
        if let check { states[.check] = Self.state(of: check) }
        if faults > 0 {
            states[.rehearsals] = Frame.State(
                text: "\(Digits.grouped(faults)) on", rest: "for clients of this server", tone: "warn")
        }
    }

    subscript(entry: Tab) -> Frame.State? { states[entry] }

    /// The clients of the environment that need someone, see ``ClientHistory/isStuck(at:_:)``.
    private static func stuckClients(of log: RequestLog, in address: DatabaseAddress, at now: Timestamp) -> Int {
        let histories = log.clients.histories(in: address.container, address.environment)
        if histories.isEmpty { return 0 }
        let delivered = Dictionary(
            grouping: log.notifications.latest { notification in
                guard case .delivered(let moment) = notification.outcome else { return false }
                let there = notification.address
                return there.container == address.container && there.environment == address.environment
                    && now.milliseconds - moment.milliseconds < ClientHistory.attention
            }, by: \.user)
        return histories.count { $0.isStuck(at: now, delivered[$0.user] ?? []) }
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
        return problems == 0
            ? nil
            : Frame.State(text: Digits.count(problems, "problem"), rest: "found by the latest check", tone: "warn")
    }
}

// MARK: - Banners

/// The banner on every page of a container in iCloud, of the mirror of one, or of one whose requests are passed on, so
/// that users never mistake one for the other.
struct ConnectionBanner: ViewModel {
    /// `iCloud · production · read-only`
    let title: String
    /// The style of the environment.
    let tone: String
    let note: String
    let link: Frame.Link

    /// - Returns: `nil` for other containers.
    init?(_ visit: Visit) {
        if let connection = visit.connection {
            title = "iCloud · \(connection.environment.rawValue) · \(connection.isReadOnly ? "read-only" : "writable")"
            tone = connection.environment.rawValue
            let reading = visit.stopwatch.cloudKit.reading
            let pauses = reading.waiting == .zero ? "" : ", and \(reading.waiting.millisecondsText) ms of pauses"
            note =
                reading.requests == 0
                ? connection.container.description
                : "\(connection.container): \(Digits.count(reading.requests, "request")) to iCloud took \(reading.answering.millisecondsText) ms\(pauses)"
            link = Frame.Link(text: "Mirror", href: visit.place.link("mirror"))
        } else if let origin = visit.origin {
            title = "Mirror"
            tone = ""
            note = "a copy of \(origin.place) on this machine"
            link = Frame.Link(text: "Not sent", href: visit.place.link(Tab.unsent.rawValue))
        } else if visit.console.proxied == visit.place.address.container {
            title = "Passed on to iCloud"
            tone = ""
            note =
                "Requests shows what apps ask iCloud. The other pages show what is stored on this machine, which is something else"
            link = Frame.Link(text: "Requests", href: visit.place.link(Tab.requests.rawValue))
        } else {
            return nil
        }
    }
}

/// The banner above every page while faults are injected, so that users don't mistake them for real errors.
struct FaultBanner: ViewModel {
    struct Item: ViewModel {
        let text: String
        let note: String
    }

    let items: [Item]
    /// A note about faults that the banner omits.
    let more: String?

    /// The maximum number of faults in the banner.
    private static let limit = 4

    /// - Returns: `nil` if no faults are active.
    init?(_ running: [ActiveFault]) {
        if running.isEmpty { return nil }
        items = running.prefix(Self.limit).map { running in
            Item(
                text: running.fault.title,
                note: [
                    running.items?.description,
                    running.struck > 0 ? "struck \(Digits.count(running.struck, "time"))" : nil,
                    running.remaining.map { Digits.count($0, "more time") },
                    running.area.description, running.until.map { "until \($0.utcText) UTC" },
                ].compactMap(\.self).joined(separator: ", "))
        }
        more = running.count > Self.limit ? "and \(Digits.grouped(running.count - Self.limit)) more" : nil
    }
}
