public import Foundation
public import RecordStore
public import Records

/// Imports the rows of files as records of one type.
///
/// An import reads its files three times: to determine the column types, to validate every row, and to save; a fourth
/// time if an export names the parents of its records. Nothing is saved unless every row is valid, and memory use grows
/// only with the record names. Errors that only the store can detect, such as a name taken by a record of another type,
/// stop the import midway. The error contains the number of saved records.
public struct Importer: Sendable {
    /// The maximum number of invalid rows in a report.
    public static let problemLimit = 100

    let files: [ImportFile]
    let options: ImportOptions
    let database: any RecordDatabase

    /// - Throws: `ImportError` if a file can't be read or its format is unknown.
    public init(_ files: [URL], options: ImportOptions, into database: any RecordDatabase) throws {
        if files.isEmpty { throw ImportError.invalid("There is no file to import") }
        self.files = try files.map { try ImportFile($0, format: options.format) }
        self.options = options
        self.database = database
    }

    /// Imports the files.
    /// - Parameter progress: called occasionally from the import's own task.
    /// - Throws: `ImportError` for invalid files or rows; `RecordError` if the database refuses the schema or the zone;
    ///   `CancellationError` on cancellation. Records saved until then stay, and `progress` has reported their number.
    public func run(progress: @escaping @Sendable (ImportProgress) -> Void = { _ in }) async throws -> ImportReport {
        try database.require(.editSchema)
        let content = try content(progress)
        try content.checkRows()
        let schema = try await database.require(.showSchema).schema()
        let plan = try plan(content.profiles, schema)
        let check = try check(plan, progress)
        if check.problemCount > 0, !options.skipsBadRows || check.good == 0 {
            throw ImportError.badRows(check.problems, total: check.problemCount, others: check.good)
        }
        try checkUnchanged()
        let addition = SchemaAddition(plan.addedType.map { [$0] } ?? [], to: schema)
        // Changes the schema first, so that a refusal leaves no empty zone behind.
        let (madeZone, outcome) = try await addition.apply(to: database, progress) {
            (try await database.makeZone(options.zoneID), try await save(plan, of: check.good, progress))
        }
        return ImportReport(
            recordType: options.recordType, zoneID: options.zoneID, saved: outcome.saved, unchanged: outcome.unchanged,
            fields: Dictionary(plan.fields.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first }),
            indexesMade: plan.indexesMade,
            madeType: plan.madeType, madeZone: madeZone, notes: plan.notes, skipped: check.problems,
            skippedCount: check.problemCount)
    }

    /// Checks that the files have not changed since the earlier passes.
    private func checkUnchanged() throws {
        for file in files { try file.checkUnchanged() }
    }

    // MARK: Passes

    func plan(_ profiles: [ColumnProfile], _ schema: Schema) throws -> ImportPlan {
        var plan = try ImportPlan(profiles, options: options, schema: schema)
        plan.notes = files.compactMap(\.guess) + plan.notes
        return plan
    }

    /// The columns and the number of rows of the files, determined by the first pass.
    struct Content {
        /// The columns of all files, in the order of their first occurrence. Invalid rows do not affect the types.
        var profiles: [ColumnProfile] = []
        /// The rows that could be read.
        var rowCount = 0
        /// The rows that could not be read.
        var unread = Check()
        fileprivate let paths: [String]

        /// - Throws: `ImportError` if there is no row at all, or none that could be read.
        func checkRows() throws {
            if rowCount > 0 { return }
            if unread.problemCount > 0 {
                throw ImportError.badRows(unread.problems, total: unread.problemCount, others: 0)
            }
            let names = paths.map { "'\($0)'" }.joined(separator: ", ")
            throw ImportError.invalid(
                "There is no row to import in \(names)\(profiles.isEmpty ? "" : ", only a header")")
        }
    }

    func content(_ progress: @escaping (ImportProgress) -> Void) throws -> Content {
        var content = Content(paths: files.map(\.path))
        var indexes: [Name: Int] = [:]
        func index(of column: Name) -> Int {
            if let index = indexes[column] { return index }
            indexes[column] = content.profiles.count
            content.profiles.append(ColumnProfile(column))
            return content.profiles.count - 1
        }
        var meter = ProgressMeter(.reading, files, progress)
        for (number, file) in files.enumerated() {
            var reader = try FileRowReader(file)
            for column in reader.header { _ = index(of: column) }
            while let outcome = try reader.next() {
                try meter.count(at: reader.offset, of: number)
                switch outcome {
                case .row(let row):
                    content.rowCount += 1
                    for (place, (column, cell)) in row.cells.enumerated() {
                        // The columns of a table stand in the same order in each row.
                        let isThere = place < content.profiles.count && content.profiles[place].name == column
                        let index = isThere ? place : index(of: column)
                        content.profiles[index].note(cell, place: "\(file.path):\(row.line)")
                    }
                case .bad(let line, let reason):
                    content.unread.add(RowProblem(file: file.path, line: line, reason: reason))
                }
            }
        }
        return content
    }

    struct Check {
        var good = 0
        var problems: [RowProblem] = []
        var problemCount = 0

        mutating func add(_ problem: RowProblem) {
            problemCount += 1
            if problems.count < Importer.problemLimit { problems.append(problem) }
        }
    }

    func check(_ plan: ImportPlan, _ progress: @escaping (ImportProgress) -> Void) throws -> Check {
        var check = Check()
        var converter = RowConverter(plan, files: files)
        var meter = ProgressMeter(.checking, files, progress)
        for (number, file) in files.enumerated() {
            try file.checkUnchanged()
            var reader = try FileRowReader(file)
            while let outcome = try reader.next() {
                try meter.count(at: reader.offset, of: number)
                switch outcome {
                case .row(let row):
                    do throws(BadRow) {
                        _ = try converter.record(of: row, in: number)
                        check.good += 1
                    } catch {
                        check.add(RowProblem(file: file.path, line: row.line, reason: error.reason))
                    }
                case .bad(let line, let reason): check.add(RowProblem(file: file.path, line: line, reason: reason))
                }
            }
        }
        return check
    }

    private func save(_ plan: ImportPlan, of total: Int, _ progress: @escaping (ImportProgress) -> Void) async throws
        -> BatchSaver.Outcome
    {
        var converter = RowConverter(plan, files: files)
        try checkUnchanged()
        var rows = try FileRows(files)
        func report(_ outcome: BatchSaver.Outcome) {
            let done = Double(outcome.saved + outcome.unchanged)
            progress(ImportProgress(phase: .saving, fraction: done / Double(max(total, 1)), count: outcome.saved))
        }
        report(BatchSaver.Outcome())
        let saver = BatchSaver(
            database: database, leavesUnchanged: options.keepsFields && plan.nameField != nil, setsParents: false)
        let outcome = try await saver.save(
            {
                var batch = SaveBatch(zoneID: options.zoneID)
                while !batch.isFull, let (number, outcome) = try rows.next() {
                    // The validation pass has already reported invalid rows.
                    guard case .row(let row) = outcome, let draft = try? converter.record(of: row, in: number) else {
                        continue
                    }
                    batch.add(operation(for: draft), size: draft.size, file: files[number].path, line: row.line)
                }
                try rows.checkUnchanged()
                return batch.operations.isEmpty ? nil : batch
            }, report: report)
        if plan.parentField != nil { try await saveParents(plan, after: outcome.saved) }
        return outcome
    }

    /// The save of a row.
    func operation(for draft: RowConverter.Draft) -> RecordOperation {
        var operation = RecordOperation(
            .forceReplace, recordName: draft.recordName ?? Name(UUID().uuidString), recordType: options.recordType,
            fields: draft.fields)
        if options.keepsFields {
            operation.kind = .forceUpdate
            operation.parent = draft.parent
            for name in draft.cleared { operation.fields[name] = .cleared }
        }
        return operation
    }

    /// Sets the parents of records after all records are saved. This is necessary because batches may be saved in any
    /// order, and a parent may follow its children in the file.
    private func saveParents(_ plan: ImportPlan, after saved: Int) async throws {
        var converter = RowConverter(plan, files: files)
        var rows = try FileRows(files)
        let saver = BatchSaver(database: database, savedBefore: saved, leavesUnchanged: options.keepsFields)
        _ = try await saver.save(
            {
                var batch = SaveBatch(zoneID: options.zoneID)
                while !batch.isFull, let (number, outcome) = try rows.next() {
                    guard case .row(let row) = outcome, let draft = try? converter.record(of: row, in: number),
                        case .record(let parent) = draft.parent
                    else { continue }
                    let operation = RecordOperation(
                        .forceUpdate, recordName: draft.recordName, recordType: options.recordType,
                        parent: .record(parent))
                    batch.add(operation, size: 0, file: files[number].path, line: row.line)
                }
                try rows.checkUnchanged()
                return batch.operations.isEmpty ? nil : batch
            }, report: { _ in })
    }
}

