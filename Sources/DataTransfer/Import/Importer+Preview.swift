public import JSON
public import Records
internal import RecordStore

extension Importer {
    /// Reads all rows and says what importing them would do. Nothing is changed. It computes for long and waits for the disk: not for threads that
    /// answer requests.
    /// - Parameters:
    ///   - schema: of the database that is imported into.
    ///   - sampleLimit: rows that are shown as records.
    /// - Throws: `ImportError` when the files can't be read, or columns, options and schema don't go together; `CancellationError` when the task
    ///   is cancelled.
    public func preview(_ schema: Schema, sampleLimit: Int) throws -> ImportPreview {
        let profiles = try profiles { _ in }
        let plan = try ImportPlan(profiles, options: options, schema: schema)
        let check = try check(plan) { _ in }
        let known = schema.types[options.recordType]?.fields ?? [:]
        return ImportPreview(
            fields: plan.fields.map { source in
                let columns: [Name] =
                    switch source.origin {
                    case .column(let column): [column]
                    case .coordinates(let latitude, let longitude): [latitude, longitude]
                    }
                return ImportPreview.Column(fieldName: source.name, type: source.type, isNew: known[source.name] == nil, columns: columns)
            },
            columns: profiles.map(\.name), nameField: options.nameField, madeType: plan.madeType, indexesMade: plan.indexesMade, notes: plan.notes,
            goodRows: check.good, problems: check.problems, problemCount: check.problemCount, samples: try samples(plan, limit: sampleLimit))
    }

    /// The names of the columns, in the order in which rows first have them.
    /// - Throws: `ImportError` when the files can't be read; `CancellationError` when the task is cancelled.
    public func columns() throws -> [Name] {
        try profiles { _ in }.map(\.name)
    }

    private func samples(_ plan: ImportPlan, limit: Int) throws -> [ImportPreview.Sample] {
        guard let file = files.first else { return [] }
        var converter = RowConverter(plan, nameField: options.nameField, files: files)
        var reader = try RowReader(file)
        var samples: [ImportPreview.Sample] = []
        while samples.count < limit, let outcome = try reader.next() {
            try Task.checkCancellation()
            // Rows that make no record stand among the problems.
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
