internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// Adds the page Snapshots, its forms, and the start page's form that opens a shared snapshot.
    func addSnapshotPages(to router: Routes.Group) {
        let actions = SnapshotActions(runs: runs)
        show("snapshots", on: router) { .page(try await SnapshotsView.load($0)) }
        showLong("snapshots/compare", on: router) { try await SnapshotView.compare($0) }
        showLong("snapshots/restore", on: router) { try await SnapshotView.askToRestore($0) }
        show("snapshots/requests", on: router) { .page(try await SnapshotRequestsView.load($0)) }
        show("snapshots/delete", on: router) { .page(try await SnapshotActions.confirmDeletion($0)) }
        act("snapshots/delete", on: router) { try await SnapshotActions.delete($0) }
        act("snapshots/restore", on: router) { try await actions.restore($0) }
        submit("snapshots/save", carries: .names, on: router) { try await actions.save($0) }
        router.get("\(Self.placePath)/snapshots/file") { request, context in
            try await SnapshotActions.file(try await Visit(request, context, fields: request.queryFields, console: self))
        }
        router.post("\(Self.placePath)/snapshots/import") { request, context in
            let (fields, file) = try await sharedFile(of: request)
            let visit = try await Visit(request, context, fields: fields, console: self)
            return try await response(to: visit) { try await context.lengthy { try await actions.add(file, visit) } }
        }
        router.post("/snapshots") { request, context in
            let (fields, file) = try await sharedFile(of: request)
            return .redirect(to: try await context.lengthy { try await actions.open(file, into: fields["container"] ?? "", console: self) })
        }
    }

    /// Adds a page that reads the whole environment, so it ends when the client disconnects.
    private func showLong(_ path: String, on router: Routes.Group, _ page: @escaping @Sendable (Visit) async throws -> some Page) {
        router.get("\(Self.placePath)/\(path)") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            return try await response(to: visit) { try await context.lengthy { .page(try await page(visit)) } }
        }
    }

    /// The fields of a form, and the file that it brings; `nil` if the user chose none.
    private func sharedFile(of request: Request) async throws -> (FormFields, MultipartForm.Part?) {
        let bytes = try await request.bodyBytes(limit: FormLimit.file.bytes)
        guard let boundary = MultipartForm.boundary(in: request.headers[.contentType]) else { return (FormFields(encoded: bytes), nil) }
        let parts = try await WorkPool.prompt.run(on: bytes.count) { MultipartForm(bytes, boundary: boundary).parts }
        let fields = FormFields(parts.filter { $0.fileName == nil }.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) })
        return (fields, parts.first { $0.fileName != nil })
    }
}
