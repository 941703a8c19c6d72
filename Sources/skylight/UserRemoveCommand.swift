import ArgumentParser
import JSON

struct UserRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Remove a user, whose sign-in sessions end.",
        discussion: """
            Name and e-mail address go, and the place is free for somebody else. What the user has in containers stays there under the user record \
            name: purge the zones first if it is to go (skylight zone purge). Nobody who signs in gets that name again; a command or a request of yours \
            that names the handle brings the user back.

            Example:
              skylight user remove anna --yes
            """)

    @Argument(help: "The handle, or the user record name.")
    var user: String

    @Flag(help: "Do it. Without this flag the command only says what would go.")
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
            "The user \(gone.text("handle")) is removed, and \(sessions) sign-in \(sessions == 1 ? "session" : "sessions") ended. "
                + "Data in containers stays under \(gone.text("userRecordName")).")
    }

    /// The error that asks for confirmation and lists what the removal deletes.
    private func confirmationNeeded(_ accounts: AccountsPlace) async throws -> CommandFailure {
        let name = Name(user)
        let known = try await accounts.users().first { Name($0.text("handle")) == name || Name($0.text("userRecordName")) == name }
        guard let known else {
            return CommandFailure(.failed, "There is no user '\(user)'", code: "NOT_FOUND", remedy: "'skylight user list' shows who there is")
        }
        return CommandFailure(
            .usage,
            "The user \(known.text("handle")) (\(known.text("displayName"))) would be removed, with all sign-in sessions; data in containers would stay",
            code: "CONFIRMATION_NEEDED", remedy: "Add --yes to do it")
    }
}
