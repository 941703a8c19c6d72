import ArgumentParser

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "List the users of a server, and remove them.", subcommands: [UserListCommand.self, UserRemoveCommand.self])
}
