import Accounts
import ArgumentParser
import Foundation
import Records

struct KeyRegisterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "register", abstract: "Register a public key, and print its key ID.",
        discussion: """
            Clients send the key ID in X-Apple-CloudKit-Request-KeyID. It depends only on the key, the container and the environment, so it is the \
            same in another data folder. docs/signing.md describes the signature.

            Create a key pair:
              openssl ecparam -name prime256v1 -genkey -noout -out eckey.pem
              openssl ec -in eckey.pem -pubout -out eckey.pub.pem
            Register the public key:
              skylight key register --file eckey.pub.pem \\
                --container iCloud.com.example.Chat
            """)

    @Option(help: ArgumentHelp("The public key: PEM, P-256; - for standard input.", valueName: "file"))
    var file: String

    @OptionGroup var target: EnvironmentOptions

    @Option(help: "The display name. (default: derived from the key ID)")
    var name = ""

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let pem = try KeyFile.text(file)
        let key = try await store.withStore(isNew: true) { store in
            do {
                return try await store.accounts.registerServerKey(
                    pem: pem, named: name, container: target.container, environment: target.environment)
            } catch let error as RecordError where error.code == .badRequest {
                throw CommandFailure(.badData, error.reason, code: error.code.rawValue)
            }
        }
        store.output.say(
            key.keyID,
            notes: [
                "This is the key ID of '\(key.name)' in \(target.place). It acts as the user \(key.userRecordName)."
            ]
        ) { $0.member("key") { $0.value(key) } }
    }
}

/// The file of a key.
enum KeyFile {
    /// The text of a file, or of standard input for `-`, with a size limit, because keys are small.
    static func text(_ file: String) throws -> String {
        do {
            let handle = file == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(filePath: file))
            return String(decoding: try handle.read(upToCount: 1 << 17) ?? Data(), as: UTF8.self)
        } catch {
            throw CommandFailure(.noInput, "The file \(file) can't be read: \(error.localizedDescription)")
        }
    }
}

struct KeyListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the registered server-to-server keys.",
        discussion: """
            Times are in UTC.

            Example:
              skylight key list --container iCloud.com.example.Chat
            """)

    @OptionGroup var filter: ContainerFilterOptions

    @Flag(help: "Include revoked ones.")
    var all = false

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let keys = try await store.withStore(isNew: false) { try await $0.accounts.serverKeys() }
            .filter { filter.includes($0.container, $0.environment) && (all || $0.isLive) }
        let columns: [Output.Column<ServerKey>] = [
            .init("KEY ID", \.keyID), .init("NAME", \.name), .init("CONTAINER", \.container.description),
            .init("ENVIRONMENT", \.environment.rawValue), .init("REGISTERED") { Output.moment($0.made) },
            .init("LAST USED") { Output.moment($0.lastUsed, none: "never") },
            .init("REVOKED") { Output.moment($0.revoked) },
        ]
        store.output.say(
            list: "keys", keys, none: "No server-to-server key is registered.", all ? columns : columns.dropLast()
        ) { $0.value($1) }
    }
}

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
        store.output.say("The key '\(key.name)' of \(key.container) (\(key.environment.rawValue)) is revoked.") {
            $0.member("key") { $0.value(key) }
        }
    }
}
