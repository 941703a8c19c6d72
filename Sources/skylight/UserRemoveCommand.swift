import Accounts
import ArgumentParser
import JSON
import Records

struct UserRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Delete a user, and end the user's sign-in sessions.",
        discussion: """
            Removes the name and the e-mail address, which makes room for another user. The user's data in containers stays under the user record \
            name; to remove it, purge the zones first (skylight zone purge). Nobody gets that name by signing in. A command or a request of the \
            administrator that names the handle restores the user.

            Example:
              skylight user remove anna --yes
            """)

    @Argument(help: "The handle, or the user record name.")
    var user: String

    @Flag(help: "Do it. Without this flag the command only says what it would remove.")
    var yes = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let (removed, sessions) = try await store.withStore(isNew: false) { store in
            guard yes else { throw try await confirmationNeeded(store.accounts) }
            return try await store.accounts.removeUser(named: user)
        }
        if store.json {
            return Output.say { writer in
                writer.name("user")
                writer.value(removed)
                writer.member("endedSessions", Int64(sessions))
            }
        }
        Output.say(
            "The user \(removed.handle) is deleted, and \(sessions) sign-in \(sessions == 1 ? "session" : "sessions") ended. "
                + "Data in containers stays under \(removed.userRecordName).")
    }

    /// The error that asks for confirmation and lists what the removal deletes.
    private func confirmationNeeded(_ accounts: any AccountKeeping) async throws -> CommandFailure {
        let name = Name(user)
        let known = try await accounts.seenUsers().map(\.user).first { Name($0.handle) == name || $0.userRecordName == name }
        guard let known else {
            return CommandFailure(.failed, "There is no user '\(user)'", code: "NOT_FOUND", remedy: "'skylight user list' lists the users")
        }
        return CommandFailure(
            .usage, "The user \(known.handle) (\(known.displayName)) would be deleted, with all sign-in sessions; data in containers would stay",
            code: "CONFIRMATION_NEEDED", remedy: "Add --yes to confirm")
    }
}
