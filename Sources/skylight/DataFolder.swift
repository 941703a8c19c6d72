import Accounts
import AssetStore
import DataTransfer
import Foundation
import Logging
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

    var serverFile: ServerFile { ServerFile(folder: url) }

    /// - Throws: `CommandFailure` when the folder is not there.
    func checkExists() throws {
        if !FileManager.default.fileExists(atPath: path) {
            throw CommandFailure(
                .failed, "There is no data folder \(path)", code: "NOT_FOUND",
                remedy: "Give the folder with --data, or fill it with skylight serve --demo or skylight import")
        }
    }

    /// Whether other users of the machine may look into the folder, as far as its own rights say.
    var isOpenToOthers: Bool {
        // Where the rights can't be told, nothing is said of them.
        let rights = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        return rights.map { $0.intValue & 0o077 != 0 } ?? false
    }

    /// Opens the folder, and makes it when it is missing, for its owner alone. The engine is to be closed.
    /// - Parameters:
    ///   - tokenLifetime: how long deletions are remembered; `nil` for ever.
    ///   - journal: what is kept of earlier versions of records; `nil` for what the last server said.
    ///   - assetSizeLimit: bytes that an upload may have.
    ///   - assetGraceTime: how long files are kept that nothing uses.
    ///   - logLevel: how much is logged of the stores. Commands say by themselves what went wrong.
    func open(
        tokenLifetime: Duration? = nil, journal: JournalLimits? = nil, assetSizeLimit: Int64 = AssetStores.defaultSizeLimit,
        assetGraceTime: Duration = AssetStores.defaultGraceTime, logLevel: Logger.Level = .critical
    ) throws -> Store {
        let clock = SettableClock()
        var logger = Logger(label: "skylight.store")
        logger.logLevel = logLevel
        do {
            let isNew = !FileManager.default.fileExists(atPath: path)
            let engine = try SQLiteRecordEngine(folder: url, tokenLifetime: tokenLifetime, journal: journal, logger: logger, clock: { clock.now() })
            // Before anything is in it. A folder that was there keeps the rights that its owner gave it.
            if isNew { try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path) }
            // Left by a server that was killed.
            serverFile.remove()
            let assets = AssetStores(folder: url, engine: engine, sizeLimit: assetSizeLimit, graceTime: assetGraceTime, clock: { clock.now() })
            return Store(engine: engine, assets: assets, accounts: try Accounts(file: url.appending(path: "accounts.sqlite")), clock: clock)
        } catch let error as DataFolderInUse {
            throw error
        } catch let error as UnreadableAccounts {
            throw CommandFailure(.badData, "The data folder \(path) can't be used: \(error.description)")
        } catch {
            throw CommandFailure(
                .cannotCreate, "The data folder \(path) can't be used: \(error.localizedDescription)",
                remedy: "Choose one that you may write to, with --data")
        }
    }

    /// What is in an open folder.
    struct Store {
        let engine: SQLiteRecordEngine
        let assets: AssetStores
        let accounts: Accounts
        let clock: SettableClock

        /// Ends work that is under way and lets go of the folder.
        func close() async {
            do {
                try await accounts.writeUses()
            } catch {
                // What is lost is when tokens were last used, and the names of users whom requests named last.
                Logger(label: "skylight").warning("Who asked last could not be written: \(error)")
            }
            await assets.close()
            await engine.close()
        }
    }
}
