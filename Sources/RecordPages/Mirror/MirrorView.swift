internal import Accounts
internal import CloudKitClient
package import Console
internal import DataTransfer
internal import RecordStore
internal import Records
internal import RemoteRecordStore

/// The page Mirror of a connected container: the copy on this machine, its pulls, and the form for the next one.
enum MirrorView {
    /// The maximum number of problems, and of earlier pulls, that the page lists.
    private static let problemLimit = 50
    private static let pullLimit = 20

    static func load(_ visit: Visit, jobs: MirrorJobs, complaint: RecordError?) async throws -> ComponentPage {
        let connection = try MirrorActions.connection(visit)
        guard let copy = connection.container.mirror else {
            throw RecordError(
                .badRequest,
                "The name of \(connection.container) is too long for a mirror with a name made from it; use skylight mirror --into"
            )
        }
        let job = jobs.job(of: connection)
        // The pull may end meanwhile, so its state is read once.
        let progress = job.map { Self.progress($0, visit) }
        var pulls: [PullHistoryEntry] = []
        var evidence: Paragraph?
        let exists = try await visit.measure { try await visit.engine.has(copy, connection.environment) }
        if exists {
            let mirror = try await visit.mirror(of: connection)
            pulls = try await visit.measure { try await mirror.history() }
            evidence = Self.evidence(try await visit.measure { try await mirror.schemaEvidence() })
        }
        let place = Place(
            address: DatabaseAddress(
                container: copy, environment: connection.environment, scope: visit.place.address.scope), user: nil,
            zone: .unspecified)
        var parts: [any Component] = complaint.map { [Note(refusing: PageError($0))] } ?? []
        if let progress { parts.append(progress) }
        if progress?.isLive != true { parts.append(form(isFirst: !exists, visit)) }
        if let evidence { parts.append(evidence) }
        if !pulls.isEmpty { parts.append(history(pulls)) }
        return ComponentPage(
            .mirror,
            PageHead(
                Tab.mirror.title,
                [
                    "A copy of \(strong: connection.place) on this machine, kept up to date: \(Inline(copy.description).styled("mono")). It has counts, the schema, queries without indexes, history and checks, also offline."
                ],
                actions: exists
                    ? [
                        .button("The copy’s records", place.link(Tab.query.rawValue)),
                        .button("Not sent", place.link(Tab.unsent.rawValue)),
                    ] : []), parts)
    }

    private static func form(isFirst: Bool, _ visit: Visit) -> Section {
        let chosen = visit.fields["files"] ?? MirrorOptions.Files.onDemand.rawValue
        return Section(
            "pull", isFirst ? "Make the mirror" : "Pull again",
            [
                Form(
                    .grid, visit.place.link("mirror/start"),
                    [
                        FormField(
                            .choice(
                                MirrorOptions.Files.allCases.map {
                                    Choice($0.rawValue, $0.words, isSelected: $0.rawValue == chosen)
                                }), "files", "Asset files"),
                        FormField(
                            .code, "types", "Public types", value: visit.fields["types"],
                            hint:
                                "CloudKit does not list the types of the public database. You need not name those of a schema file or of earlier pulls."
                        ),
                        FormField(
                            .file(accepts: ".ckdb,.txt"), "file", "Schema file", id: "schema-file",
                            hint: "A .ckdb file, as cktool exports it. The query form also learns the indexes from it."),
                        FormField(
                            .tick(isOn: false), "follow",
                            "Pull again every 30 seconds, until it is stopped or the server ends"),
                    ], button: "Pull", buttonStyle: "go")
            ])
    }

    /// How sure the copy's schema is; `nil` if a file declares all of it, or nothing is there.
    private static func evidence(_ schema: SchemaEvidence) -> Paragraph? {
        guard !schema.isComplete, !schema.types.isEmpty else { return nil }
        let observed = schema.types.values.count { $0.source == .observed }
        return .faint(
            "The copy’s schema: \(Digits.grouped(observed)) of \(Digits.count(schema.types.count, "type")) known only from records. Fields that no record has are unknown; a schema file adds them."
        )
    }

