internal import JSON
public import Foundation
internal import Records
public import RecordStore

/// Imports the rows of files as records of one type.
///
/// An import goes over its files three times: to find the types of the columns, to try every row, and to save. So nothing is saved
/// unless every row is good, and a file of any size needs no more memory than its record names. What only the store can refuse, such as
/// a name that a record of another type has, stops an import on its way; its error says how far it came.
public struct Importer: Sendable {
    /// Bad rows that are reported one by one.
    public static let problemLimit = 100
    /// Operations in one request, the most that CloudKit takes.
    private static let batchSize = 200

    private let files: [ImportFile]
    private let options: ImportOptions
    private let database: any RecordDatabase

    /// - Throws: `ImportError` when a file can't be read or its format is not known.
    public init(_ files: [URL], options: ImportOptions, into database: any RecordDatabase) throws {
        if files.isEmpty { throw ImportError.invalid("There is no file to import") }
        self.files = try files.map { try ImportFile($0, format: options.format) }
        self.options = options
        self.database = database
    }

    /// Imports.
    /// - Parameter progress: called now and then from the import's own task.
    /// - Throws: `ImportError`; `RecordError` when the database refuses the schema or the zone.
    public func run(progress: @escaping @Sendable (ImportProgress) -> Void = { _ in }) async throws -> ImportReport {
        guard let editor = database as? any SchemaEditing else {
            throw ImportError.invalid("This database does not let its schema be changed, so the record type can't be made")
        }
        let plan = try ImportPlan(profiles(progress), options: options, schema: await editor.schema())
        let check = try check(plan, progress)
        if check.problemCount > 0, !options.skipsBadRows { throw ImportError.badRows(check.problems, total: check.problemCount) }
        if check.good == 0 { throw ImportError.invalid("There is no row to import") }
        // The schema first: where it can't be changed, no zone is left behind.
        if let type = plan.addedType { _ = try await editor.edit([.addType(type)]) }
        let madeZone = try await makeZone()
        let saved = try await save(plan, of: check.good, progress)
        return ImportReport(
            recordType: options.recordType, zoneID: options.zoneID, saved: saved,
            fields: Dictionary(plan.fields.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first }), indexesMade: plan.indexesMade,
            madeType: plan.madeType, madeZone: madeZone, notes: plan.notes, skipped: check.problems, skippedCount: check.problemCount)
    }

    // MARK: The passes

    /// The columns of all files together, in the order in which they first appear. Bad rows have no say in the types.
    private func profiles(_ progress: @escaping (ImportProgress) -> Void) throws -> [ColumnProfile] {
        var profiles: [ColumnProfile] = []
        var indexes: [Name: Int] = [:]
        var meter = Meter(.reading, files, progress)
        for (number, file) in files.enumerated() {
            var reader = try RowReader(file)
            while let outcome = try reader.next() {
                meter.count(at: reader.offset, of: number)
                guard case .row(let row) = outcome else { continue }
                for (column, cell) in row.cells {
                    if indexes[column] == nil {
                        indexes[column] = profiles.count
                        profiles.append(ColumnProfile(column))
                    }
                    if let index = indexes[column] { profiles[index].note(cell, place: "\(file.path):\(row.line)") }
                }
            }
        }
        return profiles
    }

    private struct Check {
        var good = 0
        var problems: [RowProblem] = []
        var problemCount = 0

        mutating func add(_ problem: RowProblem) {
            problemCount += 1
            if problems.count < Importer.problemLimit { problems.append(problem) }
        }
    }

    private func check(_ plan: ImportPlan, _ progress: @escaping (ImportProgress) -> Void) throws -> Check {
        var check = Check()
        var converter = RowConverter(plan, nameField: options.nameField, files: files)
        var meter = Meter(.checking, files, progress)
        for (number, file) in files.enumerated() {
            try file.checkUnchanged()
            var reader = try RowReader(file)
            while let outcome = try reader.next() {
                meter.count(at: reader.offset, of: number)
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

    private func save(_ plan: ImportPlan, of total: Int, _ progress: @escaping (ImportProgress) -> Void) async throws -> Int {
        var converter = RowConverter(plan, nameField: options.nameField, files: files)
        var batch = Batch()
        var saved = 0
        func report() { progress(ImportProgress(phase: .saving, fraction: Double(saved) / Double(total), count: saved)) }
        report()
        for (number, file) in files.enumerated() {
            try file.checkUnchanged()
            var reader = try RowReader(file)
            while let outcome = try reader.next() {
                guard case .row(let row) = outcome, let draft = try? converter.record(of: row, in: number) else { continue }
                batch.add(draft, as: options.recordType, place: (file.path, row.line))
                if batch.operations.count == Self.batchSize || batch.size > Batch.sizeLimit {
                    saved += try await send(batch, after: saved)
                    batch = Batch()
                    report()
                }
            }
        }
        if !batch.operations.isEmpty { saved += try await send(batch, after: saved) }
        report()
        return saved
    }

    // MARK: The database

    /// - Returns: whether the zone was missing.
    private func makeZone() async throws -> Bool {
        if options.zoneID.isDefault { return false }
        guard case .failure(let error)? = try await database.fetchZones([options.zoneID]).first else { return false }
        guard error.code == .zoneNotFound, database.address.scope == .private else { throw error }
        for outcome in try await database.modifyZones([.create(options.zoneID)]) { _ = try outcome.get() }
        return true
    }

    /// Saves one batch; waits when the database is busy.
    private func send(_ batch: Batch, after saved: Int) async throws -> Int {
        let request = ModifyRequest(batch.operations, zoneID: options.zoneID, atomic: true)
        var outcomes: [Result<ModifyOutcome, RecordError>]
        var tries = 0
        while true {
            do {
                outcomes = try await database.modify(request)
                break
            } catch let error as RecordError where error.code == .tryAgainLater && tries < 8 {
                tries += 1
                try await Task.sleep(for: .milliseconds(50 << tries))
            } catch let error as RecordError {
                throw ImportError.stopped(saved: saved, file: batch.places[0].file, line: batch.places[0].line, error)
            }
        }
        var count = 0
        var refused: (place: (file: String, line: Int), error: RecordError)?
        for (outcome, place) in zip(outcomes, batch.places) {
            switch outcome {
            case .success: count += 1
            case .failure(let error):
                // The other items of an atomic batch only say that one failed.
                if refused == nil || refused?.error.code == .atomicError { refused = (place, error) }
            }
        }
        if let refused { throw ImportError.stopped(saved: saved + count, file: refused.place.file, line: refused.place.line, refused.error) }
        return count
    }
}

/// Records that are saved together.
private struct Batch {
    /// Bytes; a request to a server may be no larger.
    static let sizeLimit = 4 << 20

    var operations: [RecordOperation] = []
    var places: [(file: String, line: Int)] = []
    var size = 0

    mutating func add(_ draft: RowConverter.Draft, as recordType: Name, place: (file: String, line: Int)) {
        let recordName = draft.recordName ?? Name(UUID().uuidString)
        operations.append(RecordOperation(.forceReplace, recordName: recordName, recordType: recordType, fields: draft.fields))
        places.append(place)
        size += draft.size
    }
}

/// Turns places in files into progress, at most a hundred times in a phase.
private struct Meter {
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

    mutating func count(at offset: Int, of file: Int) {
        rows += 1
        let done = starts[file] + offset
        let percent = done * 100 / total
        if percent == self.percent { return }
        self.percent = percent
        progress(ImportProgress(phase: phase, fraction: min(1, Double(done) / Double(total)), count: rows))
    }
}
