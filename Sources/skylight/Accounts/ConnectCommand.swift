import Accounts
import ArgumentParser
import CloudKitClient
import Foundation
import RecordStore
import Records
import RemoteRecordStore
import Synchronization

struct ConnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect", abstract: "Connect a container in iCloud, to see it in the console.",
        discussion: """
            Credentials come from CloudKit's console (icloud.developer.apple.com), page Tokens & Keys of the container. A server-to-server key reaches the \
            public database. An API token opens the sign-in to iCloud in the browser, and then reaches your private and shared databases too. Give such a \
            token the redirect address \(CallbackAddress.standard), or post messages.

            Accounts with Advanced Data Protection, or without web access to iCloud data, get no token.

            The credentials are kept in the accounts file of the data folder, which only you can read. 'skylight disconnect' forgets them. Production is \
            read-only unless --writable is given.

            Examples:
              skylight connect iCloud.com.example.App --api-token 1f0a…
              skylight connect iCloud.com.example.App --environment production \\
                --key-id 84c2… --key eckey.pem
            """)

    @Argument(help: "The container, such as iCloud.com.example.App.", transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @Option(help: ArgumentHelp("The API token, for a sign-in to iCloud.", valueName: "token"))
    var apiToken: String?

    @Option(help: ArgumentHelp("The ID of a server-to-server key.", valueName: "id"))
    var keyID: String?

    @Option(help: ArgumentHelp("The private key of --key-id: PEM; - for standard input.", valueName: "file"))
    var key: String?

    @Flag(help: "Allow changes of production, which is read-only otherwise.")
    var writable = false

    @Option(
        help: ArgumentHelp(
            "The address on this machine to which the sign-in comes back; the API token has to name it.",
            valueName: "address"),
        transform: { try CallbackAddress($0) })
    var callback: CallbackAddress?

    @Flag(help: "Only print the address for the sign-in, instead of opening the browser.")
    var noBrowser = false

    @Flag(help: "Print the text that each signature covers: CloudKit gives the same answer to every mistake in one.")
    var showSignature = false

    @Option(
        help: ArgumentHelp(
            "Another server that speaks CloudKit's protocol, such as a stand-in for tests. (default: iCloud's)",
            valueName: "address"),
        transform: { try ServerAddress($0) })
    var server: ServerAddress?

    @OptionGroup var store: StoreOptions

    func validate() throws {
        guard (keyID == nil) == (key == nil) else {
            throw ValidationError("--key-id and --key belong together: use both or neither.")
        }
        guard (apiToken == nil) != (keyID == nil) else {
            throw ValidationError("Give either --api-token, or --key-id and --key.")
        }
        if apiToken == nil, callback != nil {
            throw ValidationError("--callback belongs to --api-token: a key needs no sign-in.")
        }
    }

    func run() async throws {
        // Asked first, because nobody wants to sign in for nothing.
        try await store.withStore(isNew: true) { try await checkName(in: $0) }
        let connection = try await verifiedConnection()
        try await store.withStore(isNew: true) { store in
            try await checkName(in: store)
            try await store.accounts.connect(connection)
        }
        let user = connection.userRecordName.map { " as \($0)" } ?? ""
        store.output.say(
            "\(connection.place) is connected\(user)\(connection.isReadOnly ? ", read-only" : "").",
            notes: ["The console of skylight serve shows it beside the containers of this machine."]
        ) { $0.member("connection") { $0.value(connection) } }
    }

    /// - Throws: `CommandFailure` if a container of this machine has the name.
    private func checkName(in store: any CommandData) async throws {
        let isConnected = try await store.accounts.connections().contains { $0.container == container }
        do {
            try await ConnectionAttempt.checkName(container, isConnected: isConnected, in: store.engine)
        } catch let error as RecordError where error.code == .exists {
            throw CommandFailure(
                .failed, "There is a container \(container) on this machine, which a connection would hide",
                code: "EXISTS",
                remedy: "Rename or delete it in the console, or use another folder with --data")
        }
    }

    // MARK: Credentials

    private func verifiedConnection() async throws -> ContainerConnection {
        let showing: @Sendable (RequestEvent) -> Void = { event in
            if case .sending(_, let signed?) = event { Output.note("Signed: \(signed)") }
        }
        let attempt = ConnectionAttempt(
            container, environment, address: server?.description, isWritable: writable,
            observer: showSignature ? showing : nil)
        do {
            if let keyID, let key { return try await attempt.connection(keyID: keyID, pem: try KeyFile.text(key)) }
            return try await connection(apiToken: apiToken ?? "", attempt)
        } catch let error as UnusableKey {
            throw CommandFailure(.badData, "The key can't be used: \(error.description)")
        } catch let failure as CloudKitFailure {
            throw CommandFailure(failure, to: container)
        }
    }

    private func connection(apiToken: String, _ attempt: ConnectionAttempt) async throws -> ContainerConnection {
        let callback = try callback ?? CallbackAddress(CallbackAddress.standard)
        let origin = callback.origin
        let page = SignInPage(
            container: container, signInURL: try await attempt.signInURL(apiToken: apiToken, origin: origin))
        let answer = try await SignInListener.answer(to: page, on: callback.listeningHost, port: callback.port) {
            [noBrowser] _ in
            Output.note("Sign in to iCloud at \(origin)")
            if !noBrowser { Browser.open(origin) }
        }
        guard case .token(let token) = answer else {
            let code = if case .refused(let code) = answer { code } else { "" }
            throw CommandFailure(.notPermitted, ConnectionAttempt.refusal(code), code: "SIGN_IN_REFUSED")
        }
        return try await attempt.connection(apiToken: apiToken, token: token, origin: origin)
    }
}

