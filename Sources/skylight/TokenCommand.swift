import ArgumentParser

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Change tokens: explain and expire. API and web auth tokens: create, list and revoke.",
        discussion: """
            Three things go by the name of token. Change tokens (syncToken) say what a client has seen: explain, expire. API tokens (ckAPIToken) let \
            an app in, and web auth tokens (ckWebAuthToken) a user of it, where a server requires credentials: create-api, create-web-auth, list, \
            revoke.
            """,
        subcommands: [
            TokenExplainCommand.self, TokenExpireCommand.self, TokenCreateAPICommand.self, TokenCreateWebAuthCommand.self, TokenListCommand.self,
            TokenRevokeCommand.self,
        ])
}
