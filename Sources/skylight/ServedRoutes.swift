import AssetStore
import Console
import DataTransfer
import HTTPServing
import Hummingbird
import RecordStore
import Traffic
import WebServices

/// Everything that a server answers: the guards, the web services and the console.
struct ServedRoutes {
    let store: DataFolder.Store
    let access: AccessControl
    var trusted = TrustedSites.loopback
    /// Whether connections are encrypted.
    var isSecure = false
    /// What requests and answers may take together.
    var memory = MemoryBudget()
    /// `nil` where as many requests are answered as there are.
    var throttle: Throttle?
    var log = RequestLog()
    var instance: String?
    /// Folders to read templates and static files from at every request.
    var templates: String?
    var publicFolder: String?

    /// - Throws: an error of a template, or of the file system.
    func router() throws -> Router<ServingRequestContext> {
        let router = Router(context: ServingRequestContext.self)
        router.addGuards(trusting: trusted, tokensOf: store.accounts, isSecure: isSecure, memory: memory)
        let rehearsals = Rehearsals(clock: { [clock = store.clock] in clock.now() })
        func services(_ access: AccessControl, _ throttle: Throttle?) -> WebServices {
            WebServices(
                engine: store.engine, accounts: store.accounts, assets: store.assets, trusting: trusted, rehearsals: rehearsals, log: log,
                access: access, throttle: throttle, instance: instance)
        }
        services(access, throttle).addRoutes(to: router)
        // What the console sends again was let in before.
        let replays = Router(context: ServingRequestContext.self)
        services(.open(store.accounts), nil).addRoutes(to: replays)
        try Console(
            engine: store.engine, accounts: store.accounts, assets: store.assets, rehearsals: rehearsals, log: log,
            webServices: replays.responder(), access: access, templatesFolder: templates, publicFolder: publicFolder
        ).addRoutes(to: router)
        return router
    }
}
