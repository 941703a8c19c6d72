public import Accounts
public import AssetStore
public import HTTPServing
public import Hummingbird
public import RecordStore
public import Traffic

/// The web console: the pages Query, Fetch and Changes, and the tools around them.
///
/// The server renders the pages, and they work without scripts. The URL holds the whole state of a page. GET requests change nothing.
public struct Console: Sendable {
    let engine: any RecordEngine
    let accounts: Accounts
    /// The access rules for the pages.
    let access: AccessControl
    /// The stores of asset files.
    let assets: AssetStores
    let rehearsals: Rehearsals
    /// The log of web service requests.
    let log: RequestLog
    /// The web services of this server, for replays of requests; `nil` if replays are not available.
    let webServices: (any HTTPResponder<ServingRequestContext>)?
    let renderer: PageRenderer
    /// The background jobs that process many records.
    let runs = BackgroundRuns()
    /// The uploaded files that wait for their import.
    let uploads = ImportUploads()

    /// - Parameters:
    ///   - engine: the engine without fault injection: the console always shows the stored data.
    ///   - assets: the asset files of the engine's records.
    ///   - rehearsals: the fault injection settings of the web services.
    ///   - log: the request log of the web services.
    ///   - webServices: answers replayed requests; `nil` disables replays.
    ///   - access: the access rules; `nil` lets all clients in.
    ///   - templatesFolder: the folder of the templates, which are read again for each page; `nil` for the templates in the binary.
    ///   - publicFolder: the folder of the style sheet, scripts and icons; `nil` for the files in the binary.
    /// - Throws: a file system error, or a parser error of a template.
    public init(
        engine: any RecordEngine, accounts: Accounts, assets: AssetStores, rehearsals: Rehearsals = Rehearsals(), log: RequestLog = RequestLog(),
        webServices: (any HTTPResponder<ServingRequestContext>)? = nil, access: AccessControl? = nil, templatesFolder: String?, publicFolder: String?
    ) throws {
        self.engine = engine
        self.accounts = accounts
        self.access = access ?? .open(accounts)
        self.assets = assets
        self.rehearsals = rehearsals
        self.log = log
        self.webServices = webServices
        renderer = try PageRenderer(folder: templatesFolder, staticFiles: StaticFiles(folder: publicFolder), rehearsals: rehearsals)
        uploads.sweepLeftovers()
        ZoneCopy.scratchFolder().later { $0.sweep() }
    }

    /// Adds the pages, the static files, and the error pages.
    ///
    /// Requires the guards of `HTTPServing` before it: they set the security headers and refuse forms from other sites.
    public func addRoutes(to router: Router<ServingRequestContext>) {
        router.add(middleware: ErrorPages(renderer: renderer))
        addStaticFiles(to: router)
        addSignInPages(to: router)
        addAdministratorSignIn(to: router)
        // The administrator alone may use the routes below. Their error pages are part of the session.
        router.add(middleware: ConsoleGate(access: access, renderer: renderer))
        router.add(middleware: ErrorPages(renderer: renderer))
        addSignOut(to: router)
        addServerPages(to: router)
        addPages(to: router)
        addActions(to: router)
        addSchemaPages(to: router)
        addRequestPages(to: router)
        addKeyPages(to: router)
        addResultPages(to: router)
        addWorkbenchPages(to: router)
        addRehearsals(to: router)
        addHistoryPages(to: router)
        addCheckPages(to: router)
        addEditPages(to: router)
    }
}
