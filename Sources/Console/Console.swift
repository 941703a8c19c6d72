public import Accounts
public import AssetStore
public import HTTPServing
internal import HTTPTypes
public import Hummingbird
public import RecordStore
internal import Records
public import RemoteRecordStore
public import RequestLog

/// The web console: the pages Query, Fetch and Changes, and the tools around them.
///
/// The server renders the pages, and they work without scripts. The URL holds the whole state of a page. GET requests
/// change nothing.
public struct Console: Sendable {
    package let engine: any RecordEngine
    /// The same engine, if it has containers in iCloud; `nil` if this console can't connect to any.
    package let connections: ContainersByEngine?
    package let accounts: Accounts
    /// The access rules for the pages.
    package let access: AccessControl
    /// The stores of asset files.
    package let assets: AssetStores
    package let faults: FaultInjection
    /// The log of web service requests.
    package let log: RequestLog
    /// The web services of this server, for replays of requests; `nil` if replays are not available.
    package let webServices: (any HTTPResponder<ServingRequestContext>)?
    /// Sends notifications again; `nil` if this is not available.
    package let notificationSender: (any NotificationSender)?
    /// Fills an empty server with demo data; `nil` if this is not available.
    let loadDemo: (@Sendable () async throws -> Void)?
    package let renderer: PageRenderer
    /// The background jobs that process many records.
    package let runs = BackgroundRuns()
    /// The latest changes of records, which can be undone.
    package let changes = UndoableChanges()

    /// - Parameters:
    ///   - engine: the engine without fault injection: the console always shows the stored data.
    ///   - connections: the same engine, if it has containers in iCloud.
    ///   - assets: the asset files of the engine's records.
    ///   - faults: the fault injection settings of the web services.
    ///   - log: the request log of the web services.
    ///   - webServices: answers replayed requests; `nil` disables replays.
    ///   - notificationSender: sends notifications of the log again; `nil` disables this.
    ///   - loadDemo: fills an empty server with demo data; `nil` disables this.
    ///   - access: the access rules; `nil` lets all clients in.
    ///   - templatesFolder: the folder of the templates, which are read again for each page; `nil` for the templates in
    ///     the binary.
    ///   - publicFolder: the folder of the style sheet, scripts and icons; `nil` for the files in the binary.
    /// - Throws: a file system error, or a parser error of a template.
    public init(
        engine: any RecordEngine, connections: ContainersByEngine? = nil, accounts: Accounts, assets: AssetStores,
        faults: FaultInjection = FaultInjection(), log: RequestLog = RequestLog(),
        webServices: (any HTTPResponder<ServingRequestContext>)? = nil,
        notificationSender: (any NotificationSender)? = nil,
        loadDemo: (@Sendable () async throws -> Void)? = nil, access: AccessControl? = nil,
        templatesFolder: String?, publicFolder: String?
    ) throws {
        self.engine = engine
        self.connections = connections
        self.accounts = accounts
        self.access = access ?? .open(accounts)
        self.assets = assets
        self.faults = faults
        self.log = log
        self.webServices = webServices
        self.notificationSender = notificationSender
        self.loadDemo = loadDemo
        renderer = try PageRenderer(
            folder: templatesFolder, staticFiles: StaticFiles(folder: publicFolder), faults: faults)
    }

    /// Adds the start page, the sign-in, the static files, and the error pages.
    ///
    /// Requires the guards of `HTTPServing`: they set the security headers and refuse forms from other sites.
    /// - Returns: the group for all other pages, which are for the administrator alone, and the one for pages that all
    ///   clients may load.
    package func addFrame(to routes: Routes) -> (router: Routes.Group, open: Routes.Group) {
        let errors = ErrorPages(renderer: renderer)
        addStaticFiles(
            to: routes.group { request, context, next in try await errors.handle { try await next(request, context) } })
        let open = routes.group { request, context, next in
            try await Self.offEventLoop { try await errors.handle { try await next(request, context) } }
        }
        addSignInPages(to: open)
        addAdministratorSignIn(to: open)
        // The administrator alone may use the routes below. Their error pages are part of the session.
        let gate = access.mode == .required ? ConsoleGate(access: access, renderer: renderer) : nil
        let router = routes.group { request, context, next in
            try await Self.offEventLoop {
                try await ShownNotice.handle(request) { request in
                    try await errors.handle {
                        guard let gate else { return try await next(request, context) }
                        return try await gate.handle(request, context) { request in
                            try await errors.handle { try await next(request, context) }
                        }
                    }
                }
            }
        }
        router.otherwise { _, _ in throw HTTPError(.notFound) }
        addSignOut(to: router)
        addServerPages(to: router)
        addContainerPages(to: router)
        addShortAddresses(to: router)
        show("find", on: router, readsZones: true) { try await Finder.answer($0) }
        // While somebody types. iCloud is not asked for that.
        show("find/list", on: router) { .page(try await FindView.load($0)) }
        show("run", on: router) { .page(try RunView.load($0, runs: runs)) }
        act("run/cancel", on: router) { try RunView.cancel($0, runs: runs) }
        act(UndoAction.path, on: router) { try await UndoAction.submit($0, runs: runs) }
        return (router, open)
    }

