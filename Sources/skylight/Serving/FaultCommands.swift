import ArgumentParser
import RecordStore
import Records
import RemoteRecordStore

struct FaultStartCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Start a rehearsal, or perform a one-time action.",
        discussion: """
            expire-tokens, purge-zone and reset-zone happen once, immediately, and can't be undone. They need --container and --yes.

            Examples:
              skylight rehearse start pages-of-one
              skylight rehearse start throttled --count 3 \\
                --container iCloud.com.example.Chat
              skylight rehearse start partial-failure --every 3 \\
                --code QUOTA_EXCEEDED
              skylight rehearse start slow --client "Notes/2.1" --minutes 10
              skylight rehearse start reset-zone --zone Chats --yes \\
                --container iCloud.com.example.Chat
            """)

    @Argument(help: ArgumentHelp("The rehearsal, such as pages-of-one or throttled.", valueName: "name"))
    var name: String

    @Option(help: ArgumentHelp("The number of requests that fail. (default: 1)", valueName: "number"))
    var count: Int?

    @Option(help: ArgumentHelp("With partial-failure, every n-th item of a batch fails. (default: 2)", valueName: "n"))
    var every: Int?

    @Option(
        help: ArgumentHelp(
            "With partial-failure, the code of the items. (default: CONFLICT)", valueName: "serverErrorCode"))
    var code: String?

    @Option(
        help: ArgumentHelp("The rehearsal ends after this time. (default: when it is stopped)", valueName: "number"))
    var minutes: Int?

    @OptionGroup var place: FaultAreaOptions

    @Option(
        help: ArgumentHelp(
            "The owner of the zone to purge or reset (default: developer), or the only user whose notifications it is about (default: all): a handle "
                + "such as ada, or a user record name.", valueName: "handle"))
    var user: String?

    @Flag(help: "Perform a one-time action, which can't be undone.")
    var yes = false

    @OptionGroup var server: FaultServerOptions

    func validate() throws {
        let setting = try setting()
        guard setting.fault.kind == .act else { return }
        if place.container == nil { throw ValidationError("'\(name)' needs a container: add --container.") }
        if setting.fault.needsZone, place.zone == nil { throw ValidationError("'\(name)' needs a zone: add --zone.") }
        if !yes { throw ValidationError("'\(name)' can't be undone: add --yes to confirm.") }
    }

    func run() async throws {
        let setting = try setting()
        let active = try await server.withServer { engine in
            let caller = try await engine.accounts.caller(named: user, deviceID: nil)
            var area = place.area
            if setting.fault.kind != .act, user != nil { area.user = caller.userRecordName }
            return try await engine.startFault(setting, in: area, as: caller, minutes: minutes)
        }
        if !server.store.output.isJSON, setting.fault.kind == .act { Output.say("Done: \(setting.fault.effect)") }
        server.say(active)
    }

    private func setting() throws -> FaultSetting {
        do {
            let setting = try FaultSetting(name)
            if count == nil, every == nil, code == nil { return setting }
            return try FaultSetting(
                setting.fault, count: count ?? setting.count, every: every ?? setting.items?.every,
                code: code ?? setting.items?.code.rawValue)
        } catch let error as RecordError {
            throw ValidationError(error.reason)
        }
    }
}

struct FaultListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the rehearsals, how a correct client reacts to each, and which ones are on.",
        discussion: """
            Example:
              skylight rehearse list
            """)

    @OptionGroup var server: FaultServerOptions

    func run() async throws {
        let active = try await server.withServer { try await $0.faults() }
        if !server.store.output.isJSON {
            for fault in InjectedFault.allCases {
                Output.say(fault.rawValue)
                Output.say("  \(fault.effect)")
                Output.say("  \(fault.advice)")
            }
            Output.say("")
        }
        server.say(active)
    }
}

struct FaultStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop a rehearsal, or all of them.",
        discussion: """
            Examples:
              skylight rehearse stop
              skylight rehearse stop throttled
            """)

    @Argument(help: ArgumentHelp("The rehearsal. (default: all)", valueName: "name"))
    var name: String?

    @OptionGroup var place: FaultAreaOptions

    @OptionGroup var server: FaultServerOptions

    func validate() throws {
        _ = try fault()
    }

    func run() async throws {
        let fault = try fault()
        server.say(try await server.withServer { try await $0.stopFaults(fault, in: place.area) })
    }

    private func fault() throws -> InjectedFault? {
        do {
            return try name.map { try FaultSetting($0).fault }
        } catch let error as RecordError {
            throw ValidationError(error.reason)
        }
    }
}

// MARK: - Options

/// The scope options of a fault injection.
struct FaultAreaOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only in this container. (default: all)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only in this environment. (default: both)")
    var environment: Environment?

    @Option(help: "Only in this database. (default: all)")
    var database: DatabaseScope?

    @Option(help: ArgumentHelp("Only in zones with this name. (default: all)", valueName: "name"))
    var zone: String?

    @Option(
        help: ArgumentHelp(
            "Only requests of this client: its ID, its name, or its user agent, as on the page Clients. (default: all)",
            valueName: "name"))
    var client: String?

    var area: FaultArea {
        FaultArea(
            container: container, environment: environment, scope: database,
            zoneID: zone.map { ZoneID(zoneName: Name($0)) }, client: client)
    }
}

/// The options for the server that injects faults, which must be running.
struct FaultServerOptions: ParsableArguments {
    @OptionGroup var store: StoreOptions

    /// Runs work with the server of `--url`, or else of the data folder.
    /// - Throws: `CommandFailure` if no server is running; errors of the work.
    func withServer<Value>(_ work: (RemoteRecordEngine) async throws -> Value) async throws -> Value {
        guard let engine = try await store.runningServer() else {
            throw CommandFailure(
                .unavailable, "There is no running server for rehearsals", code: "SERVER_NOT_AVAILABLE",
                remedy: "Start one with skylight serve, or give one with --url")
        }
        return try await engine.closing(work)
    }

    /// Prints the active faults as text or JSON.
    func say(_ active: [ActiveFault]) {
        // A zone is named without its owner.
        let shown = active.map { active in
            var area = active.area
            area.zoneID?.ownerRecordName = nil
            return ActiveFault(
                fault: active.fault, area: area, remaining: active.remaining, items: active.items,
                since: active.since, until: active.until)
        }
        store.output.say(lines: active.isEmpty ? ["No rehearsal is active."] : active.map(Self.line)) {
            $0.member("on", values: shown) { $0.value($1) }
        }
    }

    private static func line(_ active: ActiveFault) -> String {
        let count = active.remaining.map { $0 == 1 ? ", once more" : ", \(Output.grouped($0)) more times" } ?? ""
        let place = active.area == .everywhere ? active.area.description : "in \(active.area)"
        let items = active.items.map { " (\($0))" } ?? ""
        let end = active.until.map { ", until \(UTCTime(milliseconds: $0.milliseconds).isoText)" } ?? ""
        return "on: \(active.fault.rawValue)\(items) \(place)\(count)\(end)"
    }
}
