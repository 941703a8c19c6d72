import ArgumentParser
import DataTransfer
import Foundation
import RecordStore
import Records
import RemoteRecordStore
import SQLRecordStore

/// The options of all commands that work on data.
struct StoreOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "Use the server at this address. A server that has the data folder open is found automatically. (default: $SKYLIGHT_URL)",
            valueName: "address"),
        transform: { try ServerAddress($0) })
    var url: ServerAddress?

    func validate() throws {
        if url != nil, common.data != nil {
            throw ValidationError("--url gives a server and --data a folder: remove one of them.")
        }
    }

    var output: Output { Output(isJSON: common.json) }

    /// Opens the data for the duration of some work: the server of `--url` or `SKYLIGHT_URL`,
    /// or else the data folder, or else the server that has the data folder open.
    /// - Parameter isNew: true to create a missing folder. Otherwise a missing folder is an error.
    /// - Throws: `CommandFailure` if the data can't be opened; errors of the work.
    func withStore<Value>(isNew: Bool, _ work: (any CommandData) async throws -> Value) async throws -> Value {
        if let address = try url ?? addressOfEnvironment {
            guard let engine = try await RunningServer.engine(at: address) else {
                throw CommandFailure(
                    .unavailable, "No Skylight answers at \(address.description)", code: "SERVER_NOT_AVAILABLE",
                    remedy:
                        "Start one with skylight serve, or remove --url and SKYLIGHT_URL to open the data folder directly"
                )
            }
            return try await engine.closing(work)
        }
        let folder = common.dataFolder
        if !isNew { try folder.checkExists() }
        let store: any CommandData
        do {
            // The server's size limit applies to clients only, not to the owner of the folder.
            store = try folder.open(assetSizeLimit: AssetExchange.sizeLimit)
        } catch let error as DataFolderInUse {
            guard let (engine, address) = try await RunningServer.engine(of: folder.serverFile) else { throw error }
            if !common.json {
                Output.note("Using the server at \(address.description), which has \(folder.path) open.")
            }
            store = engine
        }
        return try await store.closing(work)
    }

    /// An engine for the server of `--url` or `SKYLIGHT_URL`, or else for the server that
    /// has the data folder open; `nil` if there is no answer. The caller must close it.
    func runningServer() async throws -> RemoteRecordEngine? {
        if let address = try url ?? addressOfEnvironment { return try await RunningServer.engine(at: address) }
        return try await RunningServer.engine(of: common.dataFolder.serverFile)?.engine
    }

    /// True if the data is that of a server whose folder nobody named.
    var namesServer: Bool {
        get throws { try url != nil || addressOfEnvironment != nil }
    }

    /// An explicit folder takes precedence over the environment.
    private var addressOfEnvironment: ServerAddress? {
        get throws {
            guard common.data == nil, let text = ProcessInfo.processInfo.environment["SKYLIGHT_URL"], !text.isEmpty
            else { return nil }
            do {
                return try ServerAddress(text)
            } catch let error as ValidationError {
                throw CommandFailure(.usage, "SKYLIGHT_URL can't be used: \(error.message)")
            }
        }
    }
}

// MARK: - Common options

/// The options of all commands.
struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder with the data. (default: $SKYLIGHT_DATA, else \(DataFolder.defaultDescription))",
            valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Keep the records in this database of PostgreSQL, such as postgres://user@host/database, and the rest in the folder. The password comes from "
                + "$PGPASSWORD, from libpq's password file, or from the address in $SKYLIGHT_STORE. (default: $SKYLIGHT_STORE)",
            valueName: "address"))
    var store: String?

    @Flag(help: "Print results as JSON on standard output, and errors as one JSON object on standard error.")
    var json = false

    var dataFolder: DataFolder { DataFolder(data, store: store) }

    func validate() throws {
        if let store { try StoreAddress.check(store, in: "--store") }
    }
}

/// The options for the environment of a command.
struct EnvironmentOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    /// The container and the environment in words.
    var place: String { "\(container) (\(environment.rawValue))" }
}

/// The options for the database of a command.
struct DatabaseOptions: ParsableArguments {
    @OptionGroup var target: EnvironmentOptions

    @Option(
        help: ArgumentHelp(
            "The owner of the private and shared data: a handle such as ada, or a user record name.",
            valueName: "handle"))
    var user = "developer"

    var container: ContainerID { target.container }
    var environment: Environment { target.environment }
    /// The container and the environment in words.
    var place: String { target.place }

    /// The schemas of the command, and the acting user.
    var schemas: SchemaAccess { SchemaAccess(container: container, user: user) }

    func address(_ scope: DatabaseScope) -> DatabaseAddress {
        DatabaseAddress(container: container, environment: environment, scope: scope)
    }
}

extension ContainerID {
    /// - Throws: `ValidationError` with the format of container identifiers.
    init(argument: String) throws {
        guard let container = ContainerID(argument) else {
            throw ValidationError(
                "a container is 'iCloud.' and then letters, digits, dots, hyphens or underscores, such as iCloud.com.example.App."
            )
        }
        self = container
    }
}

// MARK: - Filter by container

/// The options that restrict a command to a container or an environment.
struct ContainerFilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Only this container. (default: all)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "Only this environment. (default: both)")
    var environment: Environment?

    func includes(_ container: ContainerID, _ environment: Environment) -> Bool {
        (self.container == nil || self.container == container)
            && (self.environment == nil || self.environment == environment)
    }

    /// The files of the selected environments, sorted by name.
    /// - Throws: `CommandFailure` if the container does not exist.
    func assets(in store: any CommandData) async throws -> [any EnvironmentAssets] {
        let all = try await store.allAssets()
        if let container, !all.contains(where: { $0.container == container }) { try await store.checkExists(container) }
        return all.filter { includes($0.container, $0.environment) }
    }
}

// MARK: - Address of the store

/// Addresses of databases of PostgreSQL, as options have them.
enum StoreAddress {
    static func isOne(_ text: String) -> Bool { text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") }

    /// - Throws: `ValidationError` for another text, or an address with a password.
    static func check(_ text: String, in option: String) throws {
        if !isOne(text) { throw ValidationError("\(option) is an address such as postgres://user@host/database.") }
        try checkSecrecy(of: text, in: option)
    }

    /// - Throws: `ValidationError` for any text that may have a password: every user of the machine can read the
    ///   arguments of a process.
    static func checkSecrecy(of text: String, in option: String) throws {
        guard mayHavePassword(text) else { return }
        throw ValidationError(
            "\(option) must not have the password: give it in PGPASSWORD or in libpq's password file. An @ that ends no user's name is written %40."
        )
    }

    /// Refuses too much rather than too little. Where a password that is not in percent-encoding ends is anyone's
    /// guess, so any @ may end it.
    private static func mayHavePassword(_ text: String) -> Bool {
        // libpq decodes the names of parameters, too.
        if (text.removingPercentEncoding ?? text).contains(#/password\s*=/#) { return true }
        let bytes = text.utf8
        guard let start = bytes.firstRange(of: "://".utf8)?.upperBound,
            let end = bytes.lastIndex(of: UInt8(ascii: "@")), start < end
        else { return false }
        return bytes[start..<end].contains(UInt8(ascii: ":"))
    }
}