    /// Runs a handler on Swift's shared threads. Templates take milliseconds, which would delay the other connections
    /// of an event loop.
    private static func offEventLoop(_ body: () async throws -> Response) async throws -> Response {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await body() }
    }
}

// MARK: - Routes

extension Console {
    package static let placePath = "/c/{container}/{environment}/{database}"

    func addStaticFiles(to router: Routes.Group) {
        router.get("/static/{name}") { request, context in try staticFile(context.parts[1], version: nil, request) }
        router.get("/static/{version}/{name}") { request, context in
            try staticFile(context.parts[2], version: context.parts[1], request)
        }
    }

    private func staticFile(_ name: Substring, version: Substring?, _ request: Request) throws -> Response {
        guard let response = renderer.staticFiles.response(String(name), version: version.map(String.init), to: request)
        else { throw HTTPError(.notFound) }
        return response
    }

    /// Adds the pages outside of any container.
    func addServerPages(to router: Routes.Group) {
        router.get("/") { request, _ in
            let page = try await HomeView.load(request.queryFields, server: request.ownOrigin, console: self)
            return try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
        }
        router.post("/containers") { request, _ in
            let fields = try await request.form(.names)
            do {
                return Response.redirect(to: try await HomeView.create(fields, engine: engine, accounts: accounts))
            } catch let error as RecordError where error.code == .badRequest {
                let refused = RefusedForm(error, typed: fields["container"] ?? "")
                return try answer(
                    .page(
                        try await HomeView.load(
                            FormFields(), server: request.ownOrigin, console: self, refused: refused)))
            }
        }
        if let loadDemo {
            router.post("/demo") { request, _ in
                _ = try await request.form(.names)
                try await loadDemo()
                return Response.redirect(to: "/")
            }
        }
        router.get("/find") { request, _ in
            try answer(try await Finder.answer(request.queryFields, console: self))
        }
        router.get("/find/list") { request, _ in
            try answer(.page(try await FindView.load(request.queryFields, console: self)))
        }
    }

    /// Adds the pages for a whole container. They are not part of a place (container, environment, database), because
    /// the actions may delete it.
    func addContainerPages(to router: Routes.Group) {
        router.get("/container") { request, _ in
            try answer(.page(try await ContainerView.load(request.queryFields, console: self)))
        }
        router.post("/containers/rename") { request, _ in
            try answer(try await ContainerView.rename(try await request.form(.names), console: self))
        }
        router.post("/containers/delete") { request, _ in
            try answer(try await ContainerView.delete(try await request.form(.names), console: self))
        }
    }

    /// Adds the addresses that end before a page. They lead to Sync, the home of a container.
    func addShortAddresses(to router: Routes.Group) {
        for path in ["/c/{container}", "/c/{container}/{environment}", Self.placePath] {
            router.get(path) { request, context in
                let parts = context.parts.map(String.init)
                guard let container = ContainerID(parts[1]),
                    let environment = parts.count > 2 ? Records.Environment(rawValue: parts[2]) : .development,
                    let scope = parts.count > 3 ? DatabaseScope(rawValue: parts[3]) : .private
                else { throw HTTPError(.notFound) }
                let address = DatabaseAddress(container: container, environment: environment, scope: scope)
                let place = Place(
                    address: address.reached(by: accounts.connections(of: container)),
                    user: request.queryFields.text("user"), zone: .unspecified)
                return Response.redirect(to: place.link(Tab.sync.rawValue))
            }
        }
    }

    private func answer(_ answer: Answer) throws -> Response {
        switch answer {
        case .redirect(let location): .redirect(to: location)
        case .page(let page):
            try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
        }
    }

    /// Adds a page of a place. An error appears within the page frame, with links back.
    /// - Parameter readsZones: true if the page shows the zones. iCloud is not asked for them otherwise.
    package func show(
        _ page: String, on router: Routes.Group, readsZones: Bool = false,
        _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.get("\(Self.placePath)/\(page)") { request, context in
            // Somebody waits for the page as a whole, however many requests it takes. Forms and downloads may take as
            // long as their records do.
            let stopwatch = Stopwatch(cloudKitWithin: CloudKitMeter.pageTime)
            let visit = try await Visit(
                request, context, fields: request.queryFields, console: self, readsZones: readsZones,
                stopwatch: stopwatch)
            return try await response(to: visit) { try await answer(visit) }
        }
    }

