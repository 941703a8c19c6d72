internal import CloudKitClient
package import Console
package import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import RecordStore
internal import Records
internal import RemoteRecordStore

extension Console {
    /// Adds the pages of the schema, the environments, the users and their keys, the connections and the checks.
    /// - Parameter open: for the page that all clients may load.
    package func addAdminPages(to router: Routes.Group, open: Routes.Group) {
        show("types", on: router) { .page(try await TypesView.load($0)) }
        show("type", on: router) { .page(try await TypeView.load($0)) }
        show("type/remove", on: router) { .page(try await TypeActions.confirmRemoval($0)) }
        show("field/remove", on: router) { .page(try await TypeActions.confirmFieldRemoval($0)) }
        show("indexes", on: router) { .page(try await IndexesView.load($0)) }
        show("roles", on: router) { .page(try await RolesView.load($0)) }
        show("history", on: router) { .page(try await HistoryView.load($0)) }
        show("schema", on: router) { .page(try await SchemaView.load($0)) }
        show("users", on: router) { .page(try await UsersView.load($0, access)) }
        show("users/user", on: router) { .page(try await UserView.load($0)) }
        show("users/remove", on: router) { .page(try UserRemovalActions.confirm($0)) }
        submit("types/create", carries: .choices, on: router) { try await TypeActions.create($0) }
        act("type/remove", on: router) { try await TypeActions.remove($0) }
        act("field/remove", on: router) { try await TypeActions.removeField($0) }
        act("type/title", on: router) { try await TitleForm.choose($0) }
        submit("type/indexes", carries: .choices, on: router) { try await SchemaActions.save($0) }
        act("composites/change", on: router) { try await SchemaActions.changeCompositeIndexes($0) }
        act("roles/add", on: router) { try await RoleActions.add($0) }
        act("roles/remove", on: router) { try await RoleActions.remove($0) }
        act("roles/give", on: router) { try await RoleMembers.give($0) }
        act("roles/take", on: router) { try await RoleMembers.take($0) }
        act("roles/grants", on: router) { try await RoleActions.setGrants($0) }
        act("users/add", on: router) { try await UsersView.add($0) }
        act("users/remove", on: router) { try await UserRemovalActions.remove($0) }
        addSchemaPages(to: router)
        addKeyPages(to: router)
        addFaults(to: router)
        addCheckPages(to: router)
        addSnapshotPages(to: router)
        addConnectionPages(to: router, open: open)
    }
}

// MARK: - Schema

extension Console {
    /// Adds the pages that copy schemas between environments and import or export schema files.
    func addSchemaPages(to router: Routes.Group) {
        // Both were pages once, and people keep their addresses.
        show("compare", on: router) { .redirect($0.place.link("deploy")) }
        show("deploy", on: router) { .page(try await DeployView.load($0)) }
        show("deploy/confirm", on: router) { try await DeployView.confirm($0) }
        submit("deploy", carries: .choices, on: router) { try await DeployView.deploy($0) }
        show("reset", on: router) { .page(try await ResetView.load($0)) }
        submit("reset", carries: .choices, on: router) { try await ResetView.reset($0) }
        submit("schema/import", carries: .schemaFile, on: router) { try await ImportView.plan($0) }
        submit("schema/apply", carries: .schemaFile, on: router) { try await ImportView.apply($0) }
        router.get("\(Self.placePath)/schema/export") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            var response = Response.content(try SchemaView.text(visit).utf8, type: "text/plain; charset=utf-8")
            // Container names are letters, digits, dots and hyphens, so the file name needs no escaping.
            response.headers[.contentDisposition] = "attachment; filename=\"\(SchemaView.fileName(visit))\""
            return response
        }
    }
}

// MARK: - Keys

extension Console {
    /// Adds the page Keys and its actions.
    func addKeyPages(to router: Routes.Group) {
        show("keys", on: router) { .page(try KeysView.load($0, access)) }
        show("keys/revoke", on: router) { .page(try KeyActions.confirmRevocation($0)) }
        act("keys/revoke", on: router) { try await KeyActions.revoke($0) }
        submit("keys/token", carries: .choices, on: router, [.showsSecret]) {
            try await KeyActions.makeToken($0, access)
        }
        submit("keys/key", carries: .choices, on: router, [.showsSecret]) {
            try await KeyActions.registerKey($0, access)
        }
        show("keys/signature", on: router) { .page(try SignatureView.load($0)) }
        // Uses POST because a body can be long and must not appear in URLs. The request changes nothing.
        submit("keys/signature", carries: .texts(of: SignatureForm.bodyLimit), on: router, [.showsSecret]) {
            .page(try await SignatureView.check($0))
        }
    }
}

