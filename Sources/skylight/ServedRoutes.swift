import AssetStore
import CloudKitRecordStore
import Console
import ConsolePages
import DataTransfer
import HTTPServing
import Hummingbird
import RecordStore
import Records
import Traffic
import WebServices

/// All routes of a server: the guards, the web services and the console.
struct ServedRoutes {
    let store: DataFolder.Store
    let access: AccessControl
    var trusted = TrustedSites.loopback
    /// True if connections are encrypted.
    var isSecure = false
    /// The memory budget of all requests and answers.
    var memory = MemoryBudget()
    /// `nil` for no rate limit.
    var throttle: Throttle?
    var log = RequestLog()
    var instance: String?
    /// True to serve CloudKit's protocol alone, without the console and Skylight's own services.
    var protocolOnly = false
    /// The folders of templates and static files, which are read again at every request.
    var templates: String?
    var publicFolder: String?

    /// - Throws: an error of a template, or a file system error.
    func routes() throws -> Routes {
        let routes = Routes()
        routes.addGuards(trusting: trusted, tokensOf: store.accounts, isSecure: isSecure, memory: memory, protocolOnly: protocolOnly)
        let faults = FaultInjection(clock: { [clock = store.clock] in clock.now() })
        // A stand-in has nothing of iCloud's.
        func engine(_ access: AccessControl) -> any RecordEngine {
            protocolOnly ? store.local : ReadingConnections(store.containers, isOwners: access.mode == .open)
        }
        let notifier = Notifier(
            engine: engine(access), accounts: store.accounts, access: access.mode == .open ? .unrestricted : .signedIn, faults: faults,
            log: log.notifications, now: { [clock = store.clock] in clock.now() })
        func services(_ access: AccessControl, _ throttle: Throttle?) -> WebServices {
            WebServices(
                engine: engine(access), accounts: store.accounts, assets: store.assets, faults: faults, log: log, access: access,
                throttle: throttle, notifier: notifier, instance: instance)
        }
        services(access, throttle).addRoutes(to: routes)
        // Replays are already authorized by the console.
        let replays = Routes()
        services(.open(store.accounts), nil).addRoutes(to: replays)
        try Console(
            engine: store.containers, connections: store.containers, accounts: store.accounts, assets: store.assets, faults: faults, log: log,
            webServices: replays.buildResponder(), notificationSender: notifier, loadDemo: { [demo = DemoFilling(store)] in try await demo.fillEmpty() },
            access: access, templatesFolder: templates, publicFolder: publicFolder
        ).addRoutes(to: routes)
        return routes
    }
}
