import ArgumentParser
import JSON

struct TokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke an API token, or all web auth tokens of a session, permanently.",
        discussion: """
            Use the ID from skylight token list: eight digits for an API token, sixteen for a session.

            Example:
              skylight token revoke 3fa1c27e
            """)

    @Argument(help: "The ID, not the token itself.")
    var id: String

    @OptionGroup var store: StoreOptions

    func validate() throws {
        if id.utf8.count >= 32 {
            throw ValidationError("This is a token, not an ID: use the ID from 'skylight token list', and keep tokens out of the shell's history.")
        }
    }

    func run() async throws {
        let isSession = id.utf8.count == 16
        let revoked = try await store.withStore(isNew: false) { store in
            isSession ? try await store.accounts.revokeWebAuthSession(id) : try await store.accounts.revokeAPIToken(id)
        }
        if store.json { return Output.say(json: [Name(isSession ? "session" : "token"): .object(revoked)]) }
        let place = "\(revoked.text("container")) (\(revoked.text("environment")))"
        Output.say(isSession ? "The session \(id) of \(place) is revoked." : "The API token '\(revoked.text("name"))' of \(place) is revoked.")
    }
}
