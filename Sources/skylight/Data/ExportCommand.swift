import ArgumentParser
import DataTransfer
import Foundation
import RecordStore
import Records

struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export records as NDJSON for skylight import.",
        discussion: """
            The first line has the origin of the records, and the schema with its indexes. Each other line is a record with its fields, \
            their types, its parent, and who created and modified it when. Records are in the order of \
            their zones and names, so equal data gives equal files. Deletions, change tokens and zone sharing are not exported.

            --assets writes the bytes of assets into a folder, each once, in a file named by its SHA-256. Without it, assets are left out \
            of the records, and the command prints their number.

            Without --output the lines go to standard output. An output file is written completely or not at all.

            Examples:
              skylight export --container iCloud.com.example.Chat \\
                --output chat.ndjson
              skylight export --container iCloud.com.example.Chat --zone Chats \\
                --type Message | gzip > messages.ndjson.gz
              skylight export --container iCloud.com.example.Chat \\
                --output chat.ndjson --assets chat.assets
              skylight import chat.ndjson --assets chat.assets --data ~/elsewhere
                Imports it with its assets into another folder.
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database to export.")
    var scope: DatabaseScope = .private

    @Option(
        name: .customLong("zone"),
        help: ArgumentHelp("A zone to export. Can be given more than once. (default: all zones)", valueName: "name"))
    var zones: [String] = []

    @Option(help: ArgumentHelp("The owner of the zones, in the shared database. (default: any)", valueName: "handle"))
    var zoneOwner: String?

    @Option(
        name: .customLong("type"),
        help: ArgumentHelp(
            "A record type to export. Can be given more than once. (default: all types)", valueName: "name"))
    var recordTypes: [String] = []

    @Option(help: .asOf)
    var asOf: AsOf?

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"))
    var output: String?

    @Option(
        help: ArgumentHelp(
            "The folder for the bytes of assets, created if missing. (default: none; assets are left out)",
            valueName: "dir"))
    var assets: String?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if zoneOwner != nil, scope != .shared {
            throw ValidationError("--zone-owner is for zones of other users: add --database shared.")
        }
        if zoneOwner != nil, zones.isEmpty { throw ValidationError("--zone-owner is the owner of --zone: add --zone.") }
    }

    func run() async throws {
        let report = try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(scope), as: database.user)
            let owner = try await store.zoneOwner(zoneOwner)
            let options = ExportOptions(
                zones: zones.isEmpty ? nil : zones.map { ZoneID(zoneName: Name($0), ownerRecordName: owner) },
                recordTypes: recordTypes.isEmpty ? nil : Set(recordTypes.map { Name($0) }),
                userHandle: try await store.handles()[target.caller.userRecordName])
            var exchange: AssetExchange?
            if let assets { exchange = try await store.exchange(assets, with: target.address) }
            return try await export(try await target.asOf(asOf), options, exchange)
        }
        // With --json, the export itself is the result, unless it is in a file.
        if store.output.isJSON, output == nil { return }
        store.output.say(lines: [], notes: notes(report)) { write(report, with: &$0) }
    }

    private func notes(_ report: ExportReport) -> [String] {
        let zones = "\(Output.grouped(report.zones.count)) zone\(report.zones.count == 1 ? "" : "s")"
        let place = "\(zones) of the \(scope.rawValue) database of \(database.place)"
        let leftOut =
            "Left out of the records: \(Self.words(for: report.leftOut)). Add --assets DIR to export them too."
        return [
            "Exported \(Output.grouped(report.records)) records from \(place)\(output.map { " into \($0)" } ?? "")."
        ]
            + (assets.map { ["Assets: \(Self.words(for: report.assets)) in \($0)."] } ?? [])
            + (report.leftOut.references > 0 ? [leftOut] : []) + report.notKnown.notes
    }

    private static func words(for count: ExportReport.AssetCount) -> String {
        let noun = count.references == 1 ? "asset" : "assets"
        return
            "\(Output.grouped(count.references)) \(noun), with \(ByteCount(count.bytes)) in \(Output.files(count.files))"
    }

    private func export(_ target: any RecordDatabase, _ options: ExportOptions, _ assets: AssetExchange?) async throws
        -> ExportReport
    {
        let file = if let output { try OutputFile(output) } else { OutputFile.standardOutput }
        let bar = ProgressBar()
        defer { bar.finish() }
        let watch = output == nil && assets == nil ? nil : file.abandonedAtSignals { assets?.folder.abandon() }
        defer { watch?.cancel() }
        let report: ExportReport
        do {
            report = try await Exporter(target, options: options, assets: assets).run(
                progress: { progress in
                    bar.show(
                        "Exporting", count: progress.count, of: progress.total, "records", andBytes: progress.assetBytes
                    )
                }, write: file.write)
        } catch {
            file.abandon()
            throw error
        }
        try file.finish()
        return report
    }

    private func write(_ report: ExportReport, with writer: inout JSONWriter) {
        writer.member("records", Int64(report.records))
        writer.member("container", database.container.description)
        writer.member("environment", database.environment.rawValue)
        writer.member("database", scope.rawValue)
        writer.member("zones", values: report.zones) { $0.value($1) }
        writer.member("recordTypes", values: report.recordTypes) { $0.value($1) }
        writer.member("assets") { $0.value(report.assets) }
        writer.member("assetsLeftOut") { $0.value(report.leftOut) }
        if !report.notKnown.isEmpty { report.notKnown.write(as: "notKnown", into: &writer) }
        if let output { writer.member("file", output) }
        if let assets { writer.member("assetsFolder", assets) }
    }
}

extension JSONWriter {
    fileprivate mutating func value(_ count: ExportReport.AssetCount) {
        object { writer in
            writer.member("references", Int64(count.references))
            writer.member("files", Int64(count.files))
            writer.member("bytes", count.bytes)
        }
    }
}
