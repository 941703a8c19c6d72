import ArgumentParser

struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "The administrator of the console of a server that requires credentials.",
        subcommands: [AdminSetPasswordCommand.self])
}
