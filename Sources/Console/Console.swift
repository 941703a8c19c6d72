public import Accounts
public import AssetStore
public import CloudKitRecordStore
public import HTTPServing
public import Hummingbird
public import RecordStore
public import Traffic

/// The web console: the pages Query, Fetch and Changes, and the tools around them.
///
/// The server renders the pages, and they work without scripts. The URL holds the whole state of a page. GET requests change nothing.
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
    ///   - templatesFolder: the folder of the templates, which are read again for each page; `nil` for the templates in the binary.
    ///   - publicFolder: the folder of the style sheet, scripts and icons; `nil` for the files in the binary.
    /// - Throws: a file system error, or a parser error of a template.
    public init(
        engine: any RecordEngine, connections: ContainersByEngine? = nil, accounts: Accounts, assets: AssetStores,
        faults: FaultInjection = FaultInjection(), log: RequestLog = RequestLog(),
        webServices: (any HTTPResponder<ServingRequestContext>)? = nil, notificationSender: (any NotificationSender)? = nil,
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
        renderer = try PageRenderer(folder: templatesFolder, staticFiles: StaticFiles(folder: publicFolder), faults: faults)
    }

    /// Adds the start page, the sign-in, the static files, and the error pages.
    ///
    /// Requires the guards of `HTTPServing`: they set the security headers and refuse forms from other sites.
    /// - Returns: the group for all other pages, which are for the administrator alone, and the one for pages that all clients may load.
    package func addFrame(to routes: Routes) -> (router: Routes.Group, open: Routes.Group) {
        let errors = ErrorPages(renderer: renderer)
        addStaticFiles(to: routes.group { request, context, next in try await errors.handle { try await next(request, context) } })
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
                        return try await gate.handle(request, context) { request in try await errors.handle { try await next(request, context) } }
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
        return (router, open)
    }

    /// Runs a handler on Swift's shared threads. Templates take milliseconds, which would delay the other connections of an event loop.
    private static func offEventLoop(_ body: () async throws -> Response) async throws -> Response {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await body() }
    }
}