// MARK: - Faults

extension Console {
    /// Adds the fault injection page, and the stop button that every page shows while faults are active.
    func addFaults(to router: Routes.Group) {
        show("rehearsals", on: router) { .page(FaultsView.load($0, faults: faults)) }
        show("rehearsals/confirm", on: router) { .page(try FaultActions.confirm($0)) }
        act("rehearsals/start", on: router, [.fromThisMachineOnly]) { try await FaultActions.start($0, faults: faults) }
        act("rehearsals/stop", on: router, [.fromThisMachineOnly]) { try FaultActions.stop($0, faults: faults) }
        router.post("/rehearsals/stop") { request, context in
            try checkPeer(of: request, context)
            faults.stop()
            return Response.redirect(to: Self.wayBack(request))
        }
    }

    /// The page that sent the form, if it is a page of a place. Otherwise `/`.
    private static func wayBack(_ request: Request) -> String {
        guard let referer = request.headers[.referer], let scheme = referer.firstRange(of: "://") else { return "/" }
        let rest = referer[scheme.upperBound...]
        return Place.local(rest.firstIndex(of: "/").map { String(rest[$0...]) }) ?? "/"
    }
}

// MARK: - Checks

extension Console {
    /// Adds the Check page and its actions.
    func addCheckPages(to router: Routes.Group) {
        show("check", on: router) { .page(try await CheckView.load($0, runs: runs)) }
        act("check/start", on: router) { try await CheckActions.start($0, runs: runs) }
        act("check/cancel", on: router) { CheckActions.cancel($0, runs: runs) }
    }
}

// MARK: - Snapshots

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
            try await SnapshotActions.file(
                try await Visit(request, context, fields: request.queryFields, console: self))
        }
        router.post("\(Self.placePath)/snapshots/import") { request, context in
            let (fields, file) = try await sharedFile(of: request)
            let visit = try await Visit(request, context, fields: fields, console: self)
            return try await response(to: visit) { try await context.lengthy { try await actions.add(file, visit) } }
        }
        router.post("/snapshots") { request, context in
            let (fields, file) = try await sharedFile(of: request)
            return .redirect(
                to: try await context.lengthy {
                    try await actions.open(file, into: fields["container"] ?? "", console: self)
                })
        }
    }

    /// Adds a page that reads the whole environment, so it ends when the client disconnects.
    private func showLong(
        _ path: String, on router: Routes.Group, _ page: @escaping @Sendable (Visit) async throws -> some Page
    ) {
        router.get("\(Self.placePath)/\(path)") { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            return try await response(to: visit) { try await context.lengthy { .page(try await page(visit)) } }
        }
    }

    /// The fields of a form, and the file that it brings; `nil` if the user chose none.
    private func sharedFile(of request: Request) async throws -> (FormFields, MultipartForm.Part?) {
        let bytes = try await request.bodyBytes(limit: FormLimit.file.bytes)
        let contentType = request.headers[.contentType]
        return try await WorkPool.prompt.run(on: bytes.count) {
            guard let form = MultipartForm(bytes, contentType: contentType) else {
                return (FormFields(encoded: bytes), nil)
            }
            return (form.fields, form.parts.first { $0.fileName != nil })
        }
    }
}

// MARK: - Connections

