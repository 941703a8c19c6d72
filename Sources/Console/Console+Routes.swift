internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// The default size limit of a form, in bytes.
    private static let formLimit = 1 << 20
    static let placePath = "/c/:container/:environment/:database"

    func addStaticFiles(to router: Router<ServingRequestContext>) {
        router.get("/static/:name") { request, context in
            guard let name = context.parameters.get("name"), let response = renderer.staticFiles.response(name, to: request) else {
                throw HTTPError(.notFound)
            }
            return response
        }
    }

    /// Adds the pages outside of any container.
    func addServerPages(to router: Router<ServingRequestContext>) {
        router.get("/") { request, _ in
            let page = try await HomeView.load(request.queryFields, console: self)
            return try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
        }
        router.post("/containers") { request, _ in
            let fields = try await request.form(limit: Self.formLimit)
            return Response.redirect(to: try await HomeView.create(fields, engine: engine, accounts: accounts))
        }
        router.get("/find") { request, _ in
            switch try await Finder.answer(request.queryFields, console: self) {
            case .redirect(let location): return Response.redirect(to: location)
            case .page(let page): return try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
            }
        }
    }

    func addPages(to router: Router<ServingRequestContext>) {
        show("query", on: router) { try await QueryView.answer($0) }
        show("fetch", on: router) { .page(try await FetchView.load($0)) }
        show("changes", on: router) { visit in
            if let zoneID = visit.place.zoneID { return .page(try await RecordFeedView.load(visit, zoneID: zoneID)) }
            return .page(try await ZoneFeedView.load(visit))
        }
        show("record", on: router) { .page(try await RecordView.load($0)) }
        show("record/delete", on: router) { .page(try await RecordActions.confirmDeletion($0)) }
        show("zones", on: router) { .page(try await ZonesView.load($0)) }
        show("zone", on: router) { .page(try await ZoneView.load($0)) }
        show("zone/delete", on: router) { .page(try await ZoneActions.confirmDeletion($0)) }
        show("zone/purge", on: router) { .page(try await ZoneActions.confirmPurge($0)) }
        show("zone/unshare", on: router) { .page(try await ZoneActions.confirmEndOfSharing($0)) }
        show("types", on: router) { .page(try await TypesView.load($0)) }
        show("type", on: router) { .page(try await TypeView.load($0)) }
        show("type/remove", on: router) { .page(try await TypeActions.confirmRemoval($0)) }
        show("field/remove", on: router) { .page(try await TypeActions.confirmFieldRemoval($0)) }
        show("indexes", on: router) { .page(try await IndexesView.load($0)) }
        show("roles", on: router) { .page(try await RolesView.load($0)) }
        show("history", on: router) { .page(try await HistoryView.load($0)) }
        show("schema", on: router) { .page(try await SchemaView.load($0)) }
        show("find", on: router) { try await Finder.answer($0) }
        show("users", on: router) { .page(try await UsersView.load($0, access)) }
        show("users/user", on: router) { .page(try await UserView.load($0)) }
        show("users/remove", on: router) { .page(try UserRemovalActions.confirm($0)) }
    }

    func addActions(to router: Router<ServingRequestContext>) {
        act("record/delete", on: router) { try await RecordActions.delete($0) }
        act("zones/create", on: router) { try await ZoneActions.create($0) }
        act("zone/delete", on: router) { try await ZoneActions.delete($0) }
        act("zone/purge", on: router) { try await ZoneActions.purge($0) }
        act("zone/share", on: router) { try await ZoneActions.share($0) }
        act("zone/unshare", on: router) { try await ZoneActions.stopSharing($0) }
        act("types/create", on: router) { try await TypeActions.create($0) }
        act("type/remove", on: router) { try await TypeActions.remove($0) }
        act("field/add", on: router) { try await TypeActions.addField($0) }
        act("field/remove", on: router) { try await TypeActions.removeField($0) }
        act("type/indexes", on: router) { try await SchemaActions.changeIndexes($0) }
        act("composites/change", on: router) { try await SchemaActions.changeCompositeIndexes($0) }
        act("roles/add", on: router) { try await RoleActions.add($0) }
        act("roles/remove", on: router) { try await RoleActions.remove($0) }
        act("roles/give", on: router) { try await RoleMembers.give($0) }
        act("roles/take", on: router) { try await RoleMembers.take($0) }
        act("roles/grants", on: router) { try await RoleActions.setGrants($0) }
        act("users/add", on: router) { try await UsersView.add($0) }
        act("users/remove", on: router) { try await UserRemovalActions.remove($0) }
    }

    /// Adds a page of a place. An error appears within the page frame, with links back.
    func show(
        _ page: String, on router: Router<ServingRequestContext>, _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.get(RouterPath("\(Self.placePath)/\(page)")) { request, context in
            let visit = try await Visit(request, context, fields: request.queryFields, console: self)
            return try await response(to: visit) { try await answer(visit) }
        }
    }

    /// Adds a form that changes data and then redirects to the address that the action returns.
    func act(
        _ path: String, on router: Router<ServingRequestContext>, fromThisMachineOnly: Bool = false,
        _ action: @escaping @Sendable (Visit) async throws -> String
    ) {
        router.post(RouterPath("\(Self.placePath)/\(path)")) { request, context in
            if fromThisMachineOnly { try checkPeer(of: request, context) }
            let fields = try await request.form(limit: Self.formLimit)
            let visit = try await Visit(request, context, fields: fields, console: self)
            return try await response(to: visit) { .redirect(try await action(visit)) }
        }
    }

    func response(to visit: Visit, _ answer: () async throws -> Answer) async throws -> Response {
        let page: any Page
        do {
            switch try await answer() {
            case .redirect(let location): return .redirect(to: location)
            case .page(let answered): page = answered
            }
        } catch let error as RecordError {
            // A refused form names the page that it was on.
            let form = SchemaActions.local(visit.fields["from"]).map { Frame.Link(text: "Back", href: $0) }
            page = ErrorView(error, back: form ?? Frame.Link(text: "Back to the records", href: visit.place.link(Tab.query.rawValue)))
        }
        return try renderer.response(page, in: Frame(title: page.title, tab: type(of: page).tab, visit: visit, staticFiles: renderer.staticFiles))
    }
}
