import ArgumentParser

struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Let a running server do to clients what CloudKit does to them once in a while.",
        discussion: """
            skylight rehearse list says what there is. A rehearsal is on until it is stopped, or until it has failed as many requests as it was told \
            to. The console shows it on every page, and each answer that it shaped says so in the header X-Skylight-Rehearsal. One request alone \
            rehearses with the header X-Skylight-Rehearse: pages-of-one.
            """,
        subcommands: [RehearseListCommand.self, RehearseStartCommand.self, RehearseStopCommand.self])
}
