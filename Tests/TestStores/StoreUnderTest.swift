import Foundation
import Logging
import RecordStore
import Records

@testable import SQLRecordStore

/// The database that the tests of stores run on: files of SQLite, or PostgreSQL if `SKYLIGHT_POSTGRESQL` has the
/// address of a server.
enum StoreUnderTest {
    static let server = ProcessInfo.processInfo.environment["SKYLIGHT_POSTGRESQL"].flatMap { $0.isEmpty ? nil : $0 }
    static var isSQLite: Bool { server == nil }

    /// Opens the stores of a folder. On a server, a folder is a database.
    static func engine(
        folder: URL, tokenLifetime: Duration? = nil, journal: JournalLimits? = nil,
        logLimits: WriteAheadLogLimits = WriteAheadLogLimits(),
        indexLimits: IndexLimits = IndexLimits(), cascadeLimits: CascadeLimits = CascadeLimits(),
        openLimits: OpenStores.Limits? = nil,
        logger: Logger = Logger(label: "skylight.store"), clock: @escaping @Sendable () -> Timestamp = Timestamp.now
    ) throws -> SQLRecordEngine {
        #if PostgreSQL
            if !isSQLite {
                let home = try PostgreSQLServer(try database(of: folder), logger)
                return SQLRecordEngine(
                    home: home, tokenLifetime: tokenLifetime, journal: journal, indexLimits: indexLimits,
                    cascadeLimits: cascadeLimits, openLimits: openLimits,
                    logger: logger, clock: clock)
            }
        #endif
        return try SQLRecordEngine(
            folder: folder, tokenLifetime: tokenLifetime, journal: journal, logLimits: logLimits,
            indexLimits: indexLimits, cascadeLimits: cascadeLimits,
            openLimits: openLimits, logger: logger, clock: clock)
    }

    #if PostgreSQL
        /// The address of a folder's database, which is made if it is missing.
        static func database(of folder: URL) throws -> String {
            guard let server else { throw SQLError(.misuse, "address", "SKYLIGHT_POSTGRESQL has no server") }

            let letters = folder.path(percentEncoded: false).unicodeScalars.filter {
                CharacterSet.alphanumerics.contains($0)
            }
            let name = "t" + String(String.UnicodeScalarView(letters)).suffix(60).lowercased()
            let connection = try PostgreSQLConnection(server)
            do {
                try connection.execute("CREATE DATABASE \(name)")
            } catch let error as SQLError where error.code == "42P04" {
                // It is there.
            }
            guard var parts = URLComponents(string: server) else {
                throw SQLError(.misuse, "address", "SKYLIGHT_POSTGRESQL is no address")
            }
            parts.path = "/\(name)"
            guard let address = parts.string else {
                throw SQLError(.misuse, "address", "SKYLIGHT_POSTGRESQL is no address")
            }
            return address
        }
    #endif
}
