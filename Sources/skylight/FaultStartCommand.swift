import ArgumentParser
import Records
import RecordStore
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
              skylight rehearse start reset-zone --zone Chats --yes \\
                --container iCloud.com.example.Chat
            """)

    @Argument(help: ArgumentHelp("The rehearsal, such as pages-of-one or throttled.", valueName: "name"))
    var name: String

    @Option(help: ArgumentHelp("The number of requests that fail. (default: 1)", valueName: "number"))
    var count: Int?

    @Option(help: ArgumentHelp("With partial-failure, every n-th item of a batch fails. (default: 2)", valueName: "n"))
    var every: Int?

    @Option(help: ArgumentHelp("With partial-failure, the code of the items. (default: CONFLICT)", valueName: "serverErrorCode"))
    var code: String?

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
        let running = try await server.withServer { engine in
            let caller = try await engine.accounts.caller(named: user, deviceID: nil)
            var area = place.area
            if setting.fault.kind != .act, user != nil { area.user = caller.userRecordName }
            return try await engine.startFault(setting, in: area, as: caller)
        }
        if !server.json, setting.fault.kind == .act { Output.say("Done: \(setting.fault.effect)") }
        server.say(running)
    }

    private func setting() throws -> FaultSetting {
        do {
            let setting = try FaultSetting(name)
            if count == nil, every == nil, code == nil { return setting }
            return try FaultSetting(
                setting.fault, count: count ?? setting.count, every: every ?? setting.items?.every, code: code ?? setting.items?.code.rawValue)
        } catch let error as RecordError {
            throw ValidationError(error.reason)
        }
    }
}