extension Console {
    /// Adds the page Connected containers, and the way to a sign-in at iCloud and back.
    /// - Parameter open: for the pages to which iCloud's site leads: browsers send no session with such a request.
    func addConnectionPages(to router: Routes.Group, open: Routes.Group) {
        guard connections != nil else { return }
        let actions = ConnectActions(console: self)
        router.get(ConnectActions.path) { request, _ in
            let notice = Notice.text(request.queryFields["notice"]).map { NoticeView($0) }
            return try alone(ConnectView.page(self, origin: request.ownOrigin), notice: notice)
        }
        router.post(ConnectActions.path) { request, _ in
            let fields = try await request.form(.names)
            switch try await actions.connect(fields, origin: request.ownOrigin) {
            case .connected: return .redirect(to: Self.connectedAddress)
            case .complaint(let draft):
                return try alone(ConnectView.page(self, origin: request.ownOrigin, draft: draft))
            case .signIn(let signIn):
                var answer = Response.redirect(to: FormFields.url(ConnectActions.signInPath, [("id", signIn.id)]))
                answer.headers[.setCookie] = access.returnCookie(
                    signIn.secret, for: request, seconds: Int(SignInsUnderWay.lifetime.components.seconds))
                return answer
            }
        }
        router.get(ConnectActions.signInPath) { request, _ in
            guard let signIn = actions.signIns.signIn(request.queryFields["id"] ?? "") else {
                throw RecordError(
                    .notFound, "This sign-in has expired; start it again on the page Connected containers")
            }
            if signIn.outcome == .connected { return .redirect(to: Self.connectedAddress) }
            var answer = try alone(SignInWaitView(signIn))
            // The window of the sign-in has to find this one, to post its message.
            answer.headers[.crossOriginOpenerPolicy] = "same-origin-allow-popups"
            return answer
        }
        // The message that the window of the sign-in posted to the page that opened it.
        router.post(ConnectActions.answerPath) { request, _ in
            let body = String(decoding: try await request.bodyBytes(limit: FormLimit.names.bytes), as: UTF8.self)
            guard let signIn = actions.signIns.signIn(FormFields(encoded: body.utf8)["id"] ?? ""),
                let answer = SignInAnswer(query: body)
            else {
                throw RecordError(.badRequest, "The form belongs to no sign-in in progress")
            }
            await actions.finish(signIn, answer)
            return Response(status: .noContent)
        }
        addSignInReturn(to: open, actions)
        router.get(ConnectActions.forgetPath) { request, _ in
            try alone(try actions.confirmForgetting(request.queryFields))
        }
        router.post(ConnectActions.forgetPath) { request, _ in
            try await actions.forget(try await request.form(.names))
            return .redirect(to: FormFields.url(ConnectActions.path, [Notice.connectionForgotten.parameter]))
        }
    }

    private static let connectedAddress = FormFields.url(ConnectActions.path, [Notice.connected.parameter])

    /// The address that an API token names: iCloud leads the browser here with the token of the sign-in. It is taken,
    /// and the browser led away at once, so that the token is in no page and in no history. The cookie tells that this
    /// browser began the sign-in.
    private func addSignInReturn(to open: Routes.Group, _ actions: ConnectActions) {
        open.get(ConnectActions.returnPath) { request, _ in
            // Content that a page on another port embeds has the cookie too.
            let isFollowed = request.headers[.secFetchMode].map { $0 == "navigate" } ?? true
            let signIn = isFollowed ? actions.signIns.signIn(withSecret: access.returnSecrets(of: request)) : nil
            if let signIn,
                let answer = SignInAnswer(query: request.head.path.map { $0.drop { $0 != "?" }.dropFirst() } ?? "")
            {
                await actions.finish(signIn, answer)
            }
            // Also without a sign-in: the browser would keep the address of an error page, with the token.
            var response = Response.redirect(
                to: FormFields.url(ConnectActions.returnedPath, signIn.map { [("id", $0.id)] } ?? []))
            response.headers[.cacheControl] = "no-store"
            response.headers[.referrerPolicy] = "no-referrer"
            response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
            return response
        }
        open.get(ConnectActions.returnedPath) { request, _ in
            guard let id = request.queryFields.text("id") else {
                throw RecordError(
                    .notFound,
                    "No sign-in to iCloud is in progress in this browser. Start it on the page Connected containers, at the same address"
                )
            }
            let next = FormFields.url(ConnectActions.signInPath, [("id", id)])
            var response = try alone(SignInReturnView(next: next, script: renderer.staticFiles.url("connect.js")))
            // A window that the console opened closes itself.
            response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
            return response
        }
    }

    /// A page outside of any place. It may be about credentials, so nobody keeps it.
    private func alone(_ page: some Page, notice: NoticeView? = nil) throws -> Response {
        let frame = Frame(title: page.title, staticFiles: renderer.staticFiles, notice: notice)
        var response = try renderer.response(page, in: frame)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
