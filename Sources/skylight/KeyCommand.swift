import ArgumentParser

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Register, list and revoke the server-to-server keys that sign requests.",
        subcommands: [KeyRegisterCommand.self, KeyListCommand.self, KeyRevokeCommand.self])
}
