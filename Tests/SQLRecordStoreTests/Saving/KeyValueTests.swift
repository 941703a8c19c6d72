import Foundation
import GRDB
import RecordStore
import Records
import SQLRecordStore
import StoreScenarios
import TestSupport
import Testing

@testable import TestStores

/// Key-value stores in a file: what is there when it is opened again.
@Suite struct KeyValueTests {
    @Test func aStoreIsAsItWasAfterItsFileIsOpenedAgain() async throws {
        let folder = try TemporaryFolder()
        var engine = try StoreUnderTest.engine(folder: folder.url)
        let before = try await engine.full(.private)
        _ = try await before.require(.keepKeyValues).modifyKeyValues([
            .set("a", .integer(1)), .set("b", .array([.string("x")])), .remove("a"),
        ])
        let kept = try await before.require(.keepKeyValues).keyValues(since: nil)
        await engine.close()
        engine = try StoreUnderTest.engine(folder: folder.url)
        let after = try await engine.full(.private)
        #expect(try await after.require(.keepKeyValues).keyValues(since: nil) == kept)
        // Numbers go on, also if only key-value stores have used them.
        _ = try await after.require(.keepKeyValues).modifyKeyValues([.set("c", .bool(true))])
        let news = try await after.require(.keepKeyValues).keyValues(since: kept.syncToken).changes
        let last = try #require(kept.changes.last).position
        #expect(news.map(\.key) == ["c"] && news.allSatisfy { $0.position > last })
        await engine.close()
    }

    @Test(.enabled(if: StoreUnderTest.isSQLite, "the file is damaged from outside"))
    func aDamagedValueIsAnErrorThatNamesItsTable() async throws {
        let folder = try TemporaryFolder()
        var engine = try StoreUnderTest.engine(folder: folder.url)
        _ = try await engine.full(.private).require(.keepKeyValues).modifyKeyValues([.set("a", .integer(1))])
        await engine.close()
        let queue = try DatabaseQueue(
            path: folder.url.appending(path: "iCloud.com.example.Test/development.sqlite").path(percentEncoded: false))
        try await queue.write { try $0.execute(sql: "UPDATE keyValues SET value = x'5b5d'") }
        try queue.close()
        engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        let error = await refusal { _ = try await database.require(.keepKeyValues).keyValues(since: nil) }
        #expect(error?.code == .internalError && error?.reason.contains("keyValues") == true)
        await engine.close()
    }
}
