import Accounts
import ArgumentParser
import JSON
import Records

struct KeyRevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Revoke a server-to-server key permanently.",
        discussion: """
            Example:
              skylight key revoke 1f0c…64 digits in all
            """)

    @Argument(help: "The key ID, as skylight key list prints it.")
    var keyID: String

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let key = try await store.withStore(isNew: false) { try await $0.accounts.revokeServerKey(keyID) }
        if store.json { return Output.say { $0.member(key: key) } }
        Output.say("The key '\(key.name)' of \(key.container) (\(key.environment.rawValue)) is revoked.")
    }
}
