public import Accounts
public import AssetStore
public import HTTPServing
public import Hummingbird
public import RecordStore
public import Records
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
    /// The container whose requests the server passes on to iCloud; `nil` if it answers all.
    let proxied: ContainerID?
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
    package let loadDemo: (@Sendable () async throws -> Void)?
    package let renderer: PageRenderer
    /// The background jobs that process many records.
    package let runs = BackgroundRuns()
    /// The latest changes of records, which can be undone.
    package let changes = UndoableChanges()

    /// - Parameters:
    ///   - engine: the engine without fault injection: the console always shows the stored data.
    ///   - connections: the same engine, if it has containers in iCloud.
    ///   - proxied: the container whose requests the server passes on to iCloud; `nil` if it answers all.
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
        engine: any RecordEngine, connections: ContainersByEngine? = nil, proxied: ContainerID? = nil,
        accounts: Accounts, assets: AssetStores,
        faults: FaultInjection = FaultInjection(), log: RequestLog = RequestLog(),
        webServices: (any HTTPResponder<ServingRequestContext>)? = nil,
        notificationSender: (any NotificationSender)? = nil,
        loadDemo: (@Sendable () async throws -> Void)? = nil, access: AccessControl? = nil,
        templatesFolder: String?, publicFolder: String?
    ) throws {
        self.engine = engine
        self.connections = connections
        self.proxied = proxied
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
}
