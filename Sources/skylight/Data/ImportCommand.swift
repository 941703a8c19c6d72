import ArgumentParser
import DataTransfer
import Foundation
import RecordStore
import Records

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import CSV, JSON or NDJSON files as records of one type, or import an export.",
        discussion: """
            The values of every row decide the types: whole numbers become INT64; a column with any fraction DOUBLE; dates such as 2012-01-31, \
            2012/01/31 or 2012-01-31T18:05:00Z TIMESTAMP (UTC without a time zone); columns latitude and longitude (also lat with lon, lng or \
            long) one LOCATION field 'location'; everything else, and numbers with leading zeros, STRING. --column chooses another type. Empty cells have no value. In JSON, \
            booleans become INT64 1 and 0, arrays lists, and {"latitude":…,"longitude":…} a LOCATION. Existing fields keep their types. \
            A column with an invalid field name is renamed, and the import says so. Tables may have commas, semicolons, tabs or bars between \
            the cells, and be UTF-8, UTF-16 or Windows-1252 (Latin-1); the import says what it recognized.

            All rows are checked before the first is saved: if a row is bad, nothing is imported, except with --skip-bad-rows. A record with the \
            same name is replaced. With --keep-fields, it keeps the fields that have no column, an empty cell clears its field, and a \
            record that would not change is not saved. --dry-run says how many records are new, and what the others would lose.

            recordName becomes QUERYABLE, so that the console can list the records; other indexes are added only with --index.

            A file from skylight export is recognized by its first line and has everything: container, environment, database, user, \
            zones, schema, and who created and modified each record when. It needs no options; those of the destination override it.

            If its records have assets, give their folder with --assets.

            Examples:
              skylight import airports.csv --container iCloud.com.example.Air \\
                --type Airport --name-field iata \\
                --index name:SORTABLE --index location:QUERYABLE
              skylight import renamed.csv --keep-fields --dry-run \\
                --container iCloud.com.example.Air --type Airport
                Shows how many airports would change.
              skylight import day1.ndjson day2.ndjson --type Event \\
                --container iCloud.com.example.Log --zone Events
              skylight import chat.ndjson --container iCloud.com.example.Copy
                Imports an export into another container.
            """)

    @Argument(
        help: ArgumentHelp(
            "The files, all with the same columns. The file name gives the format: .csv, .tsv, .json, .ndjson or .jsonl.",
            valueName: "file"))
    var files: [String]

    @OptionGroup var place: ImportTargetOptions

    @Option(
        name: .customLong("type"),
        help: ArgumentHelp("The record type, created if missing. Not for an export.", valueName: "name"))
    var recordType: String?

    @Option(
        help: ArgumentHelp(
            "The column with the record names; it also becomes a field, unless it is called recordName. (default: recordName if there is one, else random names)",
            valueName: "column"))
    var nameField: String?

    @Option(
        name: .customLong("index"),
        help: ArgumentHelp(
            "Indexes to add: QUERYABLE (equality, ranges, NEAR), SORTABLE (order, ranges), SEARCHABLE (words of a text). Can be given more than once.",
            valueName: "field:index,…"))
    var indexes: [IndexOption] = []

    @Option(
        name: .customLong("column"),
        help: ArgumentHelp(
            "The type of a column: STRING, INT64, DOUBLE, TIMESTAMP, LOCATION, REFERENCE, BYTES, or a list such as STRING_LIST, written as a JSON array. Can be given more than once.",
            valueName: "column:type"))
    var columns: [ColumnOption] = []

    @Option(help: "The format of the files, overriding their names.")
    var format: FileFormat?

    @Flag(help: "Import the good rows of files that also have bad rows.")
    var skipBadRows = false

    @Flag(help: "Let existing records keep the fields that the files lack. Without it, they are replaced.")
    var keepFields = false

    @Flag(help: "Change nothing; only show what would be imported, and what becomes of existing records.")
    var dryRun = false

    @Option(help: ArgumentHelp("The folder with the bytes of an export's assets.", valueName: "dir"))
    var assets: String?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let exports = format == nil || format == .ndjson ? try files.map { try ExportFile(URL(filePath: $0)) } : []
        guard let export = exports.compactMap(\.self).first else { return try await importRows() }
        if files.count > 1 {
            throw CommandFailure(
                .usage, "An export can't be imported with other files", remedy: "Import the files one by one")
        }
        let others = [
            ("--type", recordType != nil), ("--name-field", nameField != nil), ("--index", !indexes.isEmpty),
            ("--column", !columns.isEmpty),
            ("--skip-bad-rows", skipBadRows), ("--keep-fields", keepFields), ("--dry-run", dryRun),
        ]
        if let other = others.first(where: \.1)?.0 {
            throw CommandFailure(
                .usage, "'\(files[0])' is an export, which has its own types: \(other) does not apply",
                remedy: "Remove \(other)")
        }
        try await restore(export)
    }

    private func importRows() async throws {
        if assets != nil {
            throw CommandFailure(
                .usage, "'\(files[0])' is not an export, and only an export has assets", remedy: "Remove --assets")
        }
        guard let recordType else { throw ValidationError("Missing expected argument '--type <name>'") }
        guard let container = place.container else {
            throw ValidationError("Missing expected argument '--container <identifier>'")
        }
        let address = DatabaseAddress(
            container: container, environment: place.environment ?? .development, scope: place.scope ?? .private)
        try place.check(in: address.scope, needsZone: true)
        if dryRun { return try await previewRows(as: recordType, at: address) }
        let report = try await store.withStore(isNew: true) { store in
            let target = try await store.database(address, as: place.user)
            let options = try await importOptions(recordType, in: store)
            let importer = try Importer(files.map { URL(filePath: $0) }, options: options, into: target)
            let bar = ProgressBar()
            defer { bar.finish() }
            return try await importer.run { bar.show($0) }
        }
        let notes = skippedLines(report.skipped, report.skippedCount)
        store.output.say(lines: lines(report, at: address), notes: notes) { write(report, at: address, with: &$0) }
    }

    private func importOptions(_ recordType: String, in store: any CommandData) async throws -> ImportOptions {
        var asked: [Name: Indexes] = [:]
        for index in indexes { asked[index.fieldName, default: []].formUnion(index.indexes) }
        return ImportOptions(
            recordType: Name(recordType), zoneID: try await place.zoneID(in: store) ?? .default, format: format,
            nameField: nameField.map { Name($0) }, indexes: asked,
            types: Dictionary(columns.map { ($0.column, $0.type) }, uniquingKeysWith: { $1 }),
            skipsBadRows: skipBadRows, keepsFields: keepFields)
    }

    /// The number of rows that a dry run compares with the stored records.
    private static let comparedLimit = 1_000

    private func previewRows(as recordType: String, at address: DatabaseAddress) async throws {
        let (zoneID, preview, standing) = try await store.withStore(isNew: false) { store in
            let options = try await importOptions(recordType, in: store)
            let target = try await store.database(address, as: place.user)
            let importer = try Importer(files.map { URL(filePath: $0) }, options: options, into: target)
            // A missing environment has no records, and must not be created by the check.
            let isThere = try await store.engine.has(address.container, address.environment)
            let schema = isThere ? try await target.require(.showSchema).schema() : Schema()
            let preview = try importer.preview(schema, sampleLimit: 0)
            if preview.problemCount > 0, !skipBadRows || preview.goodRows == 0 {
                throw ImportError.badRows(preview.problems, total: preview.problemCount, others: preview.goodRows)
            }
            let standing = isThere ? try await importer.standing(of: preview, limit: Self.comparedLimit) : nil
            return (options.zoneID, preview, standing)
        }
        let fields = Dictionary(preview.fields.map { ($0.fieldName, $0.type) }, uniquingKeysWith: { first, _ in first })
        let count = preview.goodRows == 1 ? "1 record" : "\(Output.grouped(preview.goodRows)) records"
        let new = preview.goodRows == 1 ? "1 new record" : "\(Output.grouped(preview.goodRows)) new records"
        var lines = [
            "Would import \(count) of type \(recordType) into \(Self.place(zoneID, of: address)). Nothing was changed.",
            Self.line(fields), Self.line(preview.indexesMade, label: "Indexes to add"),
            "Records: \(standing?.summary ?? new)",
        ]
        if let loss = standing?.loss { lines.append(loss) }
        lines += preview.notes.map { "Note: \($0)" }
        store.output.say(lines: lines, notes: skippedLines(preview.problems, preview.problemCount)) { writer in
            writer.member("dryRun", true)
            writer.member("rows", Int64(preview.goodRows))
            write(Name(recordType), zoneID, fields, preview.indexesMade, at: address, with: &writer)
            writer.member("madeType", preview.madeType)
            writer.member("compared", Int64(standing?.rows.count ?? preview.goodRows))
            writer.member("new", Int64(standing?.newCount ?? preview.goodRows))
            writer.member("existing", Int64(standing?.existingCount ?? 0))
            writer.member("changed", Int64(standing?.changedCount ?? 0))
            writer.member("losers", Int64(standing?.losers ?? 0))
            writer.member("lost", values: standing?.lost.sorted() ?? []) { $0.value($1) }
            writer.member("notes", values: preview.notes) { $0.value($1) }
            writer.member("skippedCount", Int64(preview.problemCount))
            writer.member("skipped") { $0.value(preview.problems) }
        }
    }

    private func restore(_ export: ExportFile) async throws {
        let header = export.header
        let address = DatabaseAddress(
            container: place.container ?? header.address.container,
            environment: place.environment ?? header.address.environment,
            scope: place.scope ?? header.address.scope)
        try place.check(in: address.scope, needsZone: header.address.scope != .shared)
        let user = place.user ?? header.user?.handle ?? header.user?.userRecordName.string
        let report = try await store.withStore(isNew: true) { store in
            let target = try await store.database(address, as: user)
            var exchange: AssetExchange?
            if let assets { exchange = try await store.exchange(assets, with: address) }
            let restorer = try Restorer(
                export, zoneID: try await place.zoneID(in: store), assets: exchange, into: target)
            let bar = ProgressBar()
            defer { bar.finish() }
            return try await restorer.run { bar.show($0) }
        }
        store.output.say(lines: lines(report, at: address), notes: notes(report)) {
            write(report, at: address, with: &$0)
        }
        if report.unvalidatedCount > 0 { throw Self.unvalidated(report) }
        if report.unsharedCount > 0 { throw Self.unshared(report) }
    }

    private static func unshared(_ report: RestoreReport) -> CommandFailure {
        let shares = report.unsharedCount == 1 ? "1 share was" : "\(Output.grouped(report.unsharedCount)) shares were"
        var failure = CommandFailure(
            .failed, "All other records were saved, but \(shares) refused", code: ServerErrorCode.badRequest.rawValue,
            remedy: "Remove what stands in the way, then import this file again")
        failure.rows = report.unshared
        failure.rowCount = report.unsharedCount
        return failure
    }

    private static func unvalidated(_ report: RestoreReport) -> CommandFailure {
        let records =
            report.unvalidatedCount == 1 ? "1 record was" : "\(Output.grouped(report.unvalidatedCount)) records were"
        var failure = CommandFailure(
            .failed,
            "Everything was saved, but \(records) refused with VALIDATE references, which now have the action NONE",
            code: ServerErrorCode.validatingReferenceError.rawValue,
            remedy: "Import the records that they refer to, then this file again")
        failure.rows = report.unvalidated
        failure.rowCount = report.unvalidatedCount
        return failure
    }

    // MARK: Output

    private func lines(_ report: RestoreReport, at address: DatabaseAddress) -> [String] {
        let types = report.records.sorted { $0.key < $1.key }.map { "\($0.key) \(Output.grouped($0.value))" }
        func list(_ title: String, _ names: [String]) -> [String] {
            names.isEmpty ? [] : ["\(title): \(names.joined(separator: ", "))"]
        }
        func count(_ title: String, _ count: Int, _ more: String = "") -> [String] {
            count == 0 ? [] : ["\(title): \(Output.grouped(count))\(more)"]
        }
        return [
            "Restored \(Output.grouped(report.saved)) records into the \(address.scope.rawValue) database of "
                + "\(address.container) (\(address.environment.rawValue)).",
            "Types: \(types.isEmpty ? "none" : types.joined(separator: ", "))",
        ]
            + list("Zones created", report.madeZones.map(\.zoneName.string))
            + (report.changedTypes.isEmpty
                ? []
                : [
                    "Added to the schema: types, fields or indexes of "
                        + report.changedTypes.map(\.string).joined(separator: ", ")
                ])
            + count(
                "Shares left out", report.sharesLeftOut, ". Only custom zones of private databases have shares.")
            + [RecordFinding.encryptedInPublic(report.encryptedInPublic)].compactMap(\.self)
            + count("Shares with new links", report.relinkedCount)
            + report.relinked.map { "  line \($0.line): \($0.reason)" }
            + list("Subscriptions", report.subscriptions.map(\.string))
            + count("Keys of the key-value store", report.keyValues)
    }

    private func notes(_ report: RestoreReport) -> [String] {
        (report.refusedSubscriptions + [report.refusedKeyValues].compactMap(\.self)).map { "\($0)" }
    }

    private func write(_ report: RestoreReport, at address: DatabaseAddress, with writer: inout JSONWriter) {
        writer.member("saved", Int64(report.saved))
        writer.member("container", address.container.description)
        writer.member("environment", address.environment.rawValue)
        writer.member("database", address.scope.rawValue)
        writer.member("records", counts: report.records)
        writer.member("madeZones", values: report.madeZones) { $0.value($1) }
        writer.member("changedTypes", values: report.changedTypes) { $0.value($1) }
        writer.member("unvalidatedCount", Int64(report.unvalidatedCount))
        writer.member("unsharedCount", Int64(report.unsharedCount))
        writer.member("relinkedCount", Int64(report.relinkedCount))
        writer.member("sharesLeftOut", Int64(report.sharesLeftOut))
        writer.member("encryptedInPublic", Int64(report.encryptedInPublic))
        writer.member("subscriptions", values: report.subscriptions) { $0.value($1) }
        writer.member("refusedSubscriptions", values: report.refusedSubscriptions) { $0.value($1.reason) }
        writer.member("keyValues", Int64(report.keyValues))
        if let problem = report.refusedKeyValues { writer.member("refusedKeyValues", problem.reason) }
    }

    private func lines(_ report: ImportReport, at address: DatabaseAddress) -> [String] {
        let place = Self.place(report.zoneID, of: address)
        var lines = [
            "Imported \(Output.grouped(report.saved)) records of type \(report.recordType) into \(place).",
            Self.line(report.fields), Self.line(report.indexesMade, label: "Indexes added"),
        ]
        if report.unchanged > 0 { lines.append("Unchanged: \(Output.grouped(report.unchanged))") }
        if report.madeZone { lines.append("Zone created: \(report.zoneID.zoneName)") }
        return lines + report.notes.map { "Note: \($0)" }
    }

    private static func place(_ zoneID: ZoneID, of address: DatabaseAddress) -> String {
        let database =
            "the \(address.scope.rawValue) database of \(address.container) (\(address.environment.rawValue))"
        return zoneID.isDefault ? database : "zone \(zoneID.zoneName) of \(database)"
    }

    private static func line(_ fields: [Name: FieldType]) -> String {
        let fields = fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.schemaName)" }
        return "Fields: \(fields.joined(separator: ", "))"
    }

    private static func line(_ indexes: [ImportReport.MadeIndex], label: String) -> String {
        let made = indexes.map { "\($0.fieldName) \($0.indexes.names.joined(separator: " "))" }
        return "\(label): \(made.isEmpty ? "none" : made.joined(separator: ", "))"
    }

    private func skippedLines(_ problems: [RowProblem], _ count: Int) -> [String] {
        if count == 0 { return [] }
        let more = count - problems.count
        return ["Left out \(Output.grouped(count)) bad row\(count == 1 ? "" : "s"):"]
            + problems.map { "  \($0)" } + (more > 0 ? ["  … and \(more) more"] : [])
    }

    private func write(
        _ recordType: Name, _ zoneID: ZoneID, _ fields: [Name: FieldType], _ indexes: [ImportReport.MadeIndex],
        at address: DatabaseAddress, with writer: inout JSONWriter
    ) {
        writer.member("recordType", recordType)
        writer.member("container", address.container.description)
        writer.member("environment", address.environment.rawValue)
        writer.member("database", address.scope.rawValue)
        writer.member("zoneName", zoneID.zoneName)
        writer.name("fields")
        writer.object { writer in
            for (name, type) in fields.sorted(by: { $0.key < $1.key }) { writer.member(name, type.wireName) }
        }
        writer.name("indexesMade")
        writer.object { writer in
            for made in indexes {
                writer.name(made.fieldName)
                writer.array { writer in for name in made.indexes.names { writer.value(name) } }
            }
        }
    }

    private func write(_ report: ImportReport, at address: DatabaseAddress, with writer: inout JSONWriter) {
        writer.member("saved", Int64(report.saved))
        writer.member("unchanged", Int64(report.unchanged))
        write(report.recordType, report.zoneID, report.fields, report.indexesMade, at: address, with: &writer)
        writer.member("madeType", report.madeType)
        writer.member("madeZone", report.madeZone)
        writer.member("notes", values: report.notes) { $0.value($1) }
        writer.member("skippedCount", Int64(report.skippedCount))
        writer.member("skipped") { $0.value(report.skipped) }
    }
}

