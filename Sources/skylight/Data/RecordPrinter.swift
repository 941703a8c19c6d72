import ArgumentParser
import Console
import DataTransfer
import Foundation
import RecordStore
import Records

/// The options of the commands that print records.
struct ReadOptions: ParsableArguments {
    @OptionGroup var database: DatabaseOptions

    @Option(name: .customLong("database"), help: "The database to read.")
    var scope: DatabaseScope = .private

    @Option(help: ArgumentHelp("The owner of the zone, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    @Option(
        help: ArgumentHelp(
            "The fields to return, separated by commas; '' for none but the system's. (default: all fields)",
            valueName: "names"))
    var fields: String?

    @Flag(help: "Print CSV, as the console's files have it.")
    var csv = false

    @Option(help: .asOf)
    var asOf: AsOf?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if csv, store.output.isJSON { throw ValidationError("--csv and --json are two formats: remove one of them.") }
        if zoneOwner != nil, scope != .shared {
            throw ValidationError("--zone-owner is for zones of other users: add --database shared.")
        }
    }

    /// Checks an option with a zone.
    func check(_ zone: String?) throws {
        if zoneOwner != nil, zone == nil { throw ValidationError("--zone-owner is the owner of --zone: add --zone.") }
        if scope == .shared, zone != nil, zoneOwner == nil {
            throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.")
        }
    }

    func zoneID(_ zone: String, in store: any CommandData) async throws -> ZoneID {
        ZoneID(zoneName: Name(zone), ownerRecordName: try await store.zoneOwner(zoneOwner))
    }

    /// The named fields in their order; `nil` for all.
    var keys: [Name]? {
        fields.map { $0.split(separator: ",").map { Name($0.trimmingSpaces) }.filter { !$0.isEmpty } }
    }

    var format: RecordPrinter.Format { csv ? .csv : store.output.isJSON ? .json : .table }

    /// Opens the database of an existing container for some work.
    func withDatabase<Value>(
        _ work: (_ store: any CommandData, _ database: any RecordDatabase) async throws -> Value
    ) async throws -> Value {
        try await store.withStore(isNew: false) { store in
            let database = try await store.existingDatabase(database.address(scope), as: database.user)
            return try await work(store, try await database.asOf(asOf))
        }
    }
}

extension ArgumentHelp {
    /// The help of `--as-of`.
    static var asOf: ArgumentHelp {
        ArgumentHelp(
            "Read the records as they were: a position, a change token, or a time such as 2026-11-29T18:00Z. (default: now)",
            valueName: "point")
    }
}

extension RecordDatabase {
    /// The database as it was at a point; `nil` for now. Says which position that is, and what is of now nevertheless.
    func asOf(_ point: AsOf?) async throws -> any RecordDatabase {
        guard let point else { return self }
        let earlier = try await require(.readEarlierStates).database(asOf: point)
        Output.note("As of position \(earlier.position), by the schema and indexes of now.")
        return earlier
    }
}

extension NotKnown {
    /// Sentences about what is missing; none if nothing is.
    var notes: [String] {
        var notes: [String] = []
        if count > 0 {
            let names = records.prefix(10).map { "'\($0.recordName)'" }.joined(separator: ", ")
            notes.append(
                "Not known, and left out: the state of \(Output.grouped(count)) record\(count == 1 ? "" : "s"), \(names)"
                    + (count > 10 ? " and others." : "."))
        }
        if !zones.isEmpty {
            let names = zones.map { "'\($0.zoneName)'" }.joined(separator: ", ")
            notes.append("Not known, and left out: the state of the zone\(zones.count == 1 ? "" : "s") \(names).")
        }
        return notes
    }
}

/// Prints records on standard output, page by page: as a table, as lines of JSON, or as CSV.
struct RecordPrinter {
    enum Format {
        case table, json, csv
    }

    /// The fields in a table for people. More would not fit into a line.
    private static let fieldLimit = 8
    /// The characters of a cell for people.
    private static let cellLimit = 40

    /// The error for CSV of records whose fields are not known before all are read.
    static let needsFields = CommandFailure(
        .usage, "The container does not show its schema, so the columns of CSV are not known",
        remedy: "Name the fields with --fields")

