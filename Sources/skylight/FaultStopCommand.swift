import ArgumentParser
import Records
import RecordStore
import RemoteRecordStore

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
