import ArgumentParser
import Foundation
import RecordStore
import RemoteRecordStore
import SQLiteRecordStore

/// The options of every command that works on data.
struct StoreOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions

    @Option(
        help: ArgumentHelp(
            "Work through the server at this address. A server that has the data folder open is found by itself. (default: $SKYLIGHT_URL)",
            valueName: "address"),
        transform: { try ServerAddress($0) })
    var url: ServerAddress?

    func validate() throws {
        if url != nil, common.data != nil { throw ValidationError("--url names a server and --data a folder: leave one of them out.") }
    }

    var json: Bool { common.json }

    /// Opens the data for the time of some work: the server of `--url` or `SKYLIGHT_URL`, else the data folder, else the server that has
    /// the data folder open.
    /// - Parameter isNew: whether the folder may be made; otherwise one that is not there is an error.
    /// - Throws: `CommandFailure`, and what the work throws.
    func withStore<Value>(isNew: Bool, _ work: (OpenStore) async throws -> Value) async throws -> Value {
        if let address = try url ?? addressOfEnvironment {
            guard let engine = try await RunningServer.engine(at: address) else {
                throw CommandFailure(
                    .unavailable, "No Skylight answers at \(address.description)", code: "SERVER_NOT_AVAILABLE",
                    remedy: "Start one with skylight serve, or leave --url and SKYLIGHT_URL out to open the data folder itself")
            }
            return try await Self.run(OpenStore(engine), work)
        }
        let folder = common.dataFolder
        if !isNew { try folder.checkExists() }
        let store: OpenStore
        do {
            // The limit is for those who come from outside; this is the owner of the folder.
            let local = try folder.open(assetSizeLimit: AssetPlace.sizeLimit)
            store = OpenStore(local)
        } catch let error as DataFolderInUse {
            guard let (engine, address) = try await RunningServer.engine(of: folder.serverFile) else { throw error }
            if !json { Output.note("Working through the server at \(address.description), which has \(folder.path) open.") }
            store = OpenStore(engine)
        }
        return try await Self.run(store, work)
    }

    private static func run<Value>(_ store: OpenStore, _ work: (OpenStore) async throws -> Value) async throws -> Value {
        do {
            let value = try await work(store)
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
    }

    /// A way to the server of `--url` or `SKYLIGHT_URL`, else to the one that has the data folder open; `nil` when none answers. To be
    /// closed.
    func runningServer() async throws -> RemoteRecordEngine? {
        if let address = try url ?? addressOfEnvironment { return try await RunningServer.engine(at: address) }
        return try await RunningServer.engine(of: common.dataFolder.serverFile)?.engine
    }

    /// A folder that is asked for goes before the environment.
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
