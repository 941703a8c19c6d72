import Foundation
import GRDB
import JSON
import RecordStore
import Records
import StoreScenarios
import Synchronization
import TestSupport
import Testing

@testable import SQLiteRecordStore

/// The words of long texts: found before the writer takes the request up, and written a field at a time.
@Suite struct WordTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func text(_ words: Range<Int>) -> String { words.map { "Word\($0)" }.joined(separator: " ") }

    @Test func wordsAreFoundBeforehandWhereTheyMayBeNeeded() async throws {
        let fields: [Name: FieldDefinition] = [
            "title": FieldDefinition(type: .string, indexes: .searchable), "body": FieldDefinition(type: .string, indexes: .queryable),
        ]
        let schema = Schema(types: [RecordType(name: "Item", fields: fields)])
        func prepared(_ type: Name?, _ field: Name, _ text: String) async throws -> Int {
            let operation = RecordOperation(.forceUpdate, recordName: "r", recordType: type, fields: [field: FieldInput(.string(text))])
            return try await PreparedWords.of(ModifyRequest([operation]), in: schema).count
        }
        let long = Self.text(0..<3000)
        #expect(try await prepared("Item", "title", long) == 1)
        #expect(try await prepared("Item", "body", long) == 0, "not SEARCHABLE")
        #expect(try await prepared("Item", "unknown", long) == 1, "saving makes it SEARCHABLE")
        #expect(try await prepared(nil, "title", long) == 1, "the record has the type")
        #expect(try await prepared("Item", "title", "short") == 0, "not worth it")
    }

    @Test func aFieldTakesOneStatementHoweverManyWordsItHas() async throws {
        let engine = try SQLiteRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("first", ["text": .string("a")])
        func cost(_ name: Name, _ text: String) async throws -> Int {
            try await statements(in: database) { try await database.save(name, ["text": .string(text)]) }
        }
        #expect(try await (cost("few", "a b c"), cost("many", Self.text(0..<3000))) == (1, 1))
        #expect(try await (cost("few", "c d e"), cost("many", Self.text(1500..<4500))) == (2, 2), "one for those that go, one for those that come")
        #expect(try await IndexRecount.problems(of: database) == [])
        let query = Query(recordType: "Item", filters: [Query.Filter("text", .containsAllTokens, FieldInput(.string("word1499")))])
        #expect(try await database.all(query).isEmpty)
        try await database.delete("many")
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    /// An index that is dropped, and one that is added, between the request and its turn.
    @Test func theSchemaDecidesWhenTheRequestHasItsTurn() async throws {
        let engine = try SQLiteRecordEngine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("r", ["text": .string("a")])
        let long = FieldValue.string(Self.text(0..<3000))
        for indexes in [Indexes.queryable, [.queryable, .searchable]] {
            async let edited = database.edit([.setIndexes(indexes, of: .custom("text"), in: "Item")])
            try await database.save("r", ["text": long])
            _ = try await edited
            #expect(try await IndexRecount.problems(of: database) == [])
        }
        await engine.close()
    }

    /// How many statements the writer runs on the table meanwhile: it may have other work beside.
    private func statements(in database: any RecordDatabase, _ body: () async throws -> Void) async throws -> Int {
        guard let store = (database as? SQLiteDatabase)?.store else { return 0 }
        let count = Mutex(0)
        try await store.pool.writeWithoutTransaction { db in
            db.trace { event in if "\(event)".contains(" tokens ") { count.withLock { $0 += 1 } } }
        }
        try await body()
        try await store.pool.writeWithoutTransaction { $0.trace(options: []) }
        return count.withLock { $0 }
    }
}