    private static func history(_ pulls: [PullHistoryEntry]) -> Section {
        Section(
            "pulls", "Latest pulls with changes",
            [
                Table(
                    "Last pulls",
                    [
                        "ended", .number("saved"), .number("deleted"), .number("conflicts"), .number("problems"),
                        .number("requests"), .number("seconds"),
                    ],
                    pulls.prefix(pullLimit).map { pull in
                        let counts = [pull.saved, pull.deleted, pull.conflicts, pull.problems, pull.requests]
                        let seconds = Double(pull.ended.milliseconds - pull.started.milliseconds) / 1000
                        return Table.Row(
                            [.time(pull.ended)] + counts.map { Inline(Digits.grouped($0)) }
                                + [Inline(Digits.fixed(seconds, 1))])
                    })
            ])
    }

    private static func progress(_ job: MirrorJobs.Job, _ visit: Visit) -> JobProgress {
        let (now, run) = (job.now, job.run.now)
        let progress = now.progress
        let isLive = run.outcome == nil
        let rest = now.failure == nil ? "up to date \(now.ended?.agoText(at: .now()) ?? "")" : "waiting to try again"
        let stage = job.follows && now.ended != nil ? rest : progress?.stage.words
        var figures = [
            JobProgress.Figure("received", Digits.grouped(progress?.records ?? 0), note: "records"),
            JobProgress.Figure("per second", progress.map { Digits.grouped(Int($0.rate())) } ?? "0"),
        ]
        if let progress, progress.files > 0 {
            figures.append(
                JobProgress.Figure(
                    "files", "\(Digits.grouped(progress.files)), \(Digits.bytes(progress.fileBytes))"))
        }
        figures += [
            JobProgress.Figure("requests", Digits.grouped(progress?.requests ?? 0)),
            JobProgress.Figure(
                "iCloud answered in", progress.map { "\($0.answering.millisecondsText) ms" } ?? "–"),
        ]
        var notes: [any Component] = []
        if isLive, let end = progress?.pausedUntil, end > .now {
            let left = end - .now
            let until = Timestamp(milliseconds: Timestamp.now().milliseconds + Int64(left / .milliseconds(1)))
            notes.append(
                Note(warning: "waiting for iCloud’s limit until \(until.utcText.dropFirst(11).prefix(8)) UTC"))
        }
        if let outcome = now.report?.outcome {
            notes.append(
                Paragraph(
                    "\(Digits.grouped(outcome.saved)) saved, \(Digits.grouped(outcome.deleted)) deleted, \(Digits.grouped(outcome.unchanged)) unchanged, \(Digits.count(outcome.conflicts.count, "conflict"))"
                ))
        }
        let failure = if case .failed(let reason)? = run.outcome { reason } else { now.failure }
        if let failure { notes.append(Note(bad: failure)) }
        let refused = RecordFinding.encryptedInPublic(now.report?.outcome.encryptedInPublic ?? 0)
        let problems =
            (now.report?.problems.prefix(problemLimit).map(\.description) ?? []) + [refused].compactMap(\.self)
        notes += problems.map { Note(warning: $0) }
        if isLive {
            notes.append(
                Form(
                    .line, visit.place.link("mirror/stop"), [], button: "Stop", buttonStyle: "danger",
                    note: "The next pull continues from there."))
        }
        return JobProgress(
            "mirroring", outcome(job, now, run), announcement: "The pull has ended", reloads: true,
            phase: isLive ? stage.map { Inline($0) } : nil, bar: nil, figures, notes)
    }

    private static func outcome(
        _ job: MirrorJobs.Job, _ now: MirrorJobs.Job.State, _ run: BackgroundRun.State
    ) -> JobProgress.Outcome {
        switch run.outcome {
        case nil: .running(job.follows ? "following" : "running")
        case .done: now.report.map(\.problems.isEmpty) ?? true ? .good() : .warn("done, with problems")
        case .cancelled: .warn("stopped")
        case .failed: .bad()
        }
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
