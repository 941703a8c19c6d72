internal import AssetStore
internal import Console
internal import DataTransfer
internal import Foundation
internal import HTTPServing
internal import JSON
internal import RecordStore
internal import Records

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
            AssetExchange(folder: files, transport: StoredAssets(try await assets.store(address.container, address.environment)))
        }
        run.update { $0.phase = "reading the zone" }
        let exporter = Exporter(source, options: ExportOptions(zones: [zoneID], hasSubscriptions: false), assets: try await exchange(source.address))
        let exported = try await exporter.run(
            progress: { progress in run.update { ($0.done, $0.total) = (0, max(progress.count, progress.total ?? 0)) } },
            write: { bytes in
                try Task.checkCancellation()
                try file.write(contentsOf: bytes)
            })
        run.update { ($0.done, $0.total) = (0, exported.records) }
        try Task.checkCancellation()
        guard let export = try ExportFile(url) else { throw RecordError(.internalError, "The zone can't be copied: its export is damaged; try again") }
        let restorer = try Restorer(export, zoneID: targetZoneID, assets: try await exchange(target.address), keepsLinks: false, into: target)
        let report = try await restorer.run { progress in
            run.update { state in
                state.phase = progress.phase == .saving ? "saving the copy" : "checking"
                if progress.phase == .saving { (state.done, state.achieved) = (progress.count, progress.count) }
            }
        }
        for problem in report.unvalidated + report.unshared {
            run.add(BackgroundRun.Problem(subject: "record \(problem.line - 1)", href: nil, code: nil, reason: problem.reason))
        }
        run.update { state in
            (state.phase, state.done, state.achieved, state.problemCount) = (
                nil, state.total, report.saved, report.unvalidatedCount + report.unsharedCount
            )
            if report.unvalidatedCount > 0 { state.notes.append("The listed records are copied. Their VALIDATE references have the action NONE.") }
            if let shares = report.records[Share.recordType] {
                state.notes.append("Copied \(Digits.count(shares, "share")): their guests see the copy too. The links are new.")
            }
            if report.sharesLeftOut > 0 { state.notes.append("Left out \(Digits.count(report.sharesLeftOut, "share")): the copy can't have shares.") }
            if let sentence = RecordFinding.encryptedInPublic(report.encryptedInPublic) { state.notes.append(sentence) }
            if !report.changedTypes.isEmpty {
                state.notes.append("Added to the schema: types, fields or indexes of \(report.changedTypes.map(\.string).joined(separator: ", ")).")
            }
        }
    }

    private static let lacksFolder = RecordError.noTemporaryFile("Nothing can be copied")

    /// Errors of files name them by their places in the scratch folder: where that is, is the server's own affair.
    private static func withoutPath(_ error: any Error, of folder: ScratchFolder) -> any Error {
        guard let path = try? folder.url().path(percentEncoded: false), "\(error)".contains(path) else { return error }
        if error is CocoaError { return lacksFolder }
        return RecordError((error as? RecordError)?.code ?? .internalError, ((error as? RecordError)?.reason ?? "\(error)").replacing(path, with: ""))
    }

    /// The scratch folder of a copy. It is created on first use.
    static func scratchFolder() -> ScratchFolder { ScratchFolder(prefix: "skylight-copy-") }

    /// Creates the folder. Blocks on the disk.
    static func url(of folder: ScratchFolder) throws(RecordError) -> URL {
        do { return try folder.url() } catch { throw lacksFolder }
    }
}
