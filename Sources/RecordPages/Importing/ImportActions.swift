internal import Console
internal import DataTransfer
internal import HTTPServing
internal import JSON
internal import RecordStore
internal import Records

/// Receives files, previews them, and imports them in the background.
enum ImportActions {
    /// Previews the import of the sent rows or of an earlier upload.
    /// - Parameters:
    ///   - sent: the rows in the form, or the reason why they could not be kept; `nil` if the form has none.
    ///   - remark: the reason for the preview if the user did not request it.
    static func preview(
        _ visit: Visit, sent: Result<ImportUploads.Upload, RecordError>?, uploads: ImportUploads, remark: String? = nil
    ) async throws -> Answer {
        let visit = visit.inChosenZone
        let form = ImportForm(visit.fields, visit: visit)
        var upload: ImportUploads.Upload?
        do {
            if let sent {
                upload = try sent.get()
            } else if let id = visit.fields.text("upload") {
                upload = try uploads.upload(id, as: form.format)
            }
            guard let upload else { throw RecordError(.badRequest, "There is nothing to import: choose a file, or paste rows") }
            if visit.chosenZoneID == nil { throw RecordError(.badRequest, "Choose the zone for the records") }
            if form.typeName.isEmpty { throw RecordError(.badRequest, "Enter a record type for the rows") }
            let (ticked, preview) = try preview(form, upload, visit)
            return .page(ImportingView(ticked, upload, preview, remark: remark, visit: visit))
        } catch let error as RecordError {
            return .page(ImportingView(form, upload, complaint: error, visit: visit))
        }
    }

    /// Starts the import of the preview. If the result would differ now, shows a new preview.
    static func run(
        _ visit: Visit, sent: Result<ImportUploads.Upload, RecordError>?, uploads: ImportUploads, runs: BackgroundRuns
    ) async throws -> Answer {
        let visit = visit.inChosenZone
        let form = ImportForm(visit.fields, visit: visit)
        let id = visit.fields["upload"] ?? ""
        if sent == nil, let begun = uploads.run(importing: id) { return .redirect(visit.place.link("run", [("id", begun)])) }
        let upload = sent == nil ? try uploads.upload(id, as: form.format) : nil
        // A form that can't be previewed has no mark.
        let previewed = upload.flatMap { try? preview(form, $0, visit) }
        guard let upload, let (form, preview) = previewed,
            Name(form.mark(upload, nameField: form.nameField ?? "", at: visit.place)) == Name(visit.fields["previewed"] ?? "")
        else {
            // Another click may have begun the import meanwhile.
            if sent == nil, let begun = uploads.run(importing: id) { return .redirect(visit.place.link("run", [("id", begun)])) }
            let remark = "Nothing was imported: the preview is out of date. This is the new preview."
            return try await preview(visit, sent: sent, uploads: uploads, remark: remark)
        }
        if preview.problemCount > 0, !form.skipsBadRows {
            let error = RecordError(.badRequest, "Nothing was imported: some rows are not valid. Choose to skip them, or correct the file and choose it again")
            return .page(ImportingView(form, upload, preview, complaint: error, visit: visit))
        }
        guard let zoneID = visit.chosenZoneID else { throw RecordError(.badRequest, "Choose the zone for the records") }
        let options = form.options(zoneID, format: upload.format, columns: preview.columns)
        let importer = try reading { try Importer([upload.url], options: options, into: visit.database) }
        let records = [("type", form.typeName)]
        // The query also shows the records of the type that were there before.
        let shown = preview.madeType ? "Show the \(Digits.count(preview.goodRows, "record"))" : "Show all \(form.typeName) records"
        let query = Frame.Link(text: shown, href: visit.place.link("query", records))
        let back = Frame.Link(text: "Import another file", href: visit.place.link("importing"))
        let file = Frame.Link(text: "Export CSV of all \(form.typeName) records in zone \(visit.zoneName(zoneID))", href: visit.place.link("query.csv", records + [("all", "1")]))
        let run = BackgroundRun(
            heading: "Import \(upload.fileName)", verb: "saved", total: preview.goodRows, place: visit.place, back: back, results: [query, file],
            tab: .importing, problems: .skippedRows, completesAll: true)
        do {
            try uploads.take(upload, for: run.id)
        } catch {
            // A double click submits the form twice.
            guard let begun = uploads.run(importing: id) else { throw error }
            return .redirect(visit.place.link("run", [("id", begun)]))
        }
        do {
            try runs.start(run) { run in
                defer { uploads.discard(upload) }
                try await work(importer, upload, run)
            }
        } catch {
            uploads.putBack(upload)
            throw error
        }
        return .redirect(visit.place.link("run", [("id", run.id)]))
    }