/// The rows of several files in sequence.
struct FileRows {
    private let files: [ImportFile]
    private var number = 0
    private var reader: FileRowReader

    init(_ files: [ImportFile]) throws {
        self.files = files
        reader = try Self.reader(of: files[0])
    }

    private static func reader(of file: ImportFile) throws -> FileRowReader {
        try file.checkUnchanged()
        return try FileRowReader(file)
    }

    /// - Throws: `ImportError` if the current file was modified.
    func checkUnchanged() throws {
        try files[number].checkUnchanged()
    }

    /// The next row and the index of its file; `nil` after the last one.
    mutating func next() throws -> (file: Int, outcome: RowOutcome)? {
        while true {
            if let outcome = try reader.next() { return (number, outcome) }
            guard number + 1 < files.count else { return nil }
            number += 1
            reader = try Self.reader(of: files[number])
        }
    }
}

// MARK: - Options

/// The options of an import.
public struct ImportOptions: Sendable {
    public var recordType: Name
    public var zoneID: ZoneID
    /// The format of all files; `nil` derives it from each file's name.
    public var format: FileFormat?
    /// The column with the record names. It also becomes a field, unless its name is `recordName`. If it is `nil`, a
    /// column `recordName` is used, and without one each record gets a new random name.
    public var nameField: Name?
    /// True to give each record a new random name, even if a column is called `recordName`.
    public var givesNewNames: Bool
    /// The indexes to create, by the name of the field or system field. `recordName` always gets a QUERYABLE index.
    public var indexes: [Name: Indexes]
    /// The types of columns, by their name in the file. Types of other columns are derived from their values. An
    /// existing field keeps its type.
    public var types: [Name: FieldType]
    /// True to import the valid rows of files that also contain invalid ones.
    public var skipsBadRows: Bool
    /// True if existing records keep what the files do not have: fields without a column, and in JSON those without a
    /// member. An empty cell and a null clear their field. Records that already have the values of their row are not
    /// saved. Otherwise, records with the names of rows are replaced.
    public var keepsFields: Bool

