import ArgumentParser

struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "The administrator, whom a server that requires credentials lets into its console.",
        subcommands: [AdminSetPasswordCommand.self])
}
