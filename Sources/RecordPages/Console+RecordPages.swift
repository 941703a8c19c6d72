internal import Accounts
package import Console
internal import DataTransfer
package import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
package import Records

extension Console {
    /// Adds the pages that read and write records.
    /// - Parameter deliveries: finds the clients that received a record, for the record's page.
    package func addRecordPages(
        to router: Routes.Group,
        deliveries: @escaping @Sendable (RecordID, StoredRecord?, Visit) async throws -> (any ViewModel)?
    ) {
        show("query", on: router, readsZones: true) { try await QueryView.answer($0) }
        show("fetch", on: router, readsZones: true) { .page(try await FetchView.load($0)) }
        show("explain", on: router, readsZones: true) { try await ExplainView.answer($0) }
        show("advice", on: router) { .page(try await AdviceView.load($0)) }
        show("record", on: router) { .page(try await RecordView.load($0, deliveries: deliveries)) }
        show("objects", on: router, readsZones: true) { .page(try await ObjectsView.load($0)) }
        show("objects/entity", on: router, readsZones: true) { .page(try await EntityView.load($0)) }
        show("object", on: router) { try await ObjectView.answer($0) }
        show("record/delete", on: router) { .page(try await RecordActions.confirmDeletion($0)) }
        act("record/delete", on: router) { try await RecordActions.delete($0) }
        addResultPages(to: router)
        addHistoryPages(to: router)
        addEditPages(to: router)
        addMirrorPages(to: router)
        addSharePages(to: router)
        addSubscriptionPages(to: router)
        addKeyValuePages(to: router)
    }
}

// MARK: - Results

extension Console {
    /// Adds result downloads and the actions for the records ticked on a page.
    func addResultPages(to router: Routes.Group) {
        for format in ResultFormat.allCases {
            file("query.\(format.rawValue)", on: router) {
                try await QueryResults($0, format: format, origin: $1).response()
            }
            file("fetch.\(format.rawValue)", on: router) {
                try await FetchResults(visit: $0, format: format, origin: $1).response()
            }
        }
        file("record/file", on: router, readsZones: false) { visit, _ in try await ConnectedFile.response(visit) }
        pick("picked", on: router) { try await PickedActions.answer($0) }
        pick("picked/delete", on: router) { try await PickedActions.delete($0) }
        act("queries/save", on: router) { try await SavedQueryActions.save($0) }
        act("queries/remove", on: router) { try await SavedQueryActions.remove($0) }
    }

    /// Adds a download. Errors are answered in JSON with a status code, without a page.
    private func file(
        _ path: String, on router: Routes.Group, readsZones: Bool = true,
        _ answer: @escaping @Sendable (Visit, String) async throws -> Response
    ) {
        router.get("\(Self.placePath)/\(path)") { request, context in
            let visit = try await Visit(
                request, context, fields: request.queryFields, console: self, readsZones: readsZones)
            do {
                return try await answer(visit, request.ownOrigin)
            } catch let error as RecordError {
                return .refusal(error)
            }
        }
    }

    /// Adds an action for the ticked records of a table. It answers with a file or with a page.
    private func pick(
        _ path: String, on router: Routes.Group, _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(path)") { request, context in
            let fields = try await request.form(.choices)
            let visit = try await Visit(request, context, fields: fields, console: self)
            guard let format = fields["do"].flatMap(ResultFormat.init(rawValue:)) else {
                return try await response(to: visit) { try await answer(visit) }
            }
            do {
                let results = FetchResults(visit: visit, format: format, origin: request.ownOrigin)
                return try await results.response(visit.pickedRecords().map(\.recordID), keys: nil)
            } catch let error as RecordError {
                return .refusal(error)
            }
        }
    }
}

// MARK: - History

extension Console {
    /// Adds the pages that show the history of a record and restore earlier versions.
    func addHistoryPages(to router: Routes.Group) {
        show("record/history", on: router) { .page(try await RecordHistoryView.load($0)) }
        show("record/restore", on: router) { .page(try await RestoreView.load($0)) }
        act("record/restore", on: router) { try await RecordRestoring.restore($0) }
    }
}

// MARK: - Edits and imports

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
        show("importing", on: router, readsZones: true) {
            .page(ImportingView(ImportForm($0.fields, visit: $0), visit: $0))
        }
        bring("importing/preview", to: uploads, on: router) { visit, sent in
            try await ImportActions.preview(visit, sent: sent, uploads: uploads)
        }
        bring("importing/run", to: uploads, on: router) { visit, sent in
            try await ImportActions.run(visit, sent: sent, uploads: uploads, runs: runs)
        }
    }

    /// A form that may bring rows to import, and takes long. What it brought is on the disk meanwhile, and nothing of
    /// it in memory.
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

    /// Keeps the rows of a form, which are in a file or in its text; `nil` if it has none. The visit has the other
    /// fields.
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
    private static func form(_ bytes: [UInt8], _ contentType: String?) -> (FormFields, (bytes: [UInt8], name: String)?)
    {
        guard let form = MultipartForm(bytes, contentType: contentType) else {
            return (FormFields(encoded: bytes), nil)
        }
        let file = form.parts.first { $0.fileName.map { !$0.isEmpty } ?? false }
        return (form.fields, file.map { ($0.bytes, $0.fileName ?? "") })
    }
}

