import DataTransfer
import Foundation
import InMemoryRecordStore
import RecordStore
import Records
import TestSupport
import Testing

/// The preview of an import matches the import.
@Suite struct ImportPreviewTests {
    private let folder: TemporaryFolder
    private let database: any RecordDatabase

    init() async throws {
        folder = try TemporaryFolder()
        let container = try #require(ContainerID("iCloud.com.example.Air"))
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        database = try await InMemoryRecordEngine().database(address, as: Caller(userRecordName: "_ada"))
    }

    private static let rows = "recordName,rank,lat,lon,empty\na,1,47.5,-122.25,\nb,two,0,0,\nc,3,1,1,\n"

    @Test func aPreviewSaysWhatTheImportDoesAndChangesNothing() async throws {
        _ = try await database.require(.editSchema).edit([
            .addType(RecordType(name: "Place", fields: ["rank": FieldDefinition(type: .int64)]))
        ])
        let before = try await database.require(.showSchema).schema()
        let options = ImportOptions(recordType: "Place", nameField: "recordName", skipsBadRows: true)
        let importer = try Importer([folder.write(Self.rows, to: "places.csv")], options: options, into: database)
        #expect(try importer.columns() == ["recordName", "rank", "lat", "lon", "empty"])
        let preview = try importer.preview(before, sampleLimit: 1)
        #expect(try await database.require(.showSchema).schema() == before)
        #expect(preview.fields.map(\.fieldName) == ["rank", "location"])
        #expect(preview.fields.map(\.type) == [.int64, .location])
        #expect(preview.fields.map(\.isNew) == [false, true])
        #expect(preview.fields.map(\.columns) == [["rank"], ["lat", "lon"]])
        #expect(!preview.madeType && preview.goodRows == 2 && preview.problemCount == 1)
        #expect(preview.problems.map(\.line) == [3])
        #expect(preview.samples.map(\.recordName) == ["a"] && preview.samples.map(\.line) == [2])
        #expect(preview.samples.first?.values["location"] == .location(Location(latitude: 47.5, longitude: -122.25)))
        let report = try await importer.run()
        #expect(report.saved == preview.goodRows && report.skipped == preview.problems)
        #expect(report.fields == Dictionary(uniqueKeysWithValues: preview.fields.map { ($0.fieldName, $0.type) }))
        #expect(report.indexesMade == preview.indexesMade && report.notes == preview.notes)
    }

    /// The preview says which rows are new, and what the records that are there get or lose.
    @Test func rowsAreComparedWithWhatIsStored() async throws {
        func importer(_ text: String, keepsFields: Bool) throws -> Importer {
            let options = ImportOptions(recordType: "Place", nameField: "recordName", keepsFields: keepsFields)
            return try Importer([folder.write(text, to: "places.csv")], options: options, into: database)
        }
        func standing(_ text: String, keepsFields: Bool, limit: Int = 10) async throws -> ImportStanding? {
            let target = try importer(text, keepsFields: keepsFields)
            let preview = try target.preview(try await database.require(.showSchema).schema(), sampleLimit: 1)
            return try await target.standing(of: preview, limit: limit)
        }
        _ = try await importer("recordName,rank,title,note\na,1,A,x\nb,2,B,\nc,3,,\n", keepsFields: true).run()
        let rows = "recordName,rank\na,1\nb,7\nc,3\nd,4\n"
        let kept = try #require(try await standing(rows, keepsFields: true))
        #expect(kept.rows == [.unchanged, .changed, .unchanged, .new] && kept.losers == 0)
        #expect(kept.summary == "1 new record, 3 existing: 1 changed, 2 unchanged" && kept.loss == nil)
        let replaced = try #require(try await standing(rows, keepsFields: false))
        #expect(replaced.rows == [.changed, .changed, .changed, .new])
        #expect(replaced.lost == ["note", "title"] && replaced.losers == 2)
        #expect(
            replaced.summary == "1 new record, 3 replaced" && replaced.loss == "2 existing records lose note, title")
        let first = try #require(try await standing(rows, keepsFields: false, limit: 1))
        #expect(first.summary == "In the first 1 row: 0 new records, 1 replaced")
        #expect(first.loss == "In the first 1 row: 1 existing record loses note, title")
        // Rows with new names are new records.
        let random = ImportOptions(recordType: "Place", givesNewNames: true)
        let unnamed = try Importer([folder.write(rows, to: "places.csv")], options: random, into: database)
        let preview = try unnamed.preview(try await database.require(.showSchema).schema(), sampleLimit: 1)
        #expect(try await unnamed.standing(of: preview, limit: 10) == nil)
    }

    private static let columns = (1...100_000).map { "column\($0)" }
    private static let wide =
        columns.joined(separator: ",") + "\n" + columns.map { _ in "1" }.joined(separator: ",") + "\n"

    /// The limit is generous: only quadratic work over the columns would exceed it.
    @Test(.timeLimit(.minutes(5))) func aWideFileIsNoMoreWorkThanALongOne() async throws {
        let importer = try Importer(
            [folder.write(Self.wide, to: "wide.csv")], options: ImportOptions(recordType: "Wide"), into: database)
        let preview = try importer.preview(try await database.require(.showSchema).schema(), sampleLimit: 1)
        #expect(preview.fields.map(\.fieldName) == Self.columns.map { Name($0) })
        // Records are limited in bytes, not in fields.
        #expect(preview.goodRows == 0 && preview.problems.first?.reason.contains("the record is too large") == true)
    }

    @Test(arguments: ["a,b\n1,2\n", "a\n" + String(repeating: "1\n", count: 1000)])
    func aPreviewEndsWhenItsTaskIsCancelled(text: String) async throws {
        let importer = try Importer(
            [folder.write(text, to: "rows.csv")], options: ImportOptions(recordType: "Place"), into: database)
        let schema = try await database.require(.showSchema).schema()
        let previewing = Task {
            // The preview starts after it was cancelled.
            while !Task.isCancelled { await Task.yield() }
            return try importer.preview(schema, sampleLimit: 1).goodRows
        }
        previewing.cancel()
        await #expect(throws: CancellationError.self) { try await previewing.value }
    }
}
