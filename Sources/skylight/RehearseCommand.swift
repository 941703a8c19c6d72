import ArgumentParser

struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Inject faults into a running server, to test how clients handle them.",
        discussion: """
            skylight rehearse list lists the rehearsals. A rehearsal is active until you stop it, or until it has failed the given number of \
            requests. Every console page shows it, and every affected response names it in the header X-Skylight-Rehearsal. A single request \
            can have the header X-Skylight-Rehearse: pages-of-one.
            """,
        subcommands: [RehearseListCommand.self, RehearseStartCommand.self, RehearseStopCommand.self])
}