    private static func work(_ importer: Importer, _ upload: ImportUploads.Upload, _ run: BackgroundRun) async throws {
        do {
            let report = try await importer.run { progress in
                run.update { state in
                    state.phase = progress.phase.words
                    if progress.phase == .saving { (state.done, state.achieved) = (progress.count, progress.count) }
                }
            }
            for problem in report.skipped {
                run.add(BackgroundRun.Problem(subject: "line \(problem.line)", href: nil, code: nil, reason: problem.reason))
            }
            run.update { state in
                (state.phase, state.done, state.achieved, state.problemCount) = (nil, state.total, report.saved, report.skippedCount)
                state.notes += report.notes.prefix(ImportingView.columnLimit).map(ImportingView.sentence(of:))
                if report.madeType { state.notes.append("The record type \(report.recordType) was created.") }
                let made = report.indexesMade.map { "\($0.fieldName) \($0.indexes.names.joined(separator: " "))" }
                if !made.isEmpty { state.notes.append("Indexes added: \(made.joined(separator: ", ")).") }
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw error
        }
    }

    /// The preview, and the form with the indexes that its page ticks: until the user chooses, those that a save in development gives new fields.
    private static func preview(
        _ form: ImportForm, _ upload: ImportUploads.Upload, _ visit: Visit
    ) throws -> (ImportForm, ImportPreview) {
        if form.hasChosenIndexes(for: upload) { return (form, try read(form, upload, visit)) }
        var form = form
        // The ticks of another file or type do not count.
        form.indexes = [:]
        let preview = try read(form, upload, visit)
        guard visit.canEditSchema else { return (form, preview) }
        for field in preview.fields.prefix(ImportingView.columnLimit) where field.isNew && !field.type.allowedIndexes.isEmpty {
            form.indexes[field.fieldName] = field.type.allowedIndexes
        }
        return (form, form.indexes.isEmpty ? preview : try read(form, upload, visit))
    }

    /// Reads all rows. Blocks the thread, so it must run on one that may block.
    private static func read(_ form: ImportForm, _ upload: ImportUploads.Upload, _ visit: Visit) throws -> ImportPreview {
        guard let schema = visit.schema else { throw visit.database.unable(.showSchema) }
        let zoneID = visit.chosenZoneID ?? .default
        let database = visit.database
        return try reading {
            let open = ImportOptions(recordType: Name(form.typeName), zoneID: zoneID, format: upload.format)
            let importer = try Importer([upload.url], options: open, into: database)
            let suggested = form.nameField == nil ? try importer.namingColumn() : nil
            let options = form.options(zoneID, format: upload.format, columns: try importer.columns(), suggested: suggested)
            return try Importer([upload.url], options: options, into: database).preview(schema, sampleLimit: ImportingView.sampleLimit)
        }
    }

    /// Converts file errors to form errors.
    private static func reading<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as ImportError {
            throw RecordError(.badRequest, error.description)
        }
    }
}

extension ImportProgress.Phase {
    fileprivate var words: String {
        switch self {
        case .reading: "detecting the column types"
        case .checking: "checking every row"
        case .saving: "saving"
        }
    }
}

extension Visit {
    /// The same visit in the zone that the form names, if it names one.
    fileprivate var inChosenZone: Visit {
        if case .one(let zoneID) = Place.zone(fields.text("zone"), owner: nil, in: place.address.scope) { return inZone(zoneID) }
        return chosenZoneID.map(inZone) ?? self
    }
}
