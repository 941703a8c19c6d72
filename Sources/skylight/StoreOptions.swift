import ArgumentParser
import DataTransfer
import Foundation
import RecordStore
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
        if url != nil, common.data != nil { throw ValidationError("--url gives a server and --data a folder: remove one of them.") }
    }

    var json: Bool { common.json }

    /// Opens the data for the duration of some work: the server of `--url` or `SKYLIGHT_URL`,
    /// or else the data folder, or else the server that has the data folder open.
    /// - Parameter isNew: true to create a missing folder. Otherwise a missing folder is an error.
    /// - Throws: `CommandFailure` if the data can't be opened; errors of the work.
    func withStore<Value>(isNew: Bool, _ work: (any OpenStore) async throws -> Value) async throws -> Value {
        if let address = try url ?? addressOfEnvironment {
            guard let engine = try await RunningServer.engine(at: address) else {
                throw CommandFailure(
                    .unavailable, "No Skylight answers at \(address.description)", code: "SERVER_NOT_AVAILABLE",
                    remedy: "Start one with skylight serve, or remove --url and SKYLIGHT_URL to open the data folder directly")
            }
            return try await Self.run(engine, work)
        }
        let folder = common.dataFolder
        if !isNew { try folder.checkExists() }
        let store: any OpenStore
        do {
            // The server's size limit applies to clients only, not to the owner of the folder.
            store = try folder.open(assetSizeLimit: AssetExchange.sizeLimit)
        } catch let error as DataFolderInUse {
            guard let (engine, address) = try await RunningServer.engine(of: folder.serverFile) else { throw error }
            if !json { Output.note("Using the server at \(address.description), which has \(folder.path) open.") }
            store = engine
        }
        return try await Self.run(store, work)
    }

    private static func run<Value>(_ store: any OpenStore, _ work: (any OpenStore) async throws -> Value) async throws -> Value {
        do {
            let value = try await work(store)
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
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
            guard common.data == nil, let text = ProcessInfo.processInfo.environment["SKYLIGHT_URL"], !text.isEmpty else { return nil }
            do {
                return try ServerAddress(text)
            } catch let error as ValidationError {
                throw CommandFailure(.usage, "SKYLIGHT_URL can't be used: \(error.message)")
            }
        }
    }
}
