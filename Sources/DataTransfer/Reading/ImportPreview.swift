internal import RecordStore
public import Records

/// A dry run of an import, which reads all rows and changes nothing.
public struct ImportPreview: Sendable {
    public struct Column: Sendable, Hashable {
        /// The name of the field.
        public let fieldName: Name
        public let type: FieldType
        /// True if the record type does not have the field yet.
        public let isNew: Bool
        /// The source columns: one, or latitude and longitude.
        public let columns: [Name]
        /// The value because of which a column of numbers or dates is a STRING, such as `a.csv:5 has 'none'`.
        public let reason: String?
    }

    public struct Sample: Sendable {
        public let line: Int
        /// `nil` if the server generates the name.
        public let recordName: Name?
        public let values: [Name: FieldValue]
    }

    /// The fields in file order.
    public let fields: [Column]
    /// All columns of the file, including those without a field.
    public let columns: [Name]
    /// The column with the record names.
    public let nameField: Name?
    public let madeType: Bool
    public let indexesMade: [ImportReport.MadeIndex]
    public let notes: [String]
    /// The number of valid rows.
    public let goodRows: Int
    /// The invalid rows, at most ``Importer/problemLimit``, and their total number.
    public let problems: [RowProblem]
    public let problemCount: Int
    /// The records that the first valid rows would become.
    public let samples: [Sample]
    let plan: ImportPlan

    /// True if the rows name zones, which an import leaves out.
    public var leavesOutZones: Bool { ExportColumns.areOfExport(columns) && columns.contains("zoneName") }
}

/// The rows of an import, compared with the stored records.
public struct ImportStanding: Sendable, Hashable {
    public enum Row: Sendable, Hashable {
        /// No record has the name.
        case new
        /// The record is there, and gets other values, or is replaced.
        case changed
        /// The record is there, and has all values of the row, so it is not saved.
        case unchanged
    }

    /// The valid rows that were compared, in file order.
    public internal(set) var rows: [Row]
    /// True if these are all valid rows.
    let isWhole: Bool
    /// See ``ImportOptions/keepsFields``.
    let keepsFields: Bool
    /// The fields that existing records have and lose, because the file has no column for them; `parent` for the
    /// parent.
    public internal(set) var lost: Set<Name> = []
    /// The number of existing records that lose something.
    public internal(set) var losers = 0

    /// The number of rows without a record of their name.
    public var newCount: Int { rows.count { $0 == .new } }
    public var changedCount: Int { rows.count { $0 == .changed } }
    public var existingCount: Int { rows.count - newCount }

    /// The maximum number of fields in ``loss``.
    private static let namedLimit = 6

    /// `1 new record, 10 existing: 2 changed, 8 unchanged`
    public var summary: String {
        let new = Self.count(newCount, "new record")
        if existingCount == 0 { return part + new }
        if !keepsFields { return "\(part)\(new), \(existingCount) replaced" }
        let unchanged = existingCount - changedCount
        return "\(part)\(new), \(existingCount) existing: \(changedCount) changed, \(unchanged) unchanged"
    }

    /// The loss of existing records: `10 existing records lose author, room`; `nil` for nothing.
    public var loss: String? {
        if losers == 0 { return nil }
        let names = lost.sorted().map(\.string)
        let more = names.count - Self.namedLimit
        let fields = names.prefix(Self.namedLimit).joined(separator: ", ")
        let others = more > 0 ? " and \(Self.count(more, "more field"))" : ""
        return "\(part)\(Self.count(losers, "existing record")) \(losers == 1 ? "loses" : "lose") \(fields)\(others)"
    }

    private var part: String { isWhole ? "" : "In the first \(Self.count(rows.count, "row")): " }

    private static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}

// MARK: - Dry run

extension Importer {
    /// Reads all rows and previews the import without any change. Runs long and
    /// blocks on the disk, so it must not run on a thread that answers requests.
    /// - Parameters:
    ///   - schema: the schema of the target database.
    ///   - sampleLimit: the maximum number of sample records.
    /// - Throws: `ImportError` if the files can't be read, or columns, options
    ///   and schema do not match; `CancellationError` if the task is cancelled.
    public func preview(_ schema: Schema, sampleLimit: Int) throws -> ImportPreview {
        let content = try content { _ in }
        // Unreadable rows are part of a preview.
        if content.unread.problemCount == 0 { try content.checkRows() }
        let profiles = content.profiles
        let plan = try plan(profiles, schema)
        let check = try check(plan) { _ in }
        let known = schema.types[options.recordType]?.fields ?? [:]
        return ImportPreview(
            fields: plan.fields.map { source in
                let columns: [Name] =
                    switch source.origin {
                    case .column(let column): [column]
                    case .coordinates(let latitude, let longitude): [latitude, longitude]
                    }
                return ImportPreview.Column(
                    fieldName: source.name, type: source.type, isNew: known[source.name] == nil, columns: columns,
                    reason: source.reason)
            },
            columns: profiles.map(\.name), nameField: plan.nameField, madeType: plan.madeType,
            indexesMade: plan.indexesMade,
            notes: content.rowCount == 0 ? files.compactMap(\.guess) : plan.notes,
            goodRows: check.good, problems: check.problems, problemCount: check.problemCount,
            samples: try samples(plan, limit: sampleLimit), plan: plan)
    }

