import Foundation
import GRDB
import Records
import RemoteRecords
import Testing

// As docs/remote-records.md says: `Database` and `Record` are GRDB's in this file.
import class GRDB.Database
import class GRDB.Record

/// A file of an app that also uses Foundation and GRDB, some of whose types have the library's names.
@Suite struct NeighbourTests {
    /// The library's types have CloudKit's names too.
    private struct App {
        var database: RemoteRecords.Database?
        var record: RemoteRecords.Record?

        /// A table of the app's own.
        final class Line: Record {
            override class var databaseTableName: String { "line" }
        }

        func rows(_ database: Database) throws -> [Row] { try Row.fetchAll(database, sql: "SELECT 1") }
    }

    @Test func namesThatOthersHaveCanBeUsed() throws {
        let quality: QualityOfService = .utility
        var configuration = OperationConfiguration(qualityOfService: quality)
        configuration.qualityOfService = Foundation.QualityOfService.userInitiated
        #expect(configuration.qualityOfService == QualityOfService.userInitiated)
        let queue = try DatabaseQueue()
        let count = try queue.read { try App().rows($0).count }
        #expect(count == 1 && App.Line.databaseTableName == "line")
    }
}
