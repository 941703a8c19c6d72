import ArgumentParser

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "List and delete the users of a server.", subcommands: [UserListCommand.self, UserRemoveCommand.self])
}
