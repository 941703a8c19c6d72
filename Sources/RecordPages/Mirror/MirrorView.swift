internal import Accounts
internal import Console
internal import JSON
internal import Mirroring
internal import Records
internal import RecordStore

/// The page Mirror of a connected container: the copy on this machine, its pulls, and the form for the next one.
struct MirrorView: Page {
    static let template = "mirror"
    static let tab = Tab.mirror

    /// A running pull, or the end of the latest one.
    struct Progress: ViewModel {
        let state: String
        let tone: String
        let isLive: Bool
        let stage: String?
        let received: String
        let rate: String
        let files: String?
        let requests: String
        /// The part of the time in which the origin answered.
        let answering: String
        /// `waiting for iCloud's limit until 14:02:10`; `nil` if there is no pause.
        let pause: String?
        /// The result of the latest pull.
        let outcome: String?
        let problems: [String]
        let failure: String?
    }

    struct PullRow: ViewModel {
        let ended: ValueView
        let saved: String
        let deleted: String
        let conflicts: String
        let problems: String
        let requests: String
        let seconds: String
    }

    let title = Self.tab.title
    let origin: String
    /// The container of the copy.
    let copy: String
    /// The copy's records; `nil` before the first pull.
    let records: String?
    let unsent: String
    let complaint: Complaint?
    let progress: Progress?
    let isRunning: Bool
    let start: String
    let stop: String
    let files: [Choice]
    let types: String
    let pulls: [PullRow]
    /// How sure the copy's schema is; `nil` if a file declares all of it, or nothing is there.
    let evidence: String?
    let milliseconds: String

    static func load(_ visit: Visit, jobs: MirrorJobs, complaint: RecordError? = nil) async throws -> MirrorView {
        let connection = try MirrorActions.connection(visit)
        guard let copy = connection.container.mirror else {
            throw RecordError(.badRequest, "The name of \(connection.container) is too long for a mirror with a name made from it; use skylight mirror --into")
        }
        let job = jobs.job(of: connection)
        var pulls: [PastPull] = []
        var evidence: String?
        let exists = try await visit.measure { try await visit.engine.has(copy, connection.environment) }
        if exists {
            let mirror = try await visit.mirror(of: connection)
            pulls = try await visit.measure { try await mirror.history() }
            let schema = try await visit.measure { try await mirror.schemaEvidence() }
            let observed = schema.types.values.count { $0.source == .observed }
            if !schema.isComplete, !schema.types.isEmpty {
                evidence =
                    "\(observed) of \(Digits.count(schema.types.count, "type")) known only from records. "
                    + "Fields that no record has are unknown; a schema file adds them."
            }
        }
        let place = Place(
            address: DatabaseAddress(container: copy, environment: connection.environment, scope: visit.place.address.scope), user: nil, zone: .unspecified)
        // The pull may end meanwhile, so its state is read once.
        let progress = job.map { Progress($0) }
        let chosen = visit.fields["files"] ?? MirrorOptions.Files.onDemand.rawValue
        return MirrorView(
            origin: connection.place, copy: copy.description, records: exists ? place.link(Tab.query.rawValue) : nil, unsent: place.link(Tab.unsent.rawValue),
            complaint: complaint.map { Complaint($0) }, progress: progress, isRunning: progress?.isLive ?? false, start: visit.place.link("mirror/start"),
            stop: visit.place.link("mirror/stop"),
            files: MirrorOptions.Files.allCases.map { Choice($0.rawValue, $0.words, isSelected: $0.rawValue == chosen) },
            types: visit.fields["types"] ?? "", pulls: pulls.prefix(20).map { PullRow($0) }, evidence: evidence,
            milliseconds: visit.stopwatch.elapsed.millisecondsText)
    }
}

extension MirrorView.Progress {
    fileprivate init(_ job: MirrorJobs.Job) {
        let (now, run) = (job.now, job.run.now)
        let isPausing = job.follows && now.ended != nil
        (state, tone) =
            switch run.ending {
            case nil: (job.follows ? "following" : "running", "modified")
            case .done: now.report.map(\.problems.isEmpty) ?? true ? ("done", "good") : ("done, with problems", "warn")
            case .cancelled: ("stopped", "warn")
            case .failed: ("failed", "bad")
            }
        isLive = run.ending == nil
        let rest = now.failure == nil ? "up to date \(now.ended?.agoText(at: .now()) ?? "")" : "waiting to try again"
        stage = run.ending != nil ? nil : isPausing ? rest : now.progress?.stage.words
        received = Digits.grouped(now.progress?.records ?? 0)
        rate = now.progress.map { Digits.grouped(Int($0.rate())) } ?? "0"
        files = now.progress.flatMap { $0.files == 0 ? nil : "\(Digits.grouped($0.files)), \(Digits.bytes($0.fileBytes))" }
        requests = Digits.grouped(now.progress?.requests ?? 0)
        answering = now.progress.map { "\($0.answering.millisecondsText) ms" } ?? "–"
        pause = now.progress?.pausedUntil.flatMap { moment in
            let left = moment - .now
            guard left > .zero, run.ending == nil else { return nil }
            let until = Timestamp(milliseconds: Timestamp.now().milliseconds + Int64(left / .milliseconds(1)))
            return "waiting for iCloud’s limit until \(until.utcText.dropFirst(11).prefix(8)) UTC"
        }
        outcome = now.report.map {
            "\(Digits.grouped($0.outcome.saved)) saved, \(Digits.grouped($0.outcome.deleted)) deleted, \(Digits.grouped($0.outcome.unchanged)) unchanged, "
                + Digits.count($0.outcome.conflicts.count, "conflict")
        }
        let refused = RecordFinding.encryptedInPublic(now.report?.outcome.encryptedInPublic ?? 0)
        problems = (now.report?.problems.prefix(50).map(\.description) ?? []) + (refused.map { [$0] } ?? [])
        failure = if case .failed(let reason)? = run.ending { reason } else { now.failure }
    }
}

extension MirrorView.PullRow {
    fileprivate init(_ pull: PastPull) {
        ended = ValueView(.time(pull.ended))
        saved = Digits.grouped(pull.saved)
        deleted = Digits.grouped(pull.deleted)
        conflicts = Digits.grouped(pull.conflicts)
        problems = Digits.grouped(pull.problems)
        requests = Digits.grouped(pull.requests)
        seconds = Digits.fixed(Double(pull.ended.milliseconds - pull.started.milliseconds) / 1000, 1)
    }
}

extension MirrorProgress.Stage {
    fileprivate var words: String {
        switch self {
        case .starting: "starting"
        case .listingZones(let scope): "listing the changed zones of the \(scope.rawValue) database"
        case .zone(let zoneID, let scope): "zone \(zoneID.zoneName) of the \(scope.rawValue) database"
        case .type(let name): "type \(name) of the public database"
        case .comparingNames: "comparing names, to find deletions"
        case .sending: "sending changes"
        }
    }
}

extension MirrorOptions.Files {
    fileprivate var words: String {
        switch self {
        case .all: "all files"
        case .none: "no files"
        case .onDemand: "files on demand"
        }
    }
}
