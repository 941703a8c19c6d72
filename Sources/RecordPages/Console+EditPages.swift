internal import Console
internal import DataTransfer
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// Adds the pages that change data: single records, all records that match a query, and imports from files.
    func addEditPages(to router: Routes.Group) {
        let uploads = ImportUploads()
        uploads.sweepLeftovers()
        ZoneCopy.scratchFolder().later { $0.sweep() }
        show("record/new", on: router, readsZones: true) { .page(try await EditActions.new($0)) }
        show("record/edit", on: router, readsZones: true) { try await EditActions.edit($0) }
        show("record/duplicate", on: router, readsZones: true) { .page(try await EditActions.duplicate($0)) }
        // As it was, and as it is now.
        submit("record/save", carries: .record(times: 2), on: router) { try await EditActions.submit($0) }
        // As it was, mine and theirs.
        submit("record/resolve", carries: .record(times: 3), on: router) { try await EditActions.resolve($0) }
        router.get("\(Self.placePath)/record/names") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            return Response.content(try await RecordNames.json(visit), type: "application/json")
        }
        show("bulk", on: router, readsZones: true) { .page(try await BulkView.load($0)) }
        // A value may be too long for an address.
        ask("bulk", carries: .record(times: 1), on: router, [.readsZones]) { try await BulkView.load($0) }
        submit("bulk/run", carries: .record(times: 1), on: router) { try await BulkView.run($0, runs: runs) }
        show("record/compare", on: router, readsZones: true) { .page(try await RecordComparisonView.load($0)) }
        show("record/copy", on: router, readsZones: true) { .page(try await RecordCopyView.load($0)) }
        submit("record/copy", carries: .choices, on: router, [.takesLong]) { try await RecordCopyView.submit($0) }
        show("zone/copy", on: router, readsZones: true) { .page(try await ZoneCopyView.load($0)) }
        submit("zone/copy", carries: .choices, on: router) { try await ZoneCopyView.copy($0, runs: runs) }
        show("importing", on: router, readsZones: true) { .page(ImportingView(ImportForm($0.fields, visit: $0), visit: $0)) }
        bring("importing/preview", to: uploads, on: router) { visit, sent in try await ImportActions.preview(visit, sent: sent, uploads: uploads) }
        bring("importing/run", to: uploads, on: router) { visit, sent in try await ImportActions.run(visit, sent: sent, uploads: uploads, runs: runs) }
    }

    /// A form that may bring rows to import, and takes long. What it brought is on the disk meanwhile, and nothing of it in memory.
    private func bring(
        _ path: String, to uploads: ImportUploads, on router: Routes.Group,
        _ action: @escaping @Sendable (Visit, Result<ImportUploads.Upload, RecordError>?) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(path)") { request, context in
            let (visit, sent) = try await keepRows(of: request, context, in: uploads)
            RequestMemory.current?.dropBody()
            return try await response(to: visit) { try await context.lengthy { try await action(visit, sent) } }
        }
    }

    /// Keeps the rows of a form, which are in a file or in its text; `nil` if it has none. The visit has the other fields.
    private func keepRows(
        of request: Request, _ context: ServingRequestContext, in uploads: ImportUploads
    ) async throws -> (Visit, Result<ImportUploads.Upload, RecordError>?) {
        let bytes = try await request.bodyBytes(limit: FormLimit.file.bytes)
        let contentType = request.headers[.contentType]
        let (fields, file) = try await WorkPool.prompt.run(on: bytes.count) { Self.form(bytes, contentType) }
        let others = FormFields(fields.pairs.filter { $0.name != "text" })
        // Before anything is kept: a place that does not exist may not push out other uploads.
        let visit = try await Visit(request, context, fields: others, console: self)
        guard let rows = file ?? fields.text("text").map({ (Array($0.utf8), "") }) else { return (visit, nil) }
        do {
            let format = fields["format"].flatMap { FileFormat(rawValue: $0) }
            return (visit, .success(try await uploads.keep(rows.bytes, fileName: rows.name, format: format)))
        } catch let error as RecordError {
            return (visit, .failure(error))
        }
    }

    /// The fields of a URL-encoded or multipart form, and its file. The file is `nil` if the user chose none.
    private static func form(_ bytes: [UInt8], _ contentType: String?) -> (FormFields, (bytes: [UInt8], name: String)?) {
        guard let boundary = MultipartForm.boundary(in: contentType) else { return (FormFields(encoded: bytes), nil) }
        let parts = MultipartForm(bytes, boundary: boundary).parts
        let fields = FormFields(parts.filter { $0.fileName == nil }.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })
        let file = parts.first { $0.fileName.map { !$0.isEmpty } ?? false }
        return (fields, file.map { ($0.bytes, $0.fileName ?? "") })
    }
}
