import Accounts
import ArgumentParser
import AssetStore
import CSystemCalls
import Console
import ConsolePages
import DataTransfer
import Foundation
import HTTPServing
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import RecordStore
import Records
import RemoteRecordStore
import RequestLog
import SQLRecordStore
import ServiceLifecycle
import Synchronization
import UnixSignals
import WebServices

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serve the web services and the console on this machine.",
        discussion: """
            Prints one line with the address when it is ready, then serves until Ctrl-C or SIGTERM, and exits with code 0.

            The web services are at ADDRESS/database/1/CONTAINER/ENVIRONMENT/DATABASE/…, the console at ADDRESS/. The first save \
            creates a container.

            With --auth open, the default on this machine's own address, requests need no credentials. They act as the user 'developer', or as \
            the user in the header X-Skylight-User. With --auth required, the default on other addresses, clients sign in or sign their requests like in \
            CloudKit, and the console asks for the administrator's password. Set it with 'skylight admin set-password' or, if \
            none is set yet, with SKYLIGHT_ADMIN_PASSWORD. The sign-in of users is for tests and needs no password: anyone with an API token can act as any user of this \
            server. --auth required protects only the console, keys and tokens.

            Examples:
              skylight serve --demo
              skylight serve --ephemeral --port 0
                For the tests of another project: keeps nothing, picks a free port.
              skylight admin set-password
              skylight serve --as-icloud
                For clients with CloudKit's host compiled in.
              skylight serve --proxy iCloud.com.example.App
                Between such clients and iCloud: passes on, and shows, what they ask for.
              skylight serve --hostname 0.0.0.0 --tls-cert box.pem --tls-key box.key
                For others on the network: the console asks for the password, apps need an API token.
            """)

    @Option(
        help: ArgumentHelp("The address to listen on; 0.0.0.0 for all addresses of this machine.", valueName: "name"))
    var hostname = "127.0.0.1"

    @Option(help: "The port to listen on; 0 picks a free one.")
    var port = 8080

    @OptionGroup var access: AccessOptions

    @Flag(help: "Create three demo containers, unless they exist, and send the requests of three made-up clients.")
    var demo = false

    @Flag(help: "Keep nothing: the data is in a temporary folder, deleted at the end.")
    var ephemeral = false

    @Flag(
        help:
            "Serve CloudKit's protocol alone, as a stand-in for iCloud: no console, and none of Skylight's own services, members and headers."
    )
    var protocolOnly = false

    @OptionGroup var icloud: ICloudOptions

    @Option(
        help: ArgumentHelp(
            "Purge deletions after this many days; older change tokens expire. (default: never, like CloudKit)",
            valueName: "days"))
    var tokenLifetime: Int?

    @Option(
        help: ArgumentHelp(
            "Keep earlier versions of records for this many days, to show and restore them; 0 keeps none. "
                + "(default: the container's last setting, initially \(JournalLimits.standard.days))",
            valueName: "days"))
    var journalDays: Int?

    @Option(
        help: ArgumentHelp(
            "The size limit of an uploaded asset, in bytes or with KB, MB, GB or TB (powers of 1024); at most 128 TB.",
            valueName: "size"))
    var assetSizeLimit = ByteCount(AssetStores.defaultSizeLimit)

    @Option(
        help: ArgumentHelp(
            "How long unused asset files are kept: hours, or a number with s, m, h or d.", valueName: "time"))
    var assetGrace = GracePeriod(AssetStores.defaultGraceTime)

    @Option(
        help: ArgumentHelp(
            "The memory for large requests and responses together, in bytes or with KB, MB, GB or TB; more get TRY_AGAIN_LATER.",
            valueName: "size"))
    var transferMemory = ByteCount(Int64(MemoryBudget.defaultLimit))

    @Option(help: "How many requests to the web services the request log keeps; 0 for none, at most 100000.")
    var requestLog = RequestLog.standardCapacity

    @Option(
        help: ArgumentHelp(
            "Read the console's templates from this folder at every request, for development.", valueName: "dir"))
    var templates: String?

    @Option(
        name: .customLong("public"),
        help: ArgumentHelp(
            "Read the console's static files from this folder at every request, for development.", valueName: "dir"))
    var publicFolder: String?

    @Option(help: "The log level on standard error: trace, debug, info, notice, warning, error or critical.")
    var logLevel: Logger.Level = .notice

    @OptionGroup var common: CommonOptions

    func validate() throws {
        try access.check(for: hostname)
        if !(0...65535).contains(port) { throw ValidationError("A port is a number from 0 to 65535.") }
        if assetSizeLimit.bytes > AssetExchange.sizeLimit {
            throw ValidationError("--asset-size-limit is a size of at most \(ByteCount(AssetExchange.sizeLimit)).")
        }
        if !(Int64(MemoryBudget.leastLimit)...AssetExchange.sizeLimit).contains(transferMemory.bytes) {
            throw ValidationError(
                "--transfer-memory is a size of at least \(ByteCount(Int64(MemoryBudget.leastLimit))) and at most \(ByteCount(AssetExchange.sizeLimit))."
            )
        }
        if let tokenLifetime, !(1...36_500).contains(tokenLifetime) {
            throw ValidationError("--token-lifetime is a number of days from 1 to 36500.")
        }
        if !(0...100_000).contains(requestLog) {
            throw ValidationError("--request-log is a number of requests from 0 to 100000.")
        }
        if let journalDays, !(0...JournalLimits.longest).contains(journalDays) {
            throw ValidationError("--journal-days is a number of days from 0 to \(JournalLimits.longest).")
        }
        if ephemeral, common.data != nil {
            throw ValidationError("--ephemeral keeps nothing, so --data does not apply: remove one of them.")
        }
        if ephemeral, common.store != nil {
            throw ValidationError("--ephemeral keeps nothing, so --store does not apply: remove one of them.")
        }
        for folder in [templates, publicFolder].compactMap(\.self) where !Self.isFolder(folder) {
            throw ValidationError("There is no folder '\(folder)'.")
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    func run() async throws {
        LoggingSystem.bootstrap(StreamLogHandler.standardError)
        OpenFiles.raiseLimit()
        // A heap keeps what its threads free. By default there are eight for each processor, so a busy server keeps
        // memory that it does not use.
        CSystemCalls_limitHeaps(Int32(clamping: ProcessInfo.processInfo.activeProcessorCount))
        var folder = common.dataFolder
        if ephemeral {
            let name = "skylight-\(UUID().uuidString)"
            folder = DataFolder(
                temporary: FileManager.default.temporaryDirectory.appending(path: name, directoryHint: .isDirectory))
        }
        // If the removal fails, the system eventually cleans up its temporary folder.
        defer { if ephemeral { try? FileManager.default.removeItem(at: folder.url) } }
        let certificate = try access.certificate()
        let store = try open(folder)
        let instance = UUID().uuidString
        do {
            try await access.checkPassword(in: store.accounts, for: hostname, Logger(label: "skylight"))
            try await serve(store, from: folder, as: instance, with: certificate)
        } catch {
            await close(store, in: folder, of: instance)
            throw error
        }
        await close(store, in: folder, of: instance)
    }

    private func open(_ folder: DataFolder) throws -> DataFolder.Store {
        do {
            return try folder.open(
                tokenLifetime: tokenLifetime.map { .seconds($0 * 86_400) },
                journal: journalDays.map { JournalLimits(days: $0) },
                assetSizeLimit: assetSizeLimit.bytes, assetGraceTime: assetGrace.duration, logLevel: logLevel)
        } catch let error as DataFolderInUse {
            guard let address = folder.serverFile.entry?.address else { throw error }
            throw CommandFailure(
                .tryAgain,
                "The data folder \(folder.path) is open in another Skylight process, which serves it at \(address)",
                remedy: "Use that server, or stop it (Ctrl-C in its window), or use another folder with --data")
        }
    }

    private func close(_ store: DataFolder.Store, in folder: DataFolder, of instance: String) async {
        // While the folder is locked: afterwards nobody could read whose entry it is.
        folder.serverFile.remove(entryOf: instance)
        await store.close()
    }

    private func serve(
        _ store: DataFolder.Store, from folder: DataFolder, as instance: String, with certificate: ServerCertificate?
    ) async throws {
        var logger = Logger(label: "skylight")
        logger.logLevel = logLevel
        let secret = AccessOptions.randomSecret()
        let control = AccessControl(access.mode(for: hostname), accounts: store.accounts, instanceSecret: secret)
        access.warn(control, certificate, on: hostname, logger)
        store.accounts.onUnwrittenUses { [logger] error in
            logger.warning("The last use of credentials could not be saved, and is retried later: \(error)")
        }
        if control.mode == .required, folder.isOpenToOthers {
            logger.warning(
                "Other users of this machine may be able to read the data folder without credentials; protect it: chmod 700 '\(folder.path)'"
            )
        }
        let log = RequestLog(capacity: requestLog)
        let memory = MemoryBudget(limit: Int(clamping: transferMemory.bytes))
        let standIn = ICloudStandIn(folder: folder.url)
        var trusted = access.trustedSites(for: hostname)
        if icloud.isOn { trusted.othersHosts = ICloudStandIn.hosts }
        let proxy = try icloud.proxy()
        if let container = proxy?.container, try await !store.containers.has(container) {
            // The console shows requests on the pages of their container, so there has to be one. An empty save makes it.
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            _ = try await store.containers.database(address, as: store.accounts.caller(named: nil, deviceID: nil))
                .modify(ModifyRequest([]))
        }
        let routes = ServedRoutes(
            store: store, access: control, trusted: trusted, isSecure: certificate != nil,
            memory: memory, throttle: access.throttle(for: hostname),
            log: log, instance: instance, protocolOnly: protocolOnly, proxy: proxy, templates: templates,
            publicFolder: publicFolder)
        let (listening, channels) = AsyncStream.makeStream(of: (any Channel).self)
        let scheme = certificate == nil ? "http" : "https"
        let responder = try routes.routes().buildResponder()
        let icloudPort = Mutex<Int?>(nil)
        var application = Application(
            responder: responder,
            server: try .guardedHTTP1(uploadLimit: assetSizeLimit.bytes).encrypted(with: certificate),
            configuration: ApplicationConfiguration(address: .hostname(hostname, port: port)),
            onServerRunning: { [logger] channel in
                announce(
                    channel.localAddress, scheme, as: instance, secret, in: folder, icloudPort.withLock { $0 }, logger)
                channels.yield(channel)
            }, logger: logger)
        if demo {
            // Runs within the service, so that signals during this time still shut down in order.
            application.beforeServerStarts { try await DemoFilling(store).fill() }
        }
        var standInListener: (any Service)?
        if icloud.isOn {
            let (ready, isReady) = AsyncStream.makeStream(of: Void.self)
            standInListener = Application(
                responder: responder,
                server: .standingIn(
                    for: ICloudStandIn.hosts, with: try standIn.openAuthority().serverCertificate(),
                    uploadLimit: assetSizeLimit.bytes,
                    tunnels: Tunnels(to: proxy == nil ? [] : ICloudStandIn.namedHosts)),
                configuration: ApplicationConfiguration(
                    address: .hostname(hostname, port: icloud.port),
                    availableConnectionsDelegate: .maximum(Self.standInConnections, logger: logger)),
                onServerRunning: { channel in
                    icloudPort.withLock { $0 = channel.localAddress?.port }
                    isReady.yield()
                }, logger: logger)
            // Both are ready when the address is announced.
            application.beforeServerStarts {
                for await _ in ready { return }
                throw CancellationError()
            }
        }
        var services: [any Service] = [
            application, AssetSweeping(assets: store.assets), MemoryTrimming(memory: memory),
            ServerFileWithdrawal(file: folder.serverFile, instance: instance),
        ]
        if let standInListener { services.insert(standInListener, at: 0) }
        if demo, !protocolOnly { services.append(DemoClients(store, log: log, listening: listening, logger)) }
        var configuration = ServiceGroupConfiguration(
            // The services end in reverse order.
            services: services,
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // Limits the wait for clients with unfinished requests. Together with the final cleanup, the shutdown takes up
        // to five seconds.
        configuration.maximumGracefulShutdownDuration = .seconds(4)
        do {
            try await ServiceGroup(configuration: configuration).run()
            await proxy?.close()
        } catch let error as IOError {
            // The listener of --as-icloud starts first.
            let isOfICloud = icloud.isOn && icloudPort.withLock { $0 } == nil
            let (port, option) = isOfICloud ? (icloud.port, "--icloud-port") : (port, "--port")
            let reason =
                error.errnoCode == EADDRINUSE
                ? "Port \(port) of \(hostname) is in use" : "Can't listen on \(hostname), port \(port): \(error)"
            throw CommandFailure(
                .unavailable, reason, remedy: "Choose another with \(option), or let \(option) 0 pick one")
        }
    }

    /// Announces the address, on standard output and in the data folder.
    private func announce(
        _ socket: SocketAddress?, _ scheme: String, as instance: String, _ secret: String, in folder: DataFolder,
        _ icloudPort: Int?, _ logger: Logger
    ) {
        func address(of host: String) -> String {
            "\(scheme)://\(TrustedSites.asHost(Self.reachable(host))):\(socket?.port ?? port)"
        }
        let address = address(of: hostname)
        let asICloud = icloudPort.map { "https://\(TrustedSites.asHost(Self.reachable(hostname))):\($0)" }
        do {
            // Writes the file before the line, so that a program that waits for the line finds the server. Uses the
            // actual IP address, because a name such as localhost may have two addresses, with a listener on only one
            // of them.
            let entry = ServerFile.Entry(
                address: socket?.ipAddress.map(address(of:)) ?? address, instance: instance, secret: secret,
                asICloud: asICloud)
            try folder.serverFile.write(entry)
        } catch {
            logger.warning(
                "The address can't be saved in the data folder; other commands need --url \(address): \(error)")
        }
        let authority = ICloudStandIn(folder: folder.url).certificateFile.path(percentEncoded: false)
        let hosts = ICloudStandIn.hosts.joined(separator: ", ")
        Output(isJSON: common.json).say(
            lines: ["Skylight is listening on \(address)"]
                + (asICloud.map { ["It answers for \(hosts) on \($0), with the certificate authority \(authority)"] }
                    ?? [])
                + (icloud.proxied.map {
                    ["Requests for \($0) that come there go on to \(icloud.origin?.description ?? "iCloud")"]
                }
                    ?? [])
        ) { line in
            line.member("address", address)
            if let asICloud {
                line.member("asICloud", asICloud)
                line.member("authority", authority)
            }
            if let proxied = icloud.proxied { line.member("proxy", proxied.description) }
        }
    }

    /// Connections of --as-icloud at once. More wait.
    private static let standInConnections = 1_000

    /// A reachable address for a listening address: replaces a wildcard address by the loopback address.
    private static func reachable(_ host: String) -> String {
        guard TrustedSites.isWildcard(host) else { return host }
        return host.contains(":") ? "::1" : "127.0.0.1"
    }
}

// MARK: - Routes

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
    /// Passes requests on to iCloud; `nil` to answer all.
    var proxy: Proxy?
    /// The folders of templates and static files, which are read again at every request.
    var templates: String?
    var publicFolder: String?

    /// - Throws: an error of a template, or a file system error.
    func routes() throws -> Routes {
        let faults = FaultInjection(clock: { [clock = store.clock] in clock.now() })
        // A stand-in has nothing of iCloud's.
        func engine(_ access: AccessControl) -> any RecordEngine {
            protocolOnly ? store.local : ReadOnlyConnections(store.containers, isOwners: access.mode == .open)
        }
        let notifier = Notifier(
            engine: engine(access), accounts: store.accounts, access: access.mode == .open ? .unrestricted : .signedIn,
            faults: faults,
            log: log.notifications, now: { [clock = store.clock] in clock.now() })
        func services(_ access: AccessControl, _ throttle: Throttle?) -> WebServices {
            WebServices(
                engine: engine(access), accounts: store.accounts, assets: store.assets, faults: faults, log: log,
                access: access,
                throttle: throttle, notifier: notifier, instance: instance)
        }
        let routes = Routes()
        let served = services(access, throttle)
        routes.addGuards(
            trusting: trusted, tokensOf: store.accounts, isSecure: isSecure, memory: memory, protocolOnly: protocolOnly,
            passingOn: proxy.map(served.passing(on:)))
        served.addRoutes(to: routes)
        // Replays are already authorized by the console.
        let replays = Routes()
        services(.open(store.accounts), nil).addRoutes(to: replays)
        try Console(
            engine: store.containers, connections: store.containers, proxied: proxy?.container,
            accounts: store.accounts, assets: store.assets,
            faults: faults, log: log,
            webServices: replays.buildResponder(), notificationSender: notifier,
            loadDemo: { [demo = DemoFilling(store)] in try await demo.fillEmpty() },
            access: access, templatesFolder: templates, publicFolder: publicFolder
        ).addRoutes(to: routes)
        return routes
    }
}

// MARK: - Upkeep

/// Removes unused files regularly while the server runs.
struct AssetSweeping: Service {
    let assets: AssetStores

    func run() async throws {
        await cancelWhenGracefulShutdown { [assets] in
            await assets.sweepRegularly()
            // If a service returned, the server would end.
            // Cancellation ends the sleep.
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(86_400)) }
        }
    }
}

/// Gives the system memory back soon after a burst of large requests and answers.
struct MemoryTrimming: Service {
    private static let interval = Duration.seconds(2)

    let memory: MemoryBudget

    func run() async throws {
        await cancelWhenGracefulShutdown {
            while (try? await Task.sleep(for: Self.interval)) != nil {
                guard memory.takeTrimming() else { continue }
                // It takes some milliseconds of a thread.
                await Task.detached(executorPreference: WorkPool.lengthy, priority: .low) { CSystemCalls_trimHeaps() }
                    .value
            }
        }
    }
}