    public init(
        recordType: Name, zoneID: ZoneID = .default, format: FileFormat? = nil, nameField: Name? = nil,
        givesNewNames: Bool = false, indexes: [Name: Indexes] = [:], types: [Name: FieldType] = [:],
        skipsBadRows: Bool = false, keepsFields: Bool = false
    ) {
        self.recordType = recordType
        self.zoneID = zoneID
        self.format = format
        self.nameField = nameField
        self.givesNewNames = givesNewNames
        self.indexes = indexes
        self.types = types
        self.skipsBadRows = skipsBadRows
        self.keepsFields = keepsFields
    }
}

// MARK: - Progress

/// The progress of an import.
public struct ImportProgress: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        /// Determines the types of the columns.
        case reading
        /// Validates every row.
        case checking
        case saving
        /// Builds the indexes of new fields.
        case indexing
    }

    public var phase: Phase
    /// The completed fraction of the phase, from 0 to 1.
    public var fraction: Double
    /// The number of rows read, or records saved or indexed, in this phase. Records that need no save do not count.
    public var count: Int

    public init(phase: Phase, fraction: Double, count: Int) {
        self.phase = phase
        self.fraction = fraction
        self.count = count
    }
}

/// Converts file positions to progress reports, at most a hundred for each phase.
struct ProgressMeter {
    private let phase: ImportProgress.Phase
    private let starts: [Int]
    private let total: Int
    private let progress: (ImportProgress) -> Void
    private var rows = 0
    private var percent = -1

