internal import Accounts
internal import AssetStore
package import Console
internal import DataTransfer
internal import Foundation
internal import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RequestLog
internal import Synchronization

/// The page Snapshots: the saved states of the environment, and the forms that save one or open a shared one.
package enum SnapshotsView {
    package static func load(_ visit: Visit) async throws -> ComponentPage { try await load(visit, complaint: nil) }

    static func load(_ visit: Visit, complaint: RecordError?) async throws -> ComponentPage {
        let (place, address) = (visit.place, visit.place.address)
        guard visit.assets.keepsFiles(of: address.container) else {
            throw SnapshotShelf.isElsewhere(address.container)
        }
        let snapshots = try await RecordError.ofSnapshots { try visit.shelf.folder.all() }
        let logged = visit.log.latest(SnapshotActions.requestLimit) { SnapshotActions.belongs($0, to: address) }.count
        let environment = address.environment
        return ComponentPage(
            .snapshots,
            PageHead(
                Tab.snapshots.title,
                [
                    "Saved states of \(environment.rawValue) of \(strong: address.container.description): the records, zones, shares, files and schema of all users. Compare one with the current data, restore it, or share it as one file."
                ],
                forms: [
                    Form(
                        .line, place.link("snapshots/save"),
                        [
                            FormField(
                                .text, "name", "New snapshot", id: "snapshot-name",
                                value: complaint == nil ? nil : visit.fields["name"],
                                placeholder: "Before the migration", limit: Snapshot.nameLimit, isRequired: true)
                        ]
                            + (logged == 0
                                ? []
                                : [
                                    FormField(
                                        .tick(isOn: false), "requests",
                                        "with the last \(Digits.count(logged, "request"))")
                                ]),
                        button: "Save snapshot", buttonStyle: "go")
                ]),
            (complaint.map { [Note(refusing: PageError($0))] } ?? []) + [
                Table(
                    "Snapshots",
                    [
                        .column("snapshot", "name"), "saved", .number("records"), .number("users"), "files",
                        .number("requests"), .actions(),
                    ], snapshots.map { row($0, place) },
                    nothing: EmptyState(
                        "No snapshots yet", "Save one before an experiment; restoring it brings all data back.")),
                Section(
                    "shared", "Shared snapshots",
                    [
                        Paragraph(
                            "A downloaded snapshot is one file with the data of all users. Another Skylight opens it here, on its start page, or with `skylight snapshot import`."
                        ),
                        Form(
                            .line, place.link("snapshots/import"),
                            [
                                FormField(
                                    .file(accepts: ".tar,application/x-tar"), "file", "Snapshot file",
                                    isRequired: true, isLabelled: false)
                            ], button: "Import a snapshot file",
                            note: "up to \(Digits.bytes(Int64(Console.largestFile)))"),
                        Paragraph.faint("The same on the command line:"),
                        Paragraph(
                            .copyable(
                                "skylight snapshot save NAME --container \(address.container)"
                                    + (environment == .development ? "" : " --environment \(environment.rawValue)"))),
                    ]),
            ], foot: PageFooter())
    }

    private static func row(_ snapshot: Snapshot, _ place: Place) -> Table.Row {
        let name = snapshot.name
        func link(_ page: String) -> String { place.link("snapshots/\(page)", [("name", name)]) }
        let assets = snapshot.assets
        return Table.Row([
            .link(name, link("compare")), .time(snapshot.saved), Inline(Digits.grouped(snapshot.recordCount)),
            Inline(Digits.grouped(snapshot.userCount)),
            assets.references == 0
                ? .faint("none") : Inline("\(Digits.grouped(assets.references)), \(Digits.bytes(assets.bytes))"),
            snapshot.requests.map {
                .link(Digits.grouped($0), link("requests"), label: "\(Digits.grouped($0)) requests of \(name)")
            } ?? .faint("none"),
            .buttons([
                .button("Compare", link("compare"), label: "Compare \(name)"),
                Frame.Link(
                    text: "Download", href: link("file"), style: "button", label: "Download \(name) as a file",
                    isDownload: true),
                .button("Restore…", link("restore"), label: "Restore \(name)"),
                .delete(link("delete"), label: "Delete \(name)"),
            ]),
        ])
    }
}

// MARK: - Shelf

/// The snapshots of an environment, and the databases that they are of.
struct SnapshotShelf: Sendable {
    let container: ContainerID
    let environment: Records.Environment
    let engine: any RecordEngine
    let accounts: Accounts
    let assets: AssetStores

    var folder: SnapshotFolder { SnapshotFolder(in: assets.folder, container, environment) }

