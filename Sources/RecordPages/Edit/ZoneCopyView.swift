internal import Accounts
internal import AssetStore
package import Console
internal import DataTransfer
internal import Foundation
internal import HTTPServing
internal import RecordStore
internal import Records

/// The form for the target of a zone copy.
package enum ZoneCopyView {
    package static func load(_ visit: Visit) async throws -> ComponentPage {
        try await page(try source(visit), visit, complaint: nil)
    }

    /// Removes files of servers that were killed.
    package static func sweepLeftovers() {
        ZoneCopy.scratchFolder().later { $0.sweep() }
    }

    /// Starts the copy.
    package static func copy(_ visit: Visit) async throws -> Answer {
        let zoneID = try source(visit)
        do {
            let (other, target) = try await target(visit)
            if visit.fields["sure"] == nil, let question = try await question(zoneID, other, target, visit) {
                return .page(question)
            }
            let copy = ZoneCopy(
                source: visit.database, zoneID: zoneID, target: target, targetZoneID: other.zoneID, assets: visit.assets
            )
            let total = try await visit.counts(in: zoneID)?.total ?? 0
            let run = BackgroundRun(
                heading: "Copy \(visit.zoneName(zoneID)) to \(other.words)", verb: "copied", total: total,
                place: visit.place,
                back: Frame.Link(text: "The copy", href: other.place.link("changes")))
            try visit.console.runs.start(run) { try await copy.run($0) }
            return .redirect(visit.place.link("run", [("id", run.id)]))
        } catch let error as RecordError {
            return .page(try await page(zoneID, visit, complaint: error))
        }
    }

    // MARK: Parts

    private static func source(_ visit: Visit) throws -> ZoneID {
        try visit.database.require(.listRecords)
        guard let asked = visit.place.zoneID else {
            throw RecordError(.badRequest, "The address needs the zone: zone=…")
        }
        guard visit.zones.contains(where: { visit.place.isSame($0.zoneID, asked) }) else {
            throw RecordError.zoneNotFound
        }
        return asked
    }

    /// The target that the form names.
    /// - Throws: `RecordError` BAD_REQUEST if there is no such place, or it is the source zone itself.
    private static func target(_ visit: Visit) async throws -> (OtherDatabase, any RecordDatabase) {
        let other = try OtherDatabase(visit, isOwn: true)
        if other.isZone(visit.place.zoneID, of: visit) {
            throw RecordError(
                .badRequest,
                "A zone can't be copied onto itself; choose another environment, database, user or zone name")
        }
        return (
            other,
            try await visit.engine.database(other.place.address, as: Caller(userRecordName: other.user.userRecordName))
        )
    }

    /// A confirmation, if the copy may replace records at the target; `nil` otherwise.
    private static func question(_ zoneID: ZoneID, _ other: OtherDatabase, _ target: any RecordDatabase, _ visit: Visit)
        async throws -> ConfirmationView?
    {
        var count: Int?
        do {
            if target.can(.countRecords) {
                count = try await target.require(.countRecords).counts(in: other.zoneID).total
            } else {
                // A store that can't count may have records in a zone that is there.
                _ = try await target.fetchZones([other.zoneID]).first?.get()
            }
        } catch let error as RecordError where error.code == .zoneNotFound {
            return nil
        }
        if count == 0 { return nil }
        let there = other.words
        let records = count.map { "has \(Digits.count($0, "record"))" } ?? "may have records"
        var lines = [
            "\(there.prefix(1).uppercased() + there.dropFirst()), \(records). Records with the same names are replaced; the others stay."
        ]
        if other.place.address.environment == .production { lines.append("This is production.") }
        let fields = other.parameters.map { Frame.Hidden(name: $0.name, value: $0.value) }
        return ConfirmationView(
            on: .zones, title: "Copy \(visit.zoneName(zoneID)) over existing records?", lines: lines,
            action: visit.place.link("zone/copy"),
            fields: fields + [Frame.Hidden(name: "sure", value: "1")], button: "Copy the zone",
            cancel: visit.place.link("zone/copy"))
    }

    private static func page(_ zoneID: ZoneID, _ visit: Visit, complaint: RecordError?) async throws -> ComponentPage {
        // A zone can't be copied onto itself, so the form begins with a name that works.
        let offered = zoneID.isDefault ? "Copy" : "\(visit.zoneName(zoneID)) copy"
        let count = try await visit.counts(in: zoneID).map {
            "Copies \(Digits.count($0.total, "record")) with their files. "
        }
        let inputs = OtherDatabaseInputs(visit, scopes: [.private, .public], zoneName: offered)
        return ComponentPage(
            .zones,
            PageHead(
                "Copy \(visit.zoneName(zoneID))", crumb: "zone",
                [
                    "\(count ?? "")Records keep their authors and dates. Records with the same names at the destination are replaced. Missing types are added."
                ]),
            (complaint.map { [Note(refusing: PageError($0))] } ?? []) + [
                Section(
                    "destination", "Destination",
                    [
                        Form(
                            .grid, visit.place.link("zone/copy"), inputs.fields, button: "Copy the zone",
                            buttonStyle: "go", links: [.button("Cancel", visit.place.link("zone"))])
                    ])
            ])
    }
}

