internal import Accounts
internal import CloudKitClient
package import Console
internal import DataTransfer
internal import RecordStore
internal import Records
internal import RemoteRecordStore

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
    let complaint: PageError?
    let progress: Progress?
    let isRunning: Bool
    let start: String
    let stop: String
    let files: [Choice]
    let types: String
    let pulls: [PullRow]
    /// How sure the copy's schema is; `nil` if a file declares all of it, or nothing is there.
    let evidence: String?

    static func load(_ visit: Visit, jobs: MirrorJobs, complaint: RecordError?) async throws -> MirrorView {
        let connection = try MirrorActions.connection(visit)
        guard let copy = connection.container.mirror else {
            throw RecordError(
                .badRequest,
                "The name of \(connection.container) is too long for a mirror with a name made from it; use skylight mirror --into"
            )
        }
        let job = jobs.job(of: connection)
        var pulls: [PullHistoryEntry] = []
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
            address: DatabaseAddress(
                container: copy, environment: connection.environment, scope: visit.place.address.scope), user: nil,
            zone: .unspecified)
        // The pull may end meanwhile, so its state is read once.
        let progress = job.map { Progress($0) }
        let chosen = visit.fields["files"] ?? MirrorOptions.Files.onDemand.rawValue
        return MirrorView(
            origin: connection.place, copy: copy.description, records: exists ? place.link(Tab.query.rawValue) : nil,
            unsent: place.link(Tab.unsent.rawValue),
            complaint: complaint.map { PageError($0) }, progress: progress, isRunning: progress?.isLive ?? false,
            start: visit.place.link("mirror/start"),
            stop: visit.place.link("mirror/stop"),
            files: MirrorOptions.Files.allCases.map {
                Choice($0.rawValue, $0.words, isSelected: $0.rawValue == chosen)
            },
            types: visit.fields["types"] ?? "", pulls: pulls.prefix(20).map { PullRow($0) }, evidence: evidence)
    }
}

extension MirrorView.Progress {
    fileprivate init(_ job: MirrorJobs.Job) {
        let (now, run) = (job.now, job.run.now)
        let isPausing = job.follows && now.ended != nil
        (state, tone) =
            switch run.outcome {
            case nil: (job.follows ? "following" : "running", "modified")
            case .done: now.report.map(\.problems.isEmpty) ?? true ? ("done", "good") : ("done, with problems", "warn")
            case .cancelled: ("stopped", "warn")
            case .failed: ("failed", "bad")
            }
        isLive = run.outcome == nil
        let rest = now.failure == nil ? "up to date \(now.ended?.agoText(at: .now()) ?? "")" : "waiting to try again"
        stage = run.outcome != nil ? nil : isPausing ? rest : now.progress?.stage.words
        received = Digits.grouped(now.progress?.records ?? 0)
        rate = now.progress.map { Digits.grouped(Int($0.rate())) } ?? "0"
        files = now.progress.flatMap {
            $0.files == 0 ? nil : "\(Digits.grouped($0.files)), \(Digits.bytes($0.fileBytes))"
        }
        requests = Digits.grouped(now.progress?.requests ?? 0)
        answering = now.progress.map { "\($0.answering.millisecondsText) ms" } ?? "–"
        pause = now.progress?.pausedUntil.flatMap { moment in
            let left = moment - .now
            guard left > .zero, run.outcome == nil else { return nil }
            let until = Timestamp(milliseconds: Timestamp.now().milliseconds + Int64(left / .milliseconds(1)))
            return "waiting for iCloud’s limit until \(until.utcText.dropFirst(11).prefix(8)) UTC"
        }
        outcome = now.report.map {
            "\(Digits.grouped($0.outcome.saved)) saved, \(Digits.grouped($0.outcome.deleted)) deleted, \(Digits.grouped($0.outcome.unchanged)) unchanged, "
                + Digits.count($0.outcome.conflicts.count, "conflict")
        }
        let refused = RecordFinding.encryptedInPublic(now.report?.outcome.encryptedInPublic ?? 0)
        problems = (now.report?.problems.prefix(50).map(\.description) ?? []) + (refused.map { [$0] } ?? [])
        failure = if case .failed(let reason)? = run.outcome { reason } else { now.failure }
    }
}

