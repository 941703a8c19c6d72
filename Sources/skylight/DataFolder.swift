import Accounts
import AssetStore
import DataTransfer
import Foundation
import Logging
import RecordStore
import Records
import RemoteRecordStore
import SQLRecordStore

/// The data folder, which contains a folder for each container, and the accounts. The records can be in PostgreSQL
/// instead.
struct DataFolder {
    let url: URL
    /// The address of the database of PostgreSQL that has the records, or nil.
    let database: String?

    /// The folder in the option, or else in the environment variable `SKYLIGHT_DATA`, or else the system's default
    /// place.
    /// - Parameter store: the database in the option. The default is that in the environment variable `SKYLIGHT_STORE`.
    init(_ option: String?, store: String? = nil) {
        let environment = ProcessInfo.processInfo.environment
        database = store ?? environment["SKYLIGHT_STORE"].flatMap { $0.isEmpty ? nil : $0 }
        if let path = option ?? environment["SKYLIGHT_DATA"].flatMap({ $0.isEmpty ? nil : $0 }) {
            url = URL(filePath: path, directoryHint: .isDirectory)
        } else {
            url = Self.standard(environment)
        }
    }

    /// A folder of files alone, whatever the environment says.
    init(temporary url: URL) {
        self.url = url
        database = nil
    }

    private static func standard(_ environment: [String: String]) -> URL {
        let home = FileManager.default.homeDirectoryForCurrentUser
        #if os(macOS)
            return home.appending(path: "Library/Application Support/Skylight", directoryHint: .isDirectory)
        #else
            // The XDG Base Directory Specification requires that relative paths be ignored.
            if let path = environment["XDG_DATA_HOME"], path.hasPrefix("/") {
                return URL(filePath: path, directoryHint: .isDirectory).appending(
                    path: "skylight", directoryHint: .isDirectory)
            }
            return home.appending(path: ".local/share/skylight", directoryHint: .isDirectory)
        #endif
    }

    /// The default place, for help texts.
    static var defaultDescription: String {
        #if os(macOS)
            "~/Library/Application Support/Skylight"
        #else
            "~/.local/share/skylight"
        #endif
    }

    var path: String { url.path(percentEncoded: false) }

    var serverFile: ServerFile { ServerFile(folder: url) }

    /// - Throws: `CommandFailure` if the folder does not exist.
    func checkExists() throws {
        if !FileManager.default.fileExists(atPath: path) {
            throw CommandFailure(
                .failed, "There is no data folder \(path)", code: "NOT_FOUND",
                remedy: "Choose a folder with --data, or create it with skylight serve --demo or skylight import")
        }
    }

    /// True if the permissions of the folder let other users of the machine access it.
    var isOpenToOthers: Bool {
        // If the permissions can't be read, there is no warning.
        let rights = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        return rights.map { $0.intValue & 0o077 != 0 } ?? false
    }

    /// Opens the folder. Creates a missing one with access for its owner only. The caller must close the result.
    /// - Parameters:
    ///   - tokenLifetime: the time that deletions are kept; `nil` for no limit.
    ///   - journal: the retention of earlier record versions; `nil` for the last server's setting.
    ///   - assetSizeLimit: the size limit of an upload, in bytes.
    ///   - assetGraceTime: the time that unused files are kept.
    ///   - logLevel: the log level of the stores. Commands report errors themselves.
    func open(
        tokenLifetime: Duration? = nil, journal: JournalLimits? = nil,
        assetSizeLimit: Int64 = AssetStores.defaultSizeLimit,
        assetGraceTime: Duration = AssetStores.defaultGraceTime, logLevel: Logger.Level = .critical
    ) throws -> Store {
        let clock = SettableClock()
        var logger = Logger(label: "skylight.store")
        logger.logLevel = logLevel
        do {
            let isNew = !FileManager.default.fileExists(atPath: path)
            let engine =
                if let database {
                    try SQLRecordEngine(
                        postgreSQL: database, beside: url, tokenLifetime: tokenLifetime, journal: journal,
                        logger: logger, clock: { clock.now() })
                } else {
                    try SQLRecordEngine(
                        folder: url, tokenLifetime: tokenLifetime, journal: journal, logger: logger,
                        clock: { clock.now() })
                }
            // Sets the permissions while the folder is empty. An existing folder keeps its permissions.
            if isNew { try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path) }
            // The file of a server that was killed. With a database, it may be that of another server.
            if database == nil { serverFile.remove() }
            let accounts = try Accounts(file: url.appending(path: "accounts.sqlite"), isShared: database != nil)
            let containers = ContainersByEngine(
                local: engine, accounts: accounts, logger: logger, clock: { clock.now() })
            let assets = AssetStores(
                folder: url, engine: containers, isShared: database != nil, sizeLimit: assetSizeLimit,
                graceTime: assetGraceTime, clock: { clock.now() })
            return Store(local: engine, containers: containers, assets: assets, accounts: accounts, clock: clock)
        } catch let error as DataFolderInUse {
            throw error
        } catch let error as DatabaseUnavailable {
            throw CommandFailure(
                .unavailable, error.description, code: "STORE_NOT_AVAILABLE",
                remedy: "Check the address in --store or SKYLIGHT_STORE, and that PostgreSQL answers")
        } catch let error as UnreadableAccounts {
            throw CommandFailure(.badData, "The data folder \(path) can't be used: \(error.description)")
        } catch {
            throw CommandFailure(
                .cannotCreate, "The data folder \(path) can't be used: \(error.localizedDescription)",
                remedy: "Choose a writable folder with --data")
        }
    }

    /// The content of an open folder.
    struct Store: Sendable {
        /// The containers of the folder.
        let local: SQLRecordEngine
        /// The containers of the folder, and those in iCloud that its accounts are connected to.
        let containers: ContainersByEngine
        let assets: AssetStores
        let accounts: Accounts
        let clock: SettableClock

        /// The same for commands and services, which only read what is in iCloud.
        var engine: ReadOnlyConnections { ReadOnlyConnections(containers) }

        /// Ends work in progress and closes the folder.
        func close() async {
            do {
                try await accounts.writeUses()
            } catch {
                // The lost data are the last uses of tokens, and the users of the last requests.
                Logger(label: "skylight").warning("The last use of credentials could not be saved: \(error)")
            }
            await assets.close()
            await containers.close()
        }
    }
}
