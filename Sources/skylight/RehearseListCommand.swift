import ArgumentParser
import JSON
import RecordStore
import RemoteRecordStore

struct RehearseListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the rehearsals, how a correct client reacts to each, and which ones are on.",
        discussion: """
            Example:
              skylight rehearse list
            """)

    @OptionGroup var server: RehearsingServerOptions

    func run() async throws {
        let running = try await server.withServer { try await $0.rehearsals() }
        if !server.json {
            for rehearsal in Rehearsal.allCases {
                Output.say(rehearsal.rawValue)
                Output.say("  \(rehearsal.effect)")
                Output.say("  \(rehearsal.advice)")
            }
            Output.say("")
        }
        server.say(running)
    }
}
