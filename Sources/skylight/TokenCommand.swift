import ArgumentParser

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Change tokens: explain and expire. API and web auth tokens: create, list and revoke.",
        discussion: """
            There are three kinds of tokens. Change tokens (syncToken) record what a client has seen: explain, expire. API tokens (ckAPIToken) \
            authenticate an app, and web auth tokens (ckWebAuthToken) its user, if a server requires credentials: create-api, create-web-auth, list, \
            revoke.
            """,
        subcommands: [
            TokenExplainCommand.self, TokenExpireCommand.self, TokenCreateAPICommand.self, TokenCreateWebAuthCommand.self, TokenListCommand.self,
            TokenRevokeCommand.self,
        ])
}