// MARK: - Job

/// Copies a zone with its files: exports it to a scratch folder on the server, and imports it at the target.
///
/// The copy therefore follows the rules of exports: records keep their creation and
/// modification metadata, replace records of the same names, and bring along missing types.
struct ZoneCopy: Sendable {
    let source: any RecordDatabase
    let zoneID: ZoneID
    let target: any RecordDatabase
    let targetZoneID: ZoneID
    let assets: AssetStores

    func run(_ run: BackgroundRun) async throws {
        let folder = Self.scratchFolder()
        defer { folder.later { $0.remove() } }
        do {
            try await copy(through: Self.url(of: folder), run)
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw Self.withoutPath(error, of: folder)
        }
    }

    private func copy(through folder: URL, _ run: BackgroundRun) async throws {
        let url = folder.appending(path: "zone.ndjson")
        guard FileManager.default.createFile(atPath: url.path(percentEncoded: false), contents: nil) else {
            throw Self.lacksFolder
        }
        let file = try FileHandle(forWritingTo: url)
        // The file is completely read by now, unless the copy failed.
        defer { try? file.close() }
        let files = AssetFileFolder(folder.appending(path: "assets", directoryHint: .isDirectory))
        func exchange(_ address: DatabaseAddress) async throws -> AssetExchange {
            AssetExchange(
                folder: files, transport: StoredAssets(try await assets.store(address.container, address.environment)))
        }
        run.update { $0.phase = "reading the zone" }
        let exporter = Exporter(
            source, options: ExportOptions(zones: [zoneID], hasSubscriptions: false),
            assets: try await exchange(source.address))
        let exported = try await exporter.run(
            progress: { progress in run.update { ($0.done, $0.total) = (0, max(progress.count, progress.total ?? 0)) }
            },
            write: { bytes in
                try Task.checkCancellation()
                try file.write(contentsOf: bytes)
            })
        run.update { ($0.done, $0.total) = (0, exported.records) }
        try Task.checkCancellation()
        guard let export = try ExportFile(url) else {
            throw RecordError(.internalError, "The zone can't be copied: its export is damaged; try again")
        }
        let restorer = try Restorer(
            export, zoneID: targetZoneID, assets: try await exchange(target.address), keepsLinks: false, into: target)
        let report = try await restorer.run { progress in
            run.update { state in
                state.phase = progress.phase == .saving ? "saving the copy" : "checking"
                if progress.phase == .saving { (state.done, state.achieved) = (progress.count, progress.count) }
            }
        }
        for problem in report.unvalidated + report.unshared {
            run.add(
                BackgroundRun.Problem(
                    subject: "record \(problem.line - 1)", href: nil, code: nil, reason: problem.reason))
        }
        run.update { state in
            (state.phase, state.done, state.achieved, state.problemCount) = (
                nil, state.total, report.saved, report.unvalidatedCount + report.unsharedCount
            )
            if report.unvalidatedCount > 0 {
                state.notes.append("The listed records are copied. Their VALIDATE references have the action NONE.")
            }
            if let shares = report.records[Share.recordType] {
                state.notes.append(
                    "Copied \(Digits.count(shares, "share")): their guests see the copy too. The links are new.")
            }
            if report.sharesLeftOut > 0 {
                state.notes.append(
                    "Left out \(Digits.count(report.sharesLeftOut, "share")): the copy can't have shares.")
            }
            if let sentence = RecordFinding.encryptedInPublic(report.encryptedInPublic) { state.notes.append(sentence) }
            if !report.changedTypes.isEmpty {
                state.notes.append(
                    "Added to the schema: types, fields or indexes of \(report.changedTypes.map(\.string).joined(separator: ", "))."
                )
            }
        }
    }

    private static let lacksFolder = RecordError.noTemporaryFile("Nothing can be copied")

    /// Errors of files name them by their places in the scratch folder: where that is, is the server's own affair.
    private static func withoutPath(_ error: any Error, of folder: ScratchFolder) -> any Error {
        guard let path = try? folder.url().path(percentEncoded: false), "\(error)".contains(path) else { return error }
        if error is CocoaError { return lacksFolder }
        return RecordError(
            (error as? RecordError)?.code ?? .internalError,
            ((error as? RecordError)?.reason ?? "\(error)").replacing(path, with: ""))
    }

    /// The scratch folder of a copy. It is created on first use.
    static func scratchFolder() -> ScratchFolder { ScratchFolder(prefix: "skylight-copy-") }

    /// Creates the folder. Blocks on the disk.
    static func url(of folder: ScratchFolder) throws(RecordError) -> URL {
        do { return try folder.url() } catch { throw lacksFolder }
    }
}
