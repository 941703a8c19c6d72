import Accounts
import ArgumentParser
import JSON
import Records

struct TokenRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke an API token, or all web auth tokens of a session, permanently.",
        discussion: """
            skylight token list shows the IDs: eight digits for an API token, sixteen for a session.

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
        if id.utf8.count == 16 {
            let session = try await store.withStore(isNew: false) { try await $0.accounts.revokeWebAuthSession(id) }
            if store.json {
                return Output.say { writer in
                    writer.name("session")
                    writer.value(session)
                }
            }
            return Output.say("The session \(id) of \(session.container) (\(session.environment.rawValue)) is revoked.")
        }
        let token = try await store.withStore(isNew: false) { try await $0.accounts.revokeAPIToken(id) }
        if store.json {
            return Output.say { writer in
                writer.name("token")
                writer.value(token)
            }
        }
        Output.say("The API token '\(token.name)' of \(token.container) (\(token.environment.rawValue)) is revoked.")
    }
}