    /// The databases of the environment. Creates no user.
    /// - Throws: `RecordError` BAD_REQUEST for a container whose files are elsewhere.
    func source() async throws -> SnapshotSource {
        guard assets.keepsFiles(of: container) else { throw Self.isElsewhere(container) }
        var users: [ExportHeader.User] = []
        for user in accounts.users() where !user.isServerKey {
            if engine.can(.knowUsers),
                try await !engine.require(.knowUsers).knows(user.userRecordName, in: container, environment)
            {
                continue
            }
            users.append(ExportHeader.User(userRecordName: user.userRecordName, handle: user.handle))
        }
        return SnapshotSource(
            container, environment, users: users,
            transport: StoredAssets(try await assets.store(container, environment)), production: try await production()
        ) { [self] scope, user in
            let address = DatabaseAddress(container: container, environment: environment, scope: scope)
            let name = user.map { $0.handle ?? $0.userRecordName.string } ?? User.developerHandle
            // The users of a shared snapshot may be new here.
            return try await engine.database(
                address, as: Caller(userRecordName: try await accounts.existingOrNewUser(named: name).userRecordName))
        }
    }

    /// The schema of production, without creating it.
    private func production() async throws -> Schema {
        guard environment == .development, try await engine.has(container, .production) else { return .initial }
        let address = DatabaseAddress(container: container, environment: .production, scope: .public)
        let developer = try accounts.caller(named: nil, deviceID: nil)
        return try await engine.database(address, as: Caller(userRecordName: developer.userRecordName)).require(
            .showSchema
        ).schema()
    }

    static func isElsewhere(_ container: ContainerID) -> RecordError {
        RecordError(
            .badRequest,
            "\(container) is in iCloud, and snapshots are of containers on this machine. Copy it on the page Mirror, then save the mirror"
        )
    }
}

extension Visit {
    var shelf: SnapshotShelf {
        SnapshotShelf(
            container: place.address.container, environment: place.address.environment, engine: engine,
            accounts: accounts, assets: assets)
    }
}

extension RecordError {
    /// The error of a snapshot in the words of the pages.
    init(_ error: SnapshotError) {
        let code: ServerErrorCode =
            switch error.kind {
            case .invalid, .damaged, .refused: .badRequest
            case .missing: .notFound
            case .exists: .exists
            case .unwritable: .internalError
            }
        self.init(code, error.description)
    }

    /// Gives the errors of snapshots the form that pages show.
    static func ofSnapshots<Value>(_ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as SnapshotError { throw RecordError(error) }
    }
}

// MARK: - Actions