extension MirrorView.PullRow {
    fileprivate init(_ pull: PullHistoryEntry) {
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

// MARK: - Actions

/// Starts and stops the pulls of mirrors, and sends what changed in them.
package struct MirrorActions: Sendable {
    /// The pause between two pulls that follow each other.
    private static let pause: Duration = .seconds(30)

    private let jobs: MirrorJobs

    package init(_ console: Console) { jobs = MirrorJobs(console.accounts) }

    package func show(_ visit: Visit) async throws -> Answer {
        .page(try await MirrorView.load(visit, jobs: jobs, complaint: nil))
    }

    package func start(_ visit: Visit) async throws -> Answer {
        let connection = try Self.connection(visit)
        do {
            let schema = try Self.schema(visit.fields)
            if let schema { try visit.connections?.engine(of: connection)?.learnIndexes(from: schema) }
            let mirror = try await visit.mirror(of: connection) { options in
                options.files = visit.fields["files"].flatMap { MirrorOptions.Files(rawValue: $0) } ?? .onDemand
                options.publicTypes = Set(
                    (visit.fields["types"] ?? "").split { $0 == "," || $0.isWhitespace }.map { Name(String($0)) })
                options.schema = schema
            }
            let back = Frame.Link(text: "Mirror", href: visit.place.link(Tab.mirror.rawValue))
            let follows = visit.fields["follow"] != nil
            let run = BackgroundRun(
                heading: "Mirror \(connection.place)", verb: "received", total: 0, place: visit.place, back: back,
                isLasting: follows)
            let job = MirrorJobs.Job(run, follows: follows)
            try jobs.begin(job, of: connection)
            do {
                try visit.console.runs.start(run) { [jobs] _ in
                    try await Self.pull(mirror, job) { try await jobs.turn(at: connection, $0) }
                }
            } catch {
                jobs.remove(job, of: connection)
                throw error
            }
        } catch let error as RecordError {
            return .page(try await MirrorView.load(visit, jobs: jobs, complaint: error))
        }
        return .redirect(visit.place.link(Tab.mirror.rawValue))
    }

    package func stop(_ visit: Visit) throws -> String {
        jobs.job(of: try Self.connection(visit))?.run.cancel()
        return visit.place.link(Tab.mirror.rawValue)
    }

    /// Fetches the files of a record that the mirror lacks.
    package func fetchFiles(_ visit: Visit) async throws -> String {
        let connection = try visit.mirroredConnection()
        guard let name = visit.fields.text("name").map({ Name($0) }), let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The form needs the record's name and its zone")
        }
        let mirror = try await visit.mirror(of: connection)
        do {
            _ = try await jobs.turn(at: connection) {
                try await mirror.fetchFiles(
                    of: RecordID(recordName: name, zoneID: zoneID), in: visit.place.address.scope)
            }
        } catch let failure as CloudKitFailure {
            throw RecordError(.tryAgainLater, "The files could not be fetched: \(failure)")
        } catch let error as ServerError {
            throw RecordError(.notFound, "The files could not be fetched: \(error)")
        }
        return visit.place.link(toRecord: name, in: zoneID)
    }

    /// Sends all changes that are in no conflict, in the background.
    package func send(_ visit: Visit) async throws -> String { try await UnsentActions.send(visit, jobs: jobs) }

    /// - Throws: `RecordError` NOT_FOUND for a container of this machine.
    static func connection(_ visit: Visit) throws -> ContainerConnection {
        guard let connection = visit.connection else {
            throw RecordError(
                .notFound,
                "\(visit.place.address.container) is on this machine already; mirrors are of connected containers")
        }
        return connection
    }

    // MARK: Parts

    private static func pull(
        _ mirror: ContainerMirror, _ job: MirrorJobs.Job,
        inTurn: @Sendable (@Sendable () async throws -> PullReport) async throws -> PullReport
    ) async throws {
        let progress = mirror.progress
        let watch = Task { for await value in progress { job.update { $0.progress = value } } }
        defer { watch.cancel() }
        while true {
            // The pull before has ended, and this one has not.
            job.update { $0.ended = nil }
            do {
                let report = try await inTurn { try await mirror.pull() }
                job.update { ($0.report, $0.ended, $0.failure) = (report, .now(), nil) }
            } catch let failure as CloudKitFailure where failure.kind == .cancelled {
                throw CancellationError()
            } catch let failure as CloudKitFailure where job.follows && failure.isPassing {
                job.update { ($0.ended, $0.failure) = (.now(), "\(failure)") }
            }
            guard job.follows else { return }
            try await Task.sleep(for: pause)
        }
    }

    /// The schema file of the form; `nil` if none was chosen.
    private static func schema(_ fields: FormFields) throws -> Schema? {
        guard let text = fields.text("file"), !text.trimmingSpaces.isEmpty else { return nil }
        do {
            return try Schema(text: text)
        } catch let error as RecordError {
            throw error
        } catch {
            throw RecordError(.badRequest, "The schema file can't be read: \(error)")
        }
    }
}
