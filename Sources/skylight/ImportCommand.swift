import Accounts
import ArgumentParser
import DataTransfer
import Foundation
import JSON
import Records
import RecordStore

struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import CSV, JSON or NDJSON files as records of one type.",
        discussion: """
            Types are found by looking at every row: whole numbers become INT64; a column with any fraction DOUBLE; dates such as 2012-01-31, \
            2012/01/31 or 2012-01-31T18:05:00Z TIMESTAMP (UTC unless they say a zone); columns latitude and longitude (also lat with lon, lng or \
            long) one LOCATION field 'location'; everything else, and numbers with leading zeros, STRING. Empty cells are no value. In JSON, \
            booleans become INT64 1 and 0, arrays lists, and {"latitude":…,"longitude":…} a LOCATION. A type that exists keeps its fields' types. \
            A column whose name can't be a field's is renamed, and the import says so.

            All rows are tried before the first is saved: when a row is bad nothing is imported, unless --skip-bad-rows is given. A record of the \
            same name is replaced. recordName becomes QUERYABLE, so that the console can list the records; other indexes are made only as asked \
            with --index.

            Examples:
              skylight import airports.csv --container iCloud.com.example.Air \\
                --type Airport --name-field iata \\
                --index name:SORTABLE --index location:QUERYABLE
              skylight import day1.ndjson day2.ndjson --type Event \\
                --container iCloud.com.example.Log --zone Events
            """)

    @Argument(help: ArgumentHelp("The files, all of one shape. The format goes by the name: .csv, .tsv, .json, .ndjson or .jsonl.", valueName: "file"))
    var files: [String]

    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database to import into.")
    var scope: DatabaseScope = .private

    @Option(help: ArgumentHelp("The zone, which is made when it is missing. (default: the default zone)", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("The user whose zone it is, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    @Option(name: .customLong("type"), help: ArgumentHelp("The record type, which is made when it is missing.", valueName: "name"))
    var recordType: String

    @Option(
        help: ArgumentHelp(
            "The column that names the records; it stays a field as well, unless it is called recordName. (default: random names)",
            valueName: "column"))
    var nameField: String?

    @Option(
        name: .customLong("index"),
        help: ArgumentHelp(
            "Indexes to make: QUERYABLE (equality, ranges, NEAR), SORTABLE (order, ranges), SEARCHABLE (words of a text). Can be given more than once.",
            valueName: "field:index,…"))
    var indexes: [IndexOption] = []

    @Option(help: "The format of the files, whatever their names.")
    var format: FileFormat?

    @Flag(help: "Import the good rows of files that also hold bad ones.")
    var skipBadRows = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if scope != .private, zone != nil, zoneOwner == nil {
            if scope == .public { throw ValidationError("The public database has only its default zone: leave --zone out.") }
            throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.")
        }
        if scope == .shared, zone == nil { throw ValidationError("The shared database has only zones of others: add --zone and --zone-owner.") }
        if scope != .shared, zoneOwner != nil { throw ValidationError("--zone-owner is for zones of others: add --database shared.") }
    }

    func run() async throws {
        let report = try await common.dataFolder.withStore(isNew: true) { store in
            let zoneID = try zone.map { name in
                ZoneID(
                    zoneName: Name(name),
                    ownerRecordName: try zoneOwner.map { try store.accounts.caller(named: $0, deviceID: nil).userRecordName })
            }
            var asked: [Name: Indexes] = [:]
            for index in indexes { asked[index.fieldName, default: []].formUnion(index.indexes) }
            let options = ImportOptions(
                recordType: Name(recordType), zoneID: zoneID ?? .default, format: format, nameField: nameField.map { Name($0) }, indexes: asked,
                skipsBadRows: skipBadRows)
            let target = try await store.database(database.address(scope), as: database.user)
            let importer = try Importer(files.map { URL(filePath: $0) }, options: options, into: target)
            let bar = ProgressBar()
            defer { bar.finish() }
            return try await importer.run { bar.show($0) }
        }
        if common.json { Output.say { write(report, with: &$0) } } else { say(report) }
    }

    private func say(_ report: ImportReport) {
        let place = report.zoneID.isDefault ? "the \(scope.rawValue) database" : "zone \(report.zoneID.zoneName) of the \(scope.rawValue) database"
        Output.say("Imported \(Output.grouped(report.saved)) records of type \(report.recordType) into \(place) of \(database.container) (\(database.environment.rawValue)).")
        let fields = report.fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.schemaName)" }
        Output.say("Fields: \(fields.joined(separator: ", "))")
        let made = report.indexesMade.map { "\($0.fieldName) \($0.indexes.names.joined(separator: " "))" }
        Output.say(made.isEmpty ? "Indexes made: none" : "Indexes made: \(made.joined(separator: ", "))")
        if report.madeZone { Output.say("Zone made: \(report.zoneID.zoneName)") }
        for note in report.notes { Output.say("Note: \(note)") }
        if report.skippedCount > 0 {
            Output.note("Left out \(Output.grouped(report.skippedCount)) bad row\(report.skippedCount == 1 ? "" : "s"):")
            for row in report.skipped { Output.note("  \(row)") }
            if report.skippedCount > report.skipped.count { Output.note("  … and \(report.skippedCount - report.skipped.count) more") }
        }
    }

    private func write(_ report: ImportReport, with writer: inout JSONWriter) {
        writer.member("saved", Int64(report.saved))
        writer.member("recordType", report.recordType)
        writer.member("container", database.container.description)
        writer.member("environment", database.environment.rawValue)
        writer.member("database", scope.rawValue)
        writer.member("zoneName", report.zoneID.zoneName)
        writer.name("fields")
        writer.object { writer in
            for (name, type) in report.fields.sorted(by: { $0.key < $1.key }) { writer.member(name, type.wireName) }
        }
        writer.name("indexesMade")
        writer.object { writer in
            for made in report.indexesMade {
                writer.name(made.fieldName)
                writer.array { writer in for name in made.indexes.names { writer.value(name) } }
            }
        }
        writer.member("madeType", report.madeType)
        writer.member("madeZone", report.madeZone)
        writer.name("notes")
        writer.array { writer in for note in report.notes { writer.value(note) } }
        writer.member("skippedCount", Int64(report.skippedCount))
        writer.name("skipped")
        writer.value(report.skipped)
    }
}