    /// Compares the first valid rows with the stored records.
    /// - Parameters:
    ///   - preview: the preview by an importer with the same files and options.
    ///   - limit: the maximum number of rows.
    /// - Returns: `nil` if the rows get new names, so that each of them is a new record.
    /// - Throws: `ImportError` if the files can't be read; `RecordError` if the database can't; `CancellationError` if
    ///   the task is cancelled.
    public func standing(of preview: ImportPreview, limit: Int) async throws -> ImportStanding? {
        guard preview.nameField != nil else { return nil }
        let drafts = try drafts(preview.plan, limit: limit)
        var standing = ImportStanding(
            rows: Array(repeating: .new, count: drafts.count), isWhole: drafts.count == preview.goodRows,
            keepsFields: options.keepsFields)
        let names = drafts.compactMap(\.recordName)
        let numbers = Dictionary(zip(names, drafts.indices), uniquingKeysWith: { first, _ in first })
        let keys = options.keepsFields ? Set(preview.plan.fields.map(\.name)) : nil
        do {
            try await database.readStored(names, in: options.zoneID, desiredKeys: keys) { record in
                guard let number = numbers[record.recordID.recordName] else { return }
                if options.keepsFields {
                    let change = try operation(for: drafts[number]).differing(from: record)
                    standing.rows[number] = change == nil ? .unchanged : .changed
                } else {
                    let lost = try drafts[number].lost(from: record)
                    standing.rows[number] = .changed
                    standing.lost.formUnion(lost)
                    if !lost.isEmpty { standing.losers += 1 }
                }
            }
        } catch let error as RecordError where error.code == .zoneNotFound {
            // The import creates the zone.
        }
        return standing
    }

    /// The records of the first valid rows, which have names.
    private func drafts(_ plan: ImportPlan, limit: Int) throws -> [RowConverter.Draft] {
        var converter = RowConverter(plan, files: files)
        var rows = try FileRows(files)
        var drafts: [RowConverter.Draft] = []
        while drafts.count < limit, let (number, outcome) = try rows.next() {
            try Task.checkCancellation()
            guard case .row(let row) = outcome, let draft = try? converter.record(of: row, in: number) else { continue }
            drafts.append(draft)
        }
        return drafts
    }

    /// The names of the columns, in the order of their first occurrence.
    /// - Throws: `ImportError` if the files can't be read; `CancellationError` if the task is cancelled.
    public func columns() throws -> [Name] {
        try content { _ in }.profiles.map(\.name)
    }

    /// The first column that can name the records: each row has a value, the values differ, and each is a name without
    /// spaces.
    /// - Returns: `nil` if there is none, or fewer than two rows.
    /// - Throws: `ImportError` if the files can't be read; `CancellationError` if the task is cancelled.
    public func namingColumn() throws -> Name? {
        var candidates = try content { _ in }.profiles.filter {
            [.string, .int64].contains($0.type?.valueType) && $0.type?.isList == false
        }.map(\.name)
        var seen: [Name: Set<Name>] = [:]
        var count = 0
        for file in files {
            var reader = try FileRowReader(file)
            while !candidates.isEmpty, let outcome = try reader.next() {
                try Task.checkCancellation()
                guard case .row(let row) = outcome else { continue }
                count += 1
                let cells = Dictionary(row.cells.map { ($0.0, $0.1) }, uniquingKeysWith: { first, _ in first })
                candidates.removeAll { column in
                    guard let name = cells[column]?.plainRecordName else { return true }
                    return !seen[column, default: []].insert(name).inserted
                }
            }
        }
        return count > 1 ? candidates.first : nil
    }

    private func samples(_ plan: ImportPlan, limit: Int) throws -> [ImportPreview.Sample] {
        guard let file = files.first else { return [] }
        var converter = RowConverter(plan, files: files)
        var reader = try FileRowReader(file)
        var samples: [ImportPreview.Sample] = []
        while samples.count < limit, let outcome = try reader.next() {
            try Task.checkCancellation()
            // Invalid rows are already among the problems.
            guard case .row(let row) = outcome, let draft = try? converter.record(of: row, in: 0) else { continue }
            var values: [Name: FieldValue] = [:]
            for (name, input) in draft.fields {
                switch input {
                case .tagged(let value, _, _), .untagged(let value, _): values[name] = value
                case .cleared: break
                }
            }
            samples.append(ImportPreview.Sample(line: row.line, recordName: draft.recordName, values: values))
        }
        return samples
    }
}

extension RowConverter.Draft {
    /// The fields of a stored record that the row does not name, and its parent.
    fileprivate func lost(from record: StoredRecord) throws -> Set<Name> {
        var lost = Set(try record.fields.decoded().map(\.name)).subtracting(fields.keys).subtracting(cleared)
        if record.parent != nil, parent == .unchanged { lost.insert("parent") }
        return lost
    }
}

extension Cell {
    /// The cell as a record name; `nil` if it can't be one, or has spaces, as titles and sentences do.
    fileprivate var plainRecordName: Name? {
        let text: String
        switch self {
        case .text(let value), .json(.string(let value)): text = value
        case .json(.integer(let integer)): text = String(integer)
        case .json: return nil
        }
        let name = Name(text)
        guard !isEmpty, !text.utf8.contains(UInt8(ascii: " ")), (try? NameRules.checkRecordName(name)) != nil else {
            return nil
        }
        return name
    }
}
