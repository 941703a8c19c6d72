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
            samples: try samples(plan, limit: sampleLimit))
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