/// Saves, restores, deletes and opens snapshots. Saving and restoring are jobs in the background.
package final class SnapshotActions: Sendable {
    /// The number of requests of the log that a snapshot takes along.
    static let requestLimit = 200
    /// The time that a form waits for a job, so that most need no page of their own.
    private static let patience = Duration.seconds(2)

    private struct Key: Hashable {
        let container: ContainerID
        let environment: Records.Environment
    }

    private let runs: BackgroundRuns
    /// The environments that are being restored.
    private let restoring = Mutex<Set<Key>>([])

    package init(runs: BackgroundRuns) {
        self.runs = runs
    }

    static func belongs(_ request: ServedRequest, to address: DatabaseAddress) -> Bool {
        request.container == address.container && request.environment == address.environment
            && !request.client.isOfSkylight
    }

    // MARK: Saving

    package func save(_ visit: Visit) async throws -> Answer {
        let shelf = visit.shelf
        let folder = shelf.folder
        do {
            let name = try await RecordError.ofSnapshots { try Snapshot.checkedName(visit.fields["name"] ?? "") }
            if try await RecordError.ofSnapshots({ try folder.all() }).contains(where: { Name($0.name) == Name(name) })
            {
                throw RecordError(
                    .exists, "There is a snapshot ‘\(name)’ already: choose another name, or delete it first")
            }
            let source = try await shelf.source()
            let requests = visit.fields["requests"] == nil ? nil : Self.requests(visit)
            let run = BackgroundRun(
                heading: "Save ‘\(name)’", verb: "saved", total: 0, place: visit.place, back: back(visit.place))
            try runs.start(run) { run in
                let snapshot = try await RecordError.ofSnapshots {
                    try await folder.save(name, of: source, requests: requests) { Self.show($0, in: run) }
                }
                run.update {
                    ($0.phase, $0.done, $0.total, $0.achieved) = (
                        nil, snapshot.recordCount, snapshot.recordCount, snapshot.recordCount
                    )
                }
            }
            return .redirect(try await next(run, Notice.snapshotSaved))
        } catch let error as RecordError {
            return .page(try await SnapshotsView.load(visit, complaint: error))
        }
    }

    /// The latest requests to the environment, the latest first, with what the log has of their bodies.
    private static func requests(_ visit: Visit) -> [[UInt8]] {
        visit.log.latest(requestLimit) { belongs($0, to: visit.place.address) }.map { request in
            var writer = JSONWriter()
            writer.value(request, bodies: visit.log.bodies(of: request.id))
            return writer.bytes
        }
    }

    // MARK: Restoring

    package func restore(_ visit: Visit) async throws -> String {
        let shelf = visit.shelf
        let snapshot = try await RecordError.ofSnapshots {
            try shelf.folder.snapshot(named: visit.fields["name"] ?? "")
        }
        let run = try await restore(
            snapshot, on: shelf, total: visit.fields.number("total", in: 0...snapshot.recordCount) ?? 0,
            place: visit.place)
        return visit.place.link("run", [("id", run.id)])
    }

    private func restore(_ snapshot: Snapshot, on shelf: SnapshotShelf, total: Int, place: Place) async throws
        -> BackgroundRun
    {
        let key = Key(container: shelf.container, environment: shelf.environment)
        let source = try await shelf.source()
        let restorer = try await RecordError.ofSnapshots {
            try SnapshotRestorer(snapshot, in: shelf.folder, into: source)
        }
        guard restoring.withLock({ $0.insert(key).inserted }) else {
            throw RecordError(.tryAgainLater, "This environment is being restored; wait until that ends", retryAfter: 5)
        }
        let run = BackgroundRun(
            heading: "Restore ‘\(snapshot.name)’", verb: "restored", total: total, place: place, back: back(place))
        do {
            try runs.start(run) { [self] run in
                defer { restoring.withLock { _ = $0.remove(key) } }
                let report = try await RecordError.ofSnapshots { try await restorer.run { Self.show($0, in: run) } }
                run.update { state in
                    let count = report.saved + report.deleted
                    (state.phase, state.done, state.total, state.achieved) = (nil, count, count, report.saved)
                    state.notes = report.sentences
                }
            }
        } catch {
            restoring.withLock { _ = $0.remove(key) }
            throw error
        }
        return run
    }

    // MARK: Deleting

    package static func confirmDeletion(_ visit: Visit) async throws -> ConfirmationView {
        let snapshot = try await RecordError.ofSnapshots {
            try visit.shelf.folder.snapshot(named: visit.fields["name"] ?? "")
        }
        return ConfirmationView(
            on: .snapshots, title: "Delete the snapshot ‘\(snapshot.name)’?",
            lines: [
                "It has \(Digits.count(snapshot.recordCount, "record")). A deleted snapshot can't be restored. The records of the container stay."
            ],
            action: visit.place.link("snapshots/delete"), fields: [Frame.Hidden(name: "name", value: snapshot.name)],
            button: "Delete the snapshot",
            cancel: visit.place.link("snapshots"))
    }

    package static func delete(_ visit: Visit) async throws -> String {
        try await RecordError.ofSnapshots {
            let folder = visit.shelf.folder
            try folder.delete(folder.snapshot(named: visit.fields["name"] ?? ""))
        }
        return visit.place.link("snapshots", [Notice.snapshotDeleted.parameter])
    }

    // MARK: Shared files

    /// The snapshot as one file.
    package static func file(_ visit: Visit) async throws -> Response {
        let archive = try await RecordError.ofSnapshots {
            try SnapshotArchive(visit.shelf.folder.snapshot(named: visit.fields["name"] ?? ""))
        }
        let body = ResponseBody(contentLength: Int(clamping: archive.size)) { writer in
            try await archive.write { try await writer.write(ByteBuffer(bytes: $0)) }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/x-tar", .cacheControl: "no-store",
                .contentDisposition: "attachment; filename=\"\(archive.fileName)\"",
            ], body: body)
    }

    /// Adds a shared snapshot to those of a place.
    func add(_ file: MultipartForm.Part?, _ visit: Visit) async throws -> Answer {
        do {
            _ = try await Self.stored(file) { try await visit.shelf.folder.add($0) }
            return .redirect(visit.place.link("snapshots", [Notice.snapshotAdded.parameter]))
        } catch let error as RecordError {
            return .page(try await SnapshotsView.load(visit, complaint: error))
        }
    }

    /// Opens a shared snapshot in its own container, or in another one. An environment that is not there yet gets its
    /// state at once.
    /// - Parameter name: the name of the other container; empty for its own.
    /// - Returns: the address of the next page.
    func open(_ shared: MultipartForm.Part?, into name: String, console: Console) async throws -> String {
        try await Self.stored(shared) { [self] file in
            let origin = try SnapshotArchive.describe(file)
            guard let container = name.isEmpty ? origin.container : ContainerID(name) else {
                throw RecordError(
                    .badRequest,
                    "'container' is no container name: it starts with iCloud. and has only letters, digits, dots and hyphens"
                )
            }
            let address = DatabaseAddress(container: container, environment: origin.environment, scope: .private)
            let shelf = SnapshotShelf(
                container: container, environment: origin.environment, engine: console.engine,
                accounts: console.accounts, assets: console.assets)
            let place = Place(address: address, user: nil, zone: .unspecified)
            guard console.assets.keepsFiles(of: container) else { throw SnapshotShelf.isElsewhere(container) }
            if try await console.engine.has(container, origin.environment) {
                _ = try await shelf.folder.add(file)
                return place.link("snapshots", [Notice.snapshotAdded.parameter])
            }
            // An empty save creates the container.
            let developer = try console.accounts.caller(named: nil, deviceID: nil)
            _ = try await console.engine.database(address, as: Caller(userRecordName: developer.userRecordName)).modify(
                ModifyRequest([]))
            let snapshot = try await shelf.folder.add(file)
            let run = try await restore(snapshot, on: shelf, total: snapshot.recordCount, place: place)
            return place.link("run", [("id", run.id)])
        }
    }

    /// Stores an uploaded file for as long as some work takes. The work gets a URL whose relative path, which messages
    /// show, is the user's file name.
    private static func stored<Value>(_ file: MultipartForm.Part?, _ work: (URL) async throws -> Value) async throws
        -> Value
    {
        guard let file, !file.bytes.isEmpty else {
            throw RecordError(.badRequest, "'file' is empty: choose the file of a snapshot")
        }
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "skylight-upload-\(UUID().uuidString)", directoryHint: .isDirectory)
        let url = URL(filePath: AssetFileName.safe(file.fileName ?? ""), relativeTo: folder)
        // A folder that can't be removed stays in the system's folder for temporary ones.
        defer { try? FileManager.default.removeItem(at: folder) }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            // Not atomically, which would wait for the disk: nobody else knows the file, and it is soon gone.
            try Data(file.bytes).write(to: url, options: .withoutOverwriting)
        } catch {
            throw RecordError.noTemporaryFile("The file was not read")
        }
        return try await RecordError.ofSnapshots { try await work(url) }
    }

    // MARK: Jobs

    private func back(_ place: Place) -> Frame.Link {
        Frame.Link(text: "Snapshots", href: place.link(Tab.snapshots.rawValue))
    }

    private static func show(_ progress: SnapshotProgress, in run: BackgroundRun) {
        run.update { state in
            state.phase = progress.phase.rawValue
            if progress.phase == .restoring { (state.done, state.achieved) = (progress.count, progress.count) }
        }
    }

    /// The page after a form: the list if the job ended well at once, or else the job.
    private func next(_ run: BackgroundRun, _ notice: Notice) async throws -> String {
        let end = ContinuousClock.now + Self.patience
        while !run.isOver, .now < end { try await Task.sleep(for: .milliseconds(20)) }
        return run.now.outcome == .done
            ? run.place.link(Tab.snapshots.rawValue, [notice.parameter]) : run.place.link("run", [("id", run.id)])
    }
}