    private let format: Format
    private let columns: RecordFileWriter.Columns
    private var widths: [Int] = []
    private var isFirst = true

    /// - Parameter columns: the columns of a table and of CSV.
    init(_ format: Format, columns: RecordFileWriter.Columns) {
        (self.format, self.columns) = (format, columns)
    }

    /// Prints a page.
    /// - Throws: ``BrokenPipe`` when the reader is gone; `RecordError` INTERNAL_ERROR if stored fields are damaged.
    mutating func say(_ items: [RecordFileWriter.Item]) throws {
        defer { isFirst = false }
        let bytes =
            switch format {
            case .table: try table(items)
            case .json:
                try RecordFileWriter(format: .ndjson, columns: columns).rows(items, isFirst: isFirst, address: nil)
            case .csv: try csv(items)
            }
        try OutputFile.standardOutput.write(bytes)
    }

    private func csv(_ items: [RecordFileWriter.Item]) throws -> [UInt8] {
        let writer = RecordFileWriter(format: .csv, columns: columns)
        return (isFirst ? writer.head() : []) + (try writer.rows(items, isFirst: isFirst, address: nil))
    }

    // MARK: For people

    private mutating func table(_ items: [RecordFileWriter.Item]) throws -> [UInt8] {
        var rows: [[String]] = []
        for item in items {
            switch item.result {
            case .success(let record): rows.append(try cells(record))
            case .failure(let error): Output.note("\(Self.line(item.recordName.string)): \(error.reason)")
            }
        }
        let leftOut = columns.fields.dropFirst(Self.fieldLimit)
        if rows.isEmpty { return [] }
        if widths.isEmpty, !leftOut.isEmpty {
            Output.note("Not shown: \(leftOut.map(\.string).joined(separator: ", ")). Choose fields with --fields.")
        }
        let lines = Output.lines(
            table: rows, titles.enumerated().map { index, title in Output.Column(title) { $0[index] } }, below: &widths)
        return Array(lines.map { $0 + "\n" }.joined().utf8)
    }

    private var shownFields: ArraySlice<Name> { columns.fields.prefix(Self.fieldLimit) }

    private var titles: [String] {
        ["Name"] + (columns.showsTypes ? ["Type"] : []) + (columns.showsZones ? ["Zone"] : [])
            + shownFields.map(\.string) + ["Modified"]
    }

    private func cells(_ record: StoredRecord) throws -> [String] {
        let values = try record.fields.values(of: Set(shownFields))
        return [Self.cell(record.recordID.recordName.string)]
            + (columns.showsTypes ? [Self.cell(record.recordType.string)] : [])
            + (columns.showsZones ? [Self.cell(record.recordID.zoneID.zoneName.string)] : [])
            + shownFields.map { values[$0].map { Self.cell(Self.text(of: $0)) } ?? "" }
            + [Output.moment(record.modified.timestamp)]
    }

    /// A value as filters have it, so that it can be copied into a query.
    private static func text(of value: FieldValue) -> String {
        guard case .asset(let asset) = value else { return QueryForm.text(of: FieldInput(value), as: nil) }
        return "\(asset.fileName ?? asset.fileChecksum) (\(ByteCount(asset.size)))"
    }

    /// The beginning of a text.
    private static func cell(_ text: String) -> String {
        let beginning = text.prefix(cellLimit)
        return line(beginning) + (beginning.endIndex == text.endIndex ? "" : "…")
    }

    /// A text in one line. What could move the cursor or hide is written as its number.
    static func line(_ text: some StringProtocol) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar == "\n" || scalar == "\r" || scalar == "\t": line.append(" ")
            // Joiners, within emoji and between letters
            case .format where scalar == "\u{200D}" || scalar == "\u{200C}": line.append(scalar)
            case .control, .format, .lineSeparator, .paragraphSeparator:
                line.append(contentsOf: "⟨U+\(String(scalar.value, radix: 16, uppercase: true))⟩".unicodeScalars)
            default: line.append(scalar)
            }
        }
        return String(line)
    }
}