/// The browser of the person at this machine.
enum Browser {
    /// Opens an address. Without a browser nothing happens: the address is printed too.
    static func open(_ address: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        #if os(macOS)
            process.arguments = ["open", address]
        #else
            process.arguments = ["xdg-open", address]
        #endif
        (process.standardInput, process.standardOutput, process.standardError) = (
            FileHandle.nullDevice, FileHandle.nullDevice, FileHandle.nullDevice
        )
        try? process.run()
    }
}

extension CommandFailure {
    /// A connection that CloudKit refused, or could not be asked for.
    init(_ failure: CloudKitFailure, to container: ContainerID) {
        switch failure.kind {
        case .refused(let error), .signInRequired(let error):
            self.init(
                .notPermitted, "CloudKit refuses the connection to \(container): \(failure)", code: error.codeName)
        case .throttled(let error):
            self.init(.tryAgain, "CloudKit has no time for \(container): \(failure)", code: error.codeName)
        case .unreachable, .untrusted, .connectionLost:
            self.init(.unavailable, "CloudKit can't be reached: \(failure)", code: "SERVER_NOT_AVAILABLE")
        default:
            self.init(.failed, "\(failure)")
        }
    }
}

// MARK: - Connections

struct ConnectionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "connections", abstract: "List the connected containers in iCloud.",
        discussion: """
            Times are in UTC. The credentials themselves are not shown.

            Example:
              skylight connections
            """)

    @OptionGroup var filter: ContainerFilterOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let connections = try await store.withStore(isNew: false) { try await $0.accounts.connections() }
            .filter { filter.includes($0.container, $0.environment) }
        store.output.say(
            list: "connections", connections, none: "No container is connected.",
            [
                .init("CONTAINER", \.container.description), .init("ENVIRONMENT", \.environment.rawValue),
                .init("CREDENTIALS", \.credentials.description), .init("USER") { $0.userRecordName?.string ?? "–" },
                .init("SERVER") { $0.address ?? "iCloud" },
                .init("CHANGES") { $0.isReadOnly ? "read-only" : "allowed" },
                .init("CONNECTED") { Output.moment($0.made) },
            ]
        ) { $0.value($1) }
    }
}

struct DisconnectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disconnect", abstract: "Forget the connection to a container in iCloud, with its credentials.",
        discussion: """
            Nothing changes in iCloud. A key or API token that nobody else uses can be revoked in CloudKit's console.

            Example:
              skylight disconnect iCloud.com.example.App
            """)

    @Argument(help: "The container, such as iCloud.com.example.App.", transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let forgotten = try await store.withStore(isNew: false) { store in
            let found = try await store.accounts.connections().filter {
                $0.container == container && environment ?? $0.environment == $0.environment
            }
            if found.isEmpty {
                throw CommandFailure(
                    .failed, "\(container) is not connected", code: "NOT_FOUND",
                    remedy: "skylight connections lists those that are")
            }
            for connection in found {
                _ = try await store.accounts.disconnect(connection.container, connection.environment)
            }
            return found
        }
        store.output.say(
            lines: forgotten.map { "\($0.place) is no longer connected. Its credentials are forgotten." }
        ) { $0.member("connections", values: forgotten) { $0.value($1) } }
    }
}