// MARK: - Mirrors

extension Console {
    /// Adds the pages of a connected container's mirror, and those of the changes in it that iCloud does not have.
    func addMirrorPages(to router: Routes.Group) {
        guard connections != nil else { return }
        let jobs = MirrorJobs(accounts)
        show("mirror", on: router) { .page(try await MirrorView.load($0, jobs: jobs)) }
        submit("mirror/start", carries: .choices, on: router) {
            try await MirrorActions.start($0, runs: runs, jobs: jobs)
        }
        act("mirror/stop", on: router) { try MirrorActions.stop($0, jobs: jobs) }
        act("mirror/files", on: router) { try await MirrorActions.fetchFiles($0, jobs: jobs) }
        show("unsent", on: router) { .page(try await UnsentView.load($0)) }
        act("unsent/send", on: router) { try await UnsentActions.send($0, runs: runs, jobs: jobs) }
        act("unsent/settle", on: router) { try await UnsentActions.settle($0) }
        show("unsent/conflict", on: router) { .page(try await UnsentActions.conflict($0)) }
        submit("unsent/resolve", carries: .record(times: 3), on: router) { try await UnsentActions.resolve($0) }
    }
}

// MARK: - Shares

extension Console {
    /// Adds the pages that make and change shares, and those that links of shares open.
    func addSharePages(to router: Routes.Group) {
        show("share", on: router) { .page(try await ShareView.load($0)) }
        submit("share", carries: .record(times: 1), on: router) { try await ShareActions.submit($0) }
        show("share/stop", on: router) { .page(try await ShareActions.confirmStop($0)) }
        submit("share/stop", carries: .choices, on: router) { try await ShareActions.stop($0) }
        show("share/leave", on: router) { .page(try await ShareActions.confirmLeaving($0)) }
        act("share/leave", on: router) { try await ShareActions.leave($0) }
        router.get("\(ShareLink.path)/{id}") { request, context in
            let shortGUID = String(context.parts[1])
            do {
                let invitation = try await Invitation.find(shortGUID, self)
                return try response(InvitationView(invitation, accepted: request.queryFields["as"], accounts))
            } catch let error as RecordError where error.code == .notFound {
                return try response(InvitationView(error))
            }
        }
        router.get("\(ShareLink.path)/{id}/thumbnail") { _, context in
            guard let image = try await Invitation.find(String(context.parts[1]), self).thumbnail() else {
                throw HTTPError(.notFound)
            }
            return .content(image.bytes, type: image.mediaType)
        }
        router.post("\(ShareLink.path)/{id}") { request, context in
            let shortGUID = String(context.parts[1])
            let fields = try await request.form(.names)
            return try await accept(shortGUID, as: fields.text("user") ?? fields["who"] ?? "")
        }
    }

    private func accept(_ shortGUID: String, as name: String) async throws -> Response {
        let invitation: Invitation
        do { invitation = try await Invitation.find(shortGUID, self) } catch let error as RecordError
            where error.code == .notFound
        {
            return try response(InvitationView(error))
        }
        do {
            guard let user = accounts.user(named: name), !user.isServerKey else {
                throw RecordError(.notFound, "There is no user '\(name)'")
            }
            try await invitation.accept(as: user, self)
            return .redirect(
                to: FormFields.url("\(ShareLink.path)/\(invitation.share.share.shortGUID)", [("as", user.handle)]))
        } catch let error as RecordError {
            return try response(InvitationView(invitation, error: error, for: name, accounts))
        }
    }

    private func response(_ page: InvitationView) throws -> Response {
        try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}

// MARK: - Subscriptions

extension Console {
    /// Adds the pages of subscriptions: the list, and the form that makes and changes one.
    func addSubscriptionPages(to router: Routes.Group) {
        show("subscriptions", on: router) { .page(try await SubscriptionsView.load($0)) }
        show("subscription", on: router, readsZones: true) { .page(try await SubscriptionView.load($0)) }
        submit("subscription", carries: .record(times: 1), on: router, [.readsZones]) {
            try await SubscriptionView.submit($0)
        }
        show("subscription/delete", on: router) { .page(try SubscriptionActions.confirmDeletion($0)) }
        act("subscription/delete", on: router) { try await SubscriptionActions.delete($0) }
    }
}

// MARK: - Key-value stores

extension Console {
    /// Adds the page of a user's key-value store.
    func addKeyValuePages(to router: Routes.Group) {
        show("keyvalues", on: router) { .page(try await KeyValuesView.load($0)) }
        submit("keyvalues", carries: .texts(of: KeyValueLimits.bytes), on: router) {
            try await KeyValuesView.submit($0)
        }
        show("keyvalues/remove", on: router) { .page(try KeyValuesView.confirmRemoval($0)) }
        act("keyvalues/remove", on: router) { try await KeyValuesView.remove($0) }
    }
}
