import ArgumentParser
import Records
import RecordStore
import RemoteRecordStore

struct RehearseStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Stop a rehearsal, or all of them.",
        discussion: """
            Examples:
              skylight rehearse stop
              skylight rehearse stop throttled
            """)

    @Argument(help: ArgumentHelp("The rehearsal. (default: all)", valueName: "name"))
    var name: String?

    @OptionGroup var place: RehearsalAreaOptions

    @OptionGroup var server: RehearsingServerOptions

    func validate() throws {
        _ = try rehearsal()
    }

    func run() async throws {
        let rehearsal = try rehearsal()
        server.say(try await server.withServer { try await $0.stopRehearsals(rehearsal, in: place.area) })
    }

    private func rehearsal() throws -> Rehearsal? {
        do {
            return try name.map { try RehearsalCue($0).rehearsal }
        } catch let error as RecordError {
            throw ValidationError(error.reason)
        }
    }
}