/// `FIELD:QUERYABLE,SORTABLE`.
struct IndexOption: ExpressibleByArgument, Sendable {
    let fieldName: Name
    let indexes: Indexes

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), colon > argument.startIndex else { return nil }
        var indexes: Indexes = []
        for name in argument[argument.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false) {
            guard let index = Indexes(name: String(name)) else { return nil }
            indexes.formUnion(index)
        }
        fieldName = Name(argument[..<colon])
        self.indexes = indexes
    }
}

/// `COLUMN:TYPE`.
struct ColumnOption: ExpressibleByArgument, Sendable {
    let column: Name
    let type: FieldType

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), colon > argument.startIndex else { return nil }
        let name = argument[argument.index(after: colon)...].uppercased()
        guard let type = FieldType(wireName: name) ?? FieldType(schemaName: name), type.valueType != .asset else {
            return nil
        }
        column = Name(argument[..<colon])
        self.type = type
    }
}

// MARK: - Place

/// The target options of an import. They are optional for an export, which contains its origin.
struct ImportTargetOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The container, such as iCloud.com.example.App. (default for an export: its own)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "The container's environment. (default: development, or the export's own)")
    var environment: Environment?

    @Option(name: .customLong("database"), help: "The database to import into. (default: private, or the export's own)")
    var scope: DatabaseScope?

    @Option(
        help: ArgumentHelp(
            "The user of the private or shared database: a handle such as ada, or a user record name. (default: developer, or the export's own)",
            valueName: "handle"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The zone, created if missing. (default: the default zone, or the export's own zones)", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("The owner of the zone, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    /// - Parameter needsZone: true if the shared database requires a zone with its owner.
    /// - Throws: `ValidationError` if the zone options do not fit the database.
    func check(in scope: DatabaseScope, needsZone: Bool) throws {
        if scope != .private, zone != nil, zoneOwner == nil {
            if scope == .public {
                throw ValidationError("The public database has only its default zone: remove --zone.")
            }
            throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.")
        }
        if scope == .shared, zone == nil, needsZone {
            throw ValidationError("The shared database has only zones of other users: add --zone and --zone-owner.")
        }
        if scope != .shared, zoneOwner != nil {
            throw ValidationError("--zone-owner is for zones of other users: add --database shared.")
        }
    }

    /// The requested zone; `nil` if there is none.
    func zoneID(in store: any CommandData) async throws -> ZoneID? {
        guard let zone else { return nil }
        guard let zoneOwner else { return ZoneID(zoneName: Name(zone)) }
        return ZoneID(zoneName: Name(zone), ownerRecordName: try await store.caller(named: zoneOwner).userRecordName)
    }
}
