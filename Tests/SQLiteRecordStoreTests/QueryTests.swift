import Foundation
import JSON
import RecordStore
import Records
import SQLiteRecordStore
import StoreScenarios
import TestSupport
import Testing

/// Queries during changes of the data.
@Suite struct QueryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// During saves, every record that is not changed appears exactly once, in either sort direction.
    @Test(arguments: [true, false]) func pagesStayWholeWhileOthersSave(ascending: Bool) async throws {
        let engine = try SQLiteRecordEngine(folder: folder.url)
        let database = try await QueryItem.fill(engine)
        let saver = Task {
            var count = 0
            while !Task.isCancelled {
                count += 1
                try await database.save("other-\(count % 50)" as Name, ["text": .string("red \(count)"), "number": .int64(Int64(count % 17))])
            }
            return count
        }
        for sort in ["text", "number"] as [Name] {
            let query = Query(recordType: "Item", sorts: [Query.Sort(sort, ascending: ascending)])
            let found = try await database.all(query, pageSize: 20).map(\.recordID.recordName).filter { !$0.hasPrefix("other") }
            #expect(found.count == QueryItem.all.count)
            #expect(Set(found) == Set(QueryItem.all.map { Name($0.name) }))
        }
        saver.cancel()
        #expect(try await saver.value > 0)
        await engine.close()
    }
}