extension SnapshotRestoreReport {
    /// The result in sentences.
    fileprivate var sentences: [String] {
        var sentences = ["\(Digits.count(saved, "record")) saved, \(Digits.count(deleted, "record")) deleted."]
        if deletedZones > 0 { sentences.append("\(Digits.count(deletedZones, "zone")) deleted.") }
        if schemaChanges > 0 { sentences.append("\(Digits.count(schemaChanges, "schema change")).") }
        if hasExpiredTokens {
            sentences.append("All change tokens have expired: clients drop them, and fetch everything again.")
        }
        if let before { sentences.append("The state before is the snapshot ‘\(before)’. Restore it to undo this.") }
        if let remaining, !remaining.hasEqualData {
            sentences.append(
                "Still different: \(Digits.count(remaining.records.total, "record")). A client may have saved meanwhile: restore again to remove that."
            )
        }
        return sentences + notes
    }
}

// MARK: - Uploads

extension SnapshotActions {
    /// Adds a shared snapshot to those of a place.
    package func add(_ asked: ConsoleRequest) async throws -> Answer {
        let (fields, file) = try await asked.upload()
        let visit = try await Visit(asked, fields: fields)
        return .response(try await asked.response(to: visit, [.takesLong]) { try await self.add(file, $0) })
    }

    /// Opens a shared snapshot, from the start page.
    package func open(_ asked: ConsoleRequest) async throws -> Answer {
        let (fields, file) = try await asked.upload()
        return .redirect(
            try await asked.context.lengthy {
                try await self.open(file, into: fields["container"] ?? "", console: asked.console)
            })
    }
}
