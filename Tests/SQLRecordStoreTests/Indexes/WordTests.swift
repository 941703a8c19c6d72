import Foundation
import GRDB
import RecordStore
import Records
import StoreScenarios
import TestSupport
import Testing

@testable import SQLRecordStore
@testable import TestStores

/// The words of long texts: they are found before the writer handles the request, and written field by field.
@Suite struct WordTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func text(_ words: Range<Int>) -> String { words.map { "Word\($0)" }.joined(separator: " ") }

    @Test func wordsAreFoundBeforehandWhereTheyMayBeNeeded() async throws {
        let fields: [Name: FieldDefinition] = [
            "title": FieldDefinition(type: .string, indexes: .searchable),
            "body": FieldDefinition(type: .string, indexes: .queryable),
        ]
        let schema = Schema(types: [RecordType(name: "Item", fields: fields)])
        func prepared(_ type: Name?, _ field: Name, _ text: String) async throws -> Int {
            let operation = RecordOperation(
                .forceUpdate, recordName: "r", recordType: type, fields: [field: FieldInput(.string(text))])
            let texts = PreparedWords.texts(of: ModifyRequest([operation]), in: schema)
            return PreparedWords.areLong(texts) ? try await PreparedWords.of { texts }.count : 0
        }
        let long = Self.text(0..<3000)
        #expect(try await prepared("Item", "title", long) == 1)
        #expect(try await prepared("Item", "body", long) == 0, "not SEARCHABLE")
        #expect(try await prepared("Item", "unknown", long) == 1, "saving makes it SEARCHABLE")
        #expect(try await prepared(nil, "title", long) == 1, "the record has the type")
        #expect(try await prepared("Item", "title", "short") == 0, "not worth it")
    }

    /// Texts that are replaced or deleted are cut beforehand too, so that the writer has none left to cut.
    @Test func textsThatAreReplacedOrDeletedAreCutBeforehand() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        let names = (0..<5).map { Name("r\($0)") }
        for (number, name) in names.enumerated() {
            try await database.save(name, ["text": .string("\(number) " + Self.text(0..<3000))])
        }
        let short: [Name: FieldInput] = ["text": FieldInput(.string("short"))]
        let deletion = ModifyRequest(names.map { RecordOperation(.forceDelete, recordName: $0) })
        let update = ModifyRequest(
            names.map { RecordOperation(.forceUpdate, recordName: $0, recordType: "Item", fields: short) })
        for request in [update, deletion] {
            #expect(try await bytesCut(by: request, .none, in: database) == nil, "put off before anything long is cut")
            let sqlite = try #require(database as? SQLDatabase)
            let words = try await sqlite.preparedWords(for: request, ["short"])
            #expect(words.count == 6, "five that go and one that comes")
            #expect(try await bytesCut(by: request, words, in: database) == 0)
        }
        // A postponed request is still completed.
        #expect(try await database.outcomes(update.operations).allSatisfy { $0 == nil })
        #expect(try await bytesCut(by: deletion, .none, in: database) == 25, "short texts are not worth it")
        for name in names { try await database.save(name, ["text": .string(Self.text(0..<3000))]) }
        #expect(try await database.outcomes(deletion.operations).allSatisfy { $0 == nil })
        #expect(try await database.require(.countRecords).counts(in: .default).total == 0)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    /// Cascaded deletions do not postpone the request. If their texts are long, all but the first happen between the
    /// saves.
    @Test func longTextsFallBesideTheSaves() async throws {
        let gate = WorkGate()
        var limits = CascadeLimits()
        limits.beforeStep = { await gate.wait() }
        let engine = try StoreUnderTest.engine(
            folder: folder.url, logLimits: WriteAheadLogLimits(), cascadeLimits: limits, clock: Timestamp.now)
        let database = try await engine.withZone()
        try await database.save("root", in: notes)
        let fields: [Name: FieldValue] = [
            "text": .string(Self.text(0..<9000)),
            "link": .reference(Reference(recordName: "root", action: .deleteSelf)),
        ]
        for number in 0..<5 { try await database.save(Name("s\(number)"), in: notes, fields) }
        try await database.delete("root", in: notes)
        #expect(try await database.require(.countRecords).counts(in: notes).total == 4)
        gate.open()
        try await StoreRecount.settleCascades(database)
        #expect(try await database.require(.countRecords).counts(in: notes).total == 0)
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    /// The bytes of text that the writer cuts itself for a request, which is rolled back; `nil` if the request is
    /// postponed.
    private func bytesCut(by request: ModifyRequest, _ prepared: PreparedWords, in database: any RecordDatabase)
        async throws -> Int?
    {
        let sqlite = try #require(database as? SQLDatabase)
        let (view, tickets, now) = (sqlite.view, try sqlite.store.assetTickets, sqlite.store.clock())
        return try await sqlite.store.pool.writeWithoutTransaction { db in
            var bytes: Int?
            try db.inTransaction {
                let words = TransactionWords(prepared, puttingOff: request)
                let state = CommitWriter.State(position: 1000, catalog: try SchemaCatalog(db.connection))
                let transaction = SQLTransaction(
                    db.connection, state: state, view: view, tickets: tickets, now: now, words: words)
                var modifier = BatchModifier(transaction, address: view.address, caller: view.caller, now: now)
                do {
                    for outcome in try modifier.apply(request) { _ = try outcome.get() }
                    bytes = words.bytesCut
                } catch is TransactionWords.Postponed {}
                return .rollback
            }
            return bytes
        }
    }

    @Test("The words of a batch are written together, without those of a record that falls or is refused in it")
    func wordsOfABatch() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.withZone()
        try await database.save("root", in: notes, ["text": .string("root")])
        func create(_ name: Name, _ text: String, _ link: Reference? = nil) -> RecordOperation {
            var fields = ["text": FieldInput(.string(text))] as [Name: FieldInput]
            if let link { fields["link"] = FieldInput(.reference(link)) }
            return RecordOperation(.create, recordName: name, recordType: "Item", fields: fields)
        }
        // The link's field is new. A field that joins the schema has the words written that are there.
        _ = try await database.modify(
            ModifyRequest([create("first", "common", Reference(recordName: "root"))], zoneID: notes))
        let batch = (0..<50).map { create(Name("r\($0)"), "common word\($0) \(49 - $0)") }
        let falling = [
            create("falls", "common gone", Reference(recordName: "root", action: .deleteSelf)),
            RecordOperation(.forceDelete, recordName: "root"),
        ]
        // One for those that come, and one each for the root and the record that falls with it.
        #expect(
            try await statements(on: "tokens", in: database) {
                _ = try await database.modify(ModifyRequest(batch + falling, zoneID: notes))
            } == 3)
        let refused = create("refused", "common never", Reference(recordName: "missing", action: .validate))
        let outcomes = try await database.modify(
            ModifyRequest([create("a", "common a"), refused, create("b", "common b")], zoneID: notes, atomic: false))
        #expect(outcomes.map { if case .success = $0 { true } else { false } } == [true, false, true])
        #expect(try await IndexRecount.problems(of: database) == [])
        let query = Query(
            recordType: "Item", filters: [Query.Filter("text", .containsAllTokens, FieldInput(.string("common")))])
        #expect(try await database.all(query, in: .zone(notes)).count == 53)
        await engine.close()
    }

    @Test func aFieldTakesOneStatementHoweverManyWordsItHas() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("first", ["text": .string("a")])
        func cost(_ name: Name, _ text: String) async throws -> Int {
            try await statements(on: "tokens", in: database) { try await database.save(name, ["text": .string(text)]) }
        }
        #expect(try await (cost("few", "a b c"), cost("many", Self.text(0..<3000))) == (1, 1))
        #expect(
            try await (cost("few", "c d e"), cost("many", Self.text(1500..<4500))) == (2, 2),
            "one for those that go, one for those that come")
        #expect(try await IndexRecount.problems(of: database) == [])
        let query = Query(
            recordType: "Item", filters: [Query.Filter("text", .containsAllTokens, FieldInput(.string("word1499")))])
        #expect(try await database.all(query).isEmpty)
        try await database.delete("many")
        #expect(try await IndexRecount.problems(of: database) == [])
        await engine.close()
    }

    /// An index is dropped, and another one added, between the arrival of the request and its turn.
    @Test func theSchemaDecidesWhenTheRequestHasItsTurn() async throws {
        let engine = try StoreUnderTest.engine(folder: folder.url)
        let database = try await engine.full(.private)
        try await database.save("r", ["text": .string("a")])
        let long = FieldValue.string(Self.text(0..<3000))
        for indexes in [Indexes.queryable, [.queryable, .searchable]] {
            async let edited = database.require(.editSchema).edit([
                .setIndexes(indexes, of: .custom("text"), in: "Item")
            ])
            try await database.save("r", ["text": long])
            _ = try await edited
            #expect(try await IndexRecount.problems(of: database) == [])
        }
        await engine.close()
    }
}
