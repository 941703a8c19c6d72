import ArgumentParser
import JSON

struct UserRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Delete a user, and end the user's sign-in sessions.",
        discussion: """
            Deletes the name and e-mail address. The user's data in containers stays under the user record \
            name; to delete it too, purge the zones first (skylight zone purge). Nobody can sign in with this handle again. A command or a request of \
            the administrator with the handle restores the user.

            Example:
              skylight user remove anna --yes
            """)

    @Argument(help: "The handle, or the user record name.")
    var user: String

    @Flag(help: "Confirm it. Without this flag the command only shows what would be deleted.")
    var yes = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let removed = try await store.withStore(isNew: false) { store in
            guard yes else { throw try await confirmationNeeded(store.accounts) }
            return try await store.accounts.removeUser(user)
        }
        if store.json { return Output.say(json: .object(removed)) }
        let gone = try (removed["user"] ?? .null).object
        let sessions = if case .integer(let count)? = removed["endedSessions"] { count } else { Int64(0) }
        Output.say(
            "The user \(gone.text("handle")) is deleted, and \(sessions) sign-in \(sessions == 1 ? "session" : "sessions") ended. "
                + "Data in containers stays under \(gone.text("userRecordName")).")
    }

    /// The error that asks for confirmation and lists what the removal deletes.
    private func confirmationNeeded(_ accounts: AccountsPlace) async throws -> CommandFailure {
        let name = Name(user)
        let known = try await accounts.users().first { Name($0.text("handle")) == name || Name($0.text("userRecordName")) == name }
        guard let known else {
            return CommandFailure(.failed, "There is no user '\(user)'", code: "NOT_FOUND", remedy: "'skylight user list' lists the users")
        }
        return CommandFailure(
            .usage,
            "The user \(known.text("handle")) (\(known.text("displayName"))) would be deleted, with all sign-in sessions; data in containers would stay",
            code: "CONFIRMATION_NEEDED", remedy: "Add --yes to confirm")
    }
}
