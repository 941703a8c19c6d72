import Accounts
import DataTransfer
import Foundation
import Records
import RecordStore
import SQLiteRecordStore

/// The folder with everything a Skylight keeps: a folder for each container, and the users.
struct DataFolder {
    let url: URL

    /// The folder of the option, else of the environment variable `SKYLIGHT_DATA`, else where the system keeps such data.
    init(_ option: String?) {
        let environment = ProcessInfo.processInfo.environment
        if let path = option ?? environment["SKYLIGHT_DATA"].flatMap({ $0.isEmpty ? nil : $0 }) {
            url = URL(filePath: path, directoryHint: .isDirectory)
        } else {
            url = Self.standard(environment)
        }
    }

    private static func standard(_ environment: [String: String]) -> URL {
        let home = FileManager.default.homeDirectoryForCurrentUser
        #if os(macOS)
            return home.appending(path: "Library/Application Support/Skylight", directoryHint: .isDirectory)
        #else
            // The XDG Base Directory Specification; a relative path there is to be ignored.
            if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
                return URL(filePath: path, directoryHint: .isDirectory).appending(path: "skylight", directoryHint: .isDirectory)
            }
            return home.appending(path: ".local/share/skylight", directoryHint: .isDirectory)
        #endif
    }

    /// The standard place as help texts name it.
    static var defaultDescription: String {
        #if os(macOS)
            "~/Library/Application Support/Skylight"
        #else
            "~/.local/share/skylight"
        #endif
    }

    var path: String { url.path(percentEncoded: false) }

    /// Opens the folder for the time of some work.
    /// - Parameter isNew: whether the folder may be made; otherwise one that is not there is an error.
    /// - Throws: `CommandFailure`, and what the work throws.
    func withStore<Value>(isNew: Bool, _ work: (Store) async throws -> Value) async throws -> Value {
        if !isNew, !FileManager.default.fileExists(atPath: path) {
            throw CommandFailure(.failed, "There is no data folder \(path)", code: "NOT_FOUND", remedy: "Give the folder with --data, or fill it with skylight serve --demo or skylight import")
        }
        let store = try open()
        do {
            let value = try await work(store)
            await store.engine.close()
            return value
        } catch {
            await store.engine.close()
            throw error
        }
    }

    /// Opens the folder, and makes it when it is missing. The engine is to be closed.
    func open() throws -> Store {
        let clock = SettableClock()
        do {
            let engine = try SQLiteRecordEngine(folder: url, clock: { clock.now() })
            return Store(engine: engine, accounts: try Accounts(file: url.appending(path: "accounts.sqlite")), clock: clock)
        } catch let error as DataFolderInUse {
            throw error
        } catch {
            throw CommandFailure(
                .cannotCreate, "The data folder \(path) can't be used: \(error.localizedDescription)",
                remedy: "Choose one that you may write to, with --data")
        }
    }

    /// What is in an open folder.
    struct Store {
        let engine: SQLiteRecordEngine
        let accounts: Accounts
        let clock: SettableClock

        /// A database as a user sees it.
        func database(_ address: DatabaseAddress, as user: String?) async throws -> any RecordDatabase {
            try await engine.database(address, as: try accounts.caller(named: user, deviceID: "skylight"))
        }

        /// A database of a container that is there.
        func existingDatabase(_ address: DatabaseAddress, as user: String?) async throws -> any RecordDatabase {
            let containers = try await engine.containers()
            guard containers.contains(address.container) else {
                let known = containers.isEmpty ? "there is none yet" : "there are \(containers.map(\.description).joined(separator: ", "))"
                throw CommandFailure(.failed, "There is no container \(address.container): \(known)", code: "NOT_FOUND")
            }
            return try await database(address, as: user)
        }
    }
}