    /// Adds a form that changes data and then redirects to the address that the action returns. It carries choices.
    package func act(
        _ path: String, on router: Routes.Group, _ traits: Set<FormTrait> = [],
        _ action: @escaping @Sendable (Visit) async throws -> String
    ) {
        submit(path, carries: .choices, on: router, traits) { .redirect(try await action($0)) }
    }

    /// How a form differs from others.
    package enum FormTrait: Sendable {
        /// The action may run so long that it must stop when the client disconnects.
        case takesLong
        /// The page of the answer shows the zones.
        case readsZones
        /// Only clients on the server's own machine may send it.
        case fromThisMachineOnly
        /// The answer may have a secret that is shown once, so no cache may keep it.
        case showsSecret
    }

    /// Adds a form that changes data and then redirects, or answers with its page, which says what was refused.
    package func submit(
        _ path: String, carries limit: FormLimit, on router: Routes.Group, _ traits: Set<FormTrait> = [],
        _ action: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(path)") { request, context in
            if traits.contains(.fromThisMachineOnly) { try checkPeer(of: request, context) }
            let fields = try await request.form(limit)
            let visit = try await Visit(
                request, context, fields: fields, console: self, readsZones: traits.contains(.readsZones))
            var response = try await response(to: visit) {
                traits.contains(.takesLong)
                    ? try await context.lengthy { try await action(visit) } : try await action(visit)
            }
            if traits.contains(.showsSecret) { response.headers[.cacheControl] = "no-store" }
            return response
        }
    }

    /// The longest text in a link, in bytes: servers and mail programs usually accept it.
    private static let linkLimit = 1_500

    /// Adds the form of a page that only reads. A short one redirects to a link that users can keep and send. A longer
    /// one, and one with a credential, which no address holds, is answered with the page itself.
    /// - Parameter names: the fields of the link; `nil` for all that have a value.
    package func ask(
        _ page: String, _ names: [String]? = nil, carries limit: FormLimit, on router: Routes.Group,
        _ traits: Set<FormTrait> = [],
        _ answer: @escaping @Sendable (Visit) async throws -> any Page
    ) {
        submit(page, carries: limit, on: router, traits) { visit in
            let sent = visit.fields.pairs.filter { pair in
                !pair.value.isEmpty && names.map { $0.contains(pair.name) } ?? true
            }
            let isShort = sent.reduce(0) { $0 + $1.value.utf8.count } <= Self.linkLimit
            let isForLinks = isShort && !sent.contains { PastedValue($0.value).holdsCredential }
            return isForLinks ? .redirect(visit.place.link(page, sent)) : .page(try await answer(visit))
        }
    }

    /// A change of a container in iCloud that nobody has confirmed becomes a question here, whatever form it is of.
    package func response(to visit: Visit, _ answer: () async throws -> Answer) async throws -> Response {
        let page: any Page
        do {
            if let refusal = visit.refusal { throw refusal }
            switch try await CloudKitMeter.$current.withValue(visit.stopwatch.cloudKit, operation: answer) {
            case .redirect(let location): return .redirect(to: location)
            case .page(let answered): page = answered
            }
        } catch let change as UnconfirmedChange {
            page = ConfirmationView(changing: change.connection, visit)
        } catch let error as RecordError where visit.connection != nil && RecordError.isMissingInCloudKit(error) {
            page = ComponentPage(offeringMirror: error, visit)
        } catch let error as RecordError {
            // A refused form names the page that it was on.
            let form = Place.local(visit.fields["from"]).map { Frame.Link(text: "Back", href: $0) }
            page = ComponentPage(
                error, back: form ?? Frame.Link(text: "Back to the records", href: visit.place.link(Tab.query.rawValue))
            )
        }
        let states = await SidebarStates(visit, check: runs.check(of: visit.place), faults: faults.running.count)
        let frame = Frame(page: page, visit: visit, states: states, staticFiles: renderer.staticFiles)
        return try renderer.response(page, in: frame)
    }

    /// - Throws: `RecordError` ACCESS_DENIED for clients on other machines, because injected faults affect all clients.
    package func checkPeer(of request: Request, _ context: ServingRequestContext) throws {
        guard context.isFromThisMachine(request) else {
            throw RecordError(
                .accessDenied,
                "Rehearsals are allowed only for clients on the server's own machine, without a proxy; use an SSH tunnel"
            )
        }
    }
}
