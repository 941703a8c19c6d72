import ArgumentParser
import JSON
import RecordStore
import RemoteRecordStore

struct FaultListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the rehearsals, how a correct client reacts to each, and which ones are on.",
        discussion: """
            Example:
              skylight rehearse list
            """)

    @OptionGroup var server: FaultServerOptions

    func run() async throws {
        let running = try await server.withServer { try await $0.faults() }
        if !server.json {
            for fault in InjectedFault.allCases {
                Output.say(fault.rawValue)
                Output.say("  \(fault.effect)")
                Output.say("  \(fault.advice)")
            }
            Output.say("")
        }
        server.say(running)
    }
}
