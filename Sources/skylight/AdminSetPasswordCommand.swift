import ArgumentParser
import Foundation
import JSON

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
        if store.json { return Output.say { $0.member("hasPassword", true) } }
        Output.say("The administrator's password is set.")
    }

    private func password() throws -> String {
        if stdin {
            guard let line = readLine(strippingNewline: true) else { throw CommandFailure(.noInput, "Standard input has no password") }
            return line
        }
        let named = ProcessInfo.processInfo.environment["SKYLIGHT_URL"].map { !$0.isEmpty && store.common.data == nil } ?? false
        if store.url == nil, !named, let password = AdministratorPassword.ofEnvironment { return password }
        guard HiddenInput.isPossible else {
            throw CommandFailure(
                .usage, "The password can't be asked for: standard input is not a terminal",
                remedy: "Pass it with --stdin, or in the environment variable \(AdministratorPassword.variable)")
        }
        let first = try HiddenInput.line(after: "New administrator's password: ")
        guard try HiddenInput.line(after: "Once more: ") == first else { throw CommandFailure(.usage, "The passwords differ; nothing was changed") }
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
