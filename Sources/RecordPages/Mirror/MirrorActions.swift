internal import Accounts
internal import CloudKitClient
internal import CloudKitRecordStore
internal import Console
internal import JSON
internal import Mirroring
internal import Records
internal import RecordStore
internal import Text

/// Starts and stops the pulls of a mirror.
enum MirrorActions {
    /// The pause between two pulls that follow each other.
    private static let pause: Duration = .seconds(30)

    static func start(_ visit: Visit, runs: BackgroundRuns, jobs: MirrorJobs) async throws -> Answer {
        let connection = try connection(visit)
        do {
            let schema = try schema(visit.fields)
            if let schema { try visit.connections?.engine(of: connection)?.learnIndexes(from: schema) }
            let mirror = try await visit.mirror(of: connection) { options in
                options.files = visit.fields["files"].flatMap { MirrorOptions.Files(rawValue: $0) } ?? .onDemand
                options.publicTypes = Set((visit.fields["types"] ?? "").split { $0 == "," || $0.isWhitespace }.map { Name(String($0)) })
                options.schema = schema
            }
            let back = Frame.Link(text: "Mirror", href: visit.place.link(Tab.mirror.rawValue))
            let follows = visit.fields["follow"] != nil
            let run = BackgroundRun(
                heading: "Mirror \(connection.place)", verb: "received", total: 0, place: visit.place, back: back, isLasting: follows)
            let job = MirrorJobs.Job(run, follows: follows)
            try jobs.begin(job, of: connection)
            do {
                try runs.start(run) { _ in try await pull(mirror, job) { try await jobs.turn(at: connection, $0) } }
            } catch {
                jobs.remove(job, of: connection)
                throw error
            }
        } catch let error as RecordError {
            return .page(try await MirrorView.load(visit, jobs: jobs, complaint: error))
        }
        return .redirect(visit.place.link(Tab.mirror.rawValue))
    }

    static func stop(_ visit: Visit, jobs: MirrorJobs) throws -> String {
        jobs.job(of: try connection(visit))?.run.cancel()
        return visit.place.link(Tab.mirror.rawValue)
    }

    /// Fetches the files of a record that the mirror lacks.
    static func fetchFiles(_ visit: Visit, jobs: MirrorJobs) async throws -> String {
        let connection = try visit.mirroredConnection()
        guard let name = visit.fields.text("name").map({ Name($0) }), let zoneID = visit.place.zoneID else {
            throw RecordError(.badRequest, "The form needs the record's name and its zone")
        }
        let mirror = try await visit.mirror(of: connection)
        do {
            _ = try await jobs.turn(at: connection) {
                try await mirror.fetchFiles(of: RecordID(recordName: name, zoneID: zoneID), in: visit.place.address.scope)
            }
        } catch let failure as CloudKitFailure {
            throw RecordError(.tryAgainLater, "The files could not be fetched: \(failure)")
        } catch let error as ServerError {
            throw RecordError(.notFound, "The files could not be fetched: \(error)")
        }
        return visit.place.link(toRecord: name, in: zoneID)
    }

    /// - Throws: `RecordError` NOT_FOUND for a container of this machine.
    static func connection(_ visit: Visit) throws -> ContainerConnection {
        guard let connection = visit.connection else {
            throw RecordError(.notFound, "\(visit.place.address.container) is on this machine already; mirrors are of connected containers")
        }
        return connection
    }

    // MARK: Parts

    private static func pull(
        _ mirror: ContainerMirror, _ job: MirrorJobs.Job, inTurn: @Sendable (@Sendable () async throws -> PullReport) async throws -> PullReport
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
