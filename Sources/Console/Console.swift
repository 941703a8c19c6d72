public import Accounts
public import AssetStore
public import HTTPServing
public import Hummingbird
public import RecordStore
public import Traffic

/// The pages on which people see what a Skylight holds: Query, Fetch and Changes, and what belongs to them.
///
/// Pages are made on the server and need no scripts. The whole state of a page is in its URL; nothing changes on GET.
public struct Console: Sendable {
    let engine: any RecordEngine
    let accounts: Accounts
    /// Who may see the pages.
    let access: AccessControl
    /// The files that records refer to.
    let assets: AssetStores
    let rehearsals: Rehearsals
    /// What the web services beside it were asked.
    let log: RequestLog
    /// The web services beside it, to send requests again; `nil` where they can't be reached from here.
    let webServices: (any HTTPResponder<ServingRequestContext>)?
    let renderer: PageRenderer
    /// The work on many records that goes on behind the pages.
    let runs = BackgroundRuns()
    /// The checks of records, and what came of them.
    let checks = CheckRuns()
    /// The files that are about to be imported.
    let uploads = ImportUploads()

    /// - Parameters:
    ///   - engine: as it is: the console shows what is stored, whatever is rehearsed.
    ///   - assets: the files of the engine's records.
    ///   - rehearsals: what the web services beside it rehearse.
    ///   - log: what the web services beside it note of their requests.
    ///   - webServices: answers requests as the web services do; without it none is sent again from here.
    ///   - access: who may come in; `nil` lets everybody in.
    ///   - templatesFolder: where templates are read from, anew for each page; `nil` for those in the binary.
    ///   - publicFolder: where the style sheet, scripts and icons are read from; `nil` for those in the binary.
    /// - Throws: an error of the file system, or a template's parser error.
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

    /// Adds the pages, the static files, and pages for what is not found.
    ///
    /// Expects the guards of `HTTPServing` before it: they bring the security headers and refuse forms of foreign sites.
    public func addRoutes(to router: Router<ServingRequestContext>) {
        router.add(middleware: ErrorPages(renderer: renderer))
        addStaticFiles(to: router)
        addSignInPages(to: router)
        addAdministratorSignIn(to: router)
        // Everything below is the administrator's. What goes wrong there has a page within the session.
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
