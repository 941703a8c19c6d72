import ArgumentParser

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Explain change tokens, and make them expire.",
        subcommands: [TokenExplainCommand.self, TokenExpireCommand.self])
}