    init(_ phase: ImportProgress.Phase, _ files: [ImportFile], _ progress: @escaping (ImportProgress) -> Void) {
        self.phase = phase
        self.progress = progress
        var start = 0
        starts = files.map { file in
            defer { start += file.size }
            return start
        }
        total = max(start, 1)
    }

    /// - Throws: `CancellationError` if the task is cancelled.
    mutating func count(at offset: Int, of file: Int) throws {
        // Checks at each row, because a single row may be as large as thousands.
        try Task.checkCancellation()
        rows += 1
        let done = starts[file] + offset
        let percent = done * 100 / total
        if percent == self.percent { return }
        self.percent = percent
        progress(ImportProgress(phase: phase, fraction: min(1, Double(done) / Double(total)), count: rows))
    }
}

// MARK: - Result

/// The result of an import.
public struct ImportReport: Sendable {
    /// A new index.
    public struct MadeIndex: Sendable, Hashable {
        /// The name of the field, or of the system field, such as `recordName`.
        public let fieldName: Name
        public let indexes: Indexes
    }

    public let recordType: Name
    public let zoneID: ZoneID
    /// The number of records saved.
    public var saved: Int
    /// The number of records that had the values of their rows already, and were not saved.
    public let unchanged: Int
    /// The types of the imported fields.
    public let fields: [Name: FieldType]
    /// The new indexes by field name, `recordName` first.
    public let indexesMade: [MadeIndex]
    public let madeType: Bool
    public let madeZone: Bool
    /// Remarks on the data: renamed columns, columns without values, coordinates.
    public let notes: [String]
    /// The invalid rows that were skipped, at most ``Importer/problemLimit``.
    public let skipped: [RowProblem]
    public let skippedCount: Int
}

// MARK: - Errors

/// The reason why an import failed or stopped.
public enum ImportError: Error, Sendable, CustomStringConvertible {
    /// A file does not exist or can't be opened.
    case noFile(path: String, reason: String)
    /// A file can't be read to its end.
    case unreadable(file: String, line: Int?, reason: String)
    /// Invalid rows: the first of them, their total number, and the number of other rows; `nil` if no row can be
    /// skipped. Nothing was saved. The other rows can be imported without the invalid ones.
    case badRows([RowProblem], total: Int, others: Int?)
    /// The request contradicts itself, the data or the schema. Nothing was saved.
    case invalid(String)
    /// The database refused a record after other records were saved.
    case stopped(saved: Int, file: String, line: Int, RecordError)
    /// The file of an asset can't be read.
    case noAsset(saved: Int, path: String, reason: String)
    /// A read error occurred after some records were saved.
    case brokenOff(saved: Int, reason: String)

    public var description: String {
        switch self {
        case .noFile(let path, let reason): return "Can't read '\(path)': \(reason)"
        case .unreadable(let file, let line, let reason): return "\(file)\(line.map { ":\($0)" } ?? ""): \(reason)"
        case .badRows(let problems, let total, let others):
            let lines = problems.map(\.description)
            let more = total > lines.count ? ["… and \(total - lines.count) more"] : []
            let remedy =
                switch others {
                case nil: ""
                case 0?: ", because there is no other row"
                case let others?: ". --skip-bad-rows imports the other \(others)"
                }
            return (["\(total) bad row\(total == 1 ? "" : "s"); nothing was imported\(remedy)"] + lines + more).joined(
                separator: "\n")
        case .invalid(let reason): return reason
        case .stopped(let saved, let file, let line, let error):
            return "\(file):\(line): the database refused the row after \(saved) records were saved: \(error)"
        case .noAsset(let saved, let path, let reason):
            let what = saved == 0 ? "nothing was" : saved == 1 ? "1 record was" : "\(saved) records were"
            return "Can't read '\(path)', the file of an asset: \(reason); \(what) saved"
        case .brokenOff(let saved, let reason): return "The import stopped after \(saved) records were saved: \(reason)"
        }
    }
}

/// A row that can't be imported.
public struct RowProblem: Error, Sendable, Hashable, CustomStringConvertible {
    public let file: String
    /// The line number, counted from 1 and including the header.
    public let line: Int
    public let reason: String

    public init(file: String, line: Int, reason: String) {
        self.file = file
        self.line = line
        self.reason = reason
    }

    public var description: String { "\(file):\(line): \(reason)" }
}
