import Accounts
import ArgumentParser
import Foundation
import Records

struct UserListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the users and their origins.",
        discussion: """
            Times are in UTC. A user was created by the server (a command, the console, a request that named the user), or by a sign-in: with an API \
            token, or by a stranger without one.

            Example:
              skylight user list --made-by stranger
            """)

    /// The way in which users were created.
    enum Maker: String, ExpressibleByArgument, CaseIterable {
        case server, stranger
        case apiToken = "api-token"

        init(_ maker: User.Maker) {
            switch maker {
            case .server: self = .server
            case .stranger: self = .stranger
            case .apiToken: self = .apiToken
            }
        }
    }

    @Option(help: "Only users of this origin: server, api-token or stranger. (default: all)")
    var madeBy: Maker?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let users = try await store.withStore(isNew: false) { try await $0.accounts.seenUsers() }
            .filter { madeBy == nil || madeBy == Maker($0.user.maker) }
        store.output.say(
            list: "users", users, none: "There are no such users.",
            [
                .init("HANDLE") { $0.user.handle }, .init("NAME") { $0.user.displayName },
                .init("E-MAIL") { $0.user.emailAddress ?? "" },
                .init("USER RECORD NAME") { $0.user.userRecordName.string },
                .init("MADE BY") { Self.words(for: $0.user.maker) }, .init("MADE") { Output.moment($0.user.made) },
                .init("LAST SEEN") { Output.moment($0.lastSeen) },
            ]
        ) { $0.value(SeenUser($1.user, lastSeen: $1.lastSeen)) }
    }

    private static func words(for maker: User.Maker) -> String {
        if case .apiToken(let id) = maker { "API token \(id)" } else { Maker(maker).rawValue }
    }
}

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
        store.output.say(
            "The user \(removed.handle) is deleted, and \(sessions) sign-in \(sessions == 1 ? "session" : "sessions") ended. "
                + "Data in containers stays under \(removed.userRecordName)."
        ) { writer in
            writer.member("user") { $0.value(removed) }
            writer.member("endedSessions", Int64(sessions))
        }
    }

    /// The error that asks for confirmation and lists what the removal deletes.
    private func confirmationNeeded(_ accounts: any AccountKeeping) async throws -> CommandFailure {
        let name = Name(user)
        let known = try await accounts.seenUsers().map(\.user).first {
            Name($0.handle) == name || $0.userRecordName == name
        }
        guard let known else {
            return CommandFailure(
                .failed, "There is no user '\(user)'", code: "NOT_FOUND", remedy: "'skylight user list' lists the users"
            )
        }
        return .confirmationNeeded(
            "The user \(known.handle) (\(known.displayName)) would be deleted, with all sign-in sessions; data in containers would stay"
        )
    }
}

// MARK: - Password of the administrator

struct AdminSetPasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-password", abstract: "Set the administrator's password.",
        discussion: """
            Asks for the password twice, or reads it from standard input with --stdin, or from the environment variable \
            \(AdministratorPassword.variable). With --url, the variable is the current password of that server, not the new one.

            The password has at least eight characters. Only its hash (scrypt) is stored. All console sessions end.

            Examples:
              skylight admin set-password
              pass show skylight | skylight admin set-password --stdin
            """)

    @Flag(help: "Read the password from standard input: its first line.")
    var stdin = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let password = try password()
        try await store.withStore(isNew: true) { try await $0.accounts.setAdministratorPassword(password) }
        store.output.say("The administrator's password is set.") { $0.member("hasPassword", true) }
    }

    private func password() throws -> String {
        if stdin {
            guard let line = readLine(strippingNewline: true) else {
                throw CommandFailure(.noInput, "Standard input has no password")
            }
            return line
        }
        let named =
            ProcessInfo.processInfo.environment["SKYLIGHT_URL"].map { !$0.isEmpty && store.common.data == nil } ?? false
        if store.url == nil, !named, let password = AdministratorPassword.ofEnvironment { return password }
        guard HiddenInput.isPossible else {
            throw CommandFailure(
                .usage, "The password can't be asked for: standard input is not a terminal",
                remedy: "Pass it with --stdin, or in the environment variable \(AdministratorPassword.variable)")
        }
        let first = try HiddenInput.line(after: "New administrator's password: ")
        guard try HiddenInput.line(after: "Once more: ") == first else {
            throw CommandFailure(.usage, "The passwords differ; nothing was changed")
        }
        return first
    }
}

/// The administrator's password from the environment.
enum AdministratorPassword {
    static let variable = "SKYLIGHT_ADMIN_PASSWORD"

    /// `nil` if the variable is not set or empty.
    static var ofEnvironment: String? {
        ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// Reads secrets from the terminal.
enum HiddenInput {
    private static let limit = 4096

    /// True if standard input is a terminal.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 }

    /// Reads a line without echo. Ctrl-C restores the terminal and ends the process.
    static func line(after prompt: String) throws -> String {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw CommandFailure(.failed, "The terminal can't be used") }
        var hidden = before
        // Reads single bytes, with Ctrl-C as a byte, so that the terminal is always restored.
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else {
            throw CommandFailure(.failed, "The terminal can't be used")
        }
        defer { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) }
        Output.write(prompt)
        defer { Output.write("\n") }
        var bytes: [UInt8] = []
        while true {
            var byte: UInt8 = 0
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            switch byte {
            case 0x0A, 0x0D: return String(decoding: bytes, as: UTF8.self)
            case 0x03:
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
                Output.write("\n")
                signal(SIGINT, SIG_DFL)
                // Sends the signal to the process, because this thread blocks signals.
                kill(getpid(), SIGINT)
                sleep(1)
                exit(130)
            case 0x04 where bytes.isEmpty: throw CommandFailure(.usage, "The password is empty; nothing was changed")
            case 0x15: bytes = []
            case 0x08, 0x7F:
                // Removes all bytes of a multibyte character.
                while let last = bytes.popLast(), last & 0xC0 == 0x80 {}
            case 0x20...: if bytes.count < limit { bytes.append(byte) }
            default: break
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
