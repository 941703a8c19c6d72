import Foundation
import JSON
import RecordStore
import Records
import SQLiteRecordStore
import TestSupport
import Testing

/// Queries against what a plain loop over all records finds: a second opinion that shares no code with the engines' own matching.
@Suite struct QueryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private struct Item {
        var name: String
        var number: Int64?
        var text: String?
        var latitude: Double
        var longitude: Double
    }

    private static let items: [Item] = (0..<600).map { index -> Item in
        let fruit: String = ["red apple", "Green pear", "blue plum", "Äpple pie"][index % 4]
        let number: Int64? = index % 11 == 0 ? nil : Int64(index * 31 % 17)
        let text: String? = index % 13 == 0 ? nil : "\(fruit) \(index % 5)"
        let latitude = Double(index * 37 % 180) - 89.5
        let longitude = Double(index * 61 % 360) - 179.5
        return Item(name: "item-\(index * 7919 % 1000)-\(index)", number: number, text: text, latitude: latitude, longitude: longitude)
    }

    private func engines() throws -> [any RecordEngine] {
        [InMemoryRecordEngine(), try SQLiteRecordEngine(folder: folder.url)]
    }

    private func fill(_ engine: any RecordEngine) async throws -> any FullDatabase {
        let database = try await engine.full(.public)
        _ = try await database.edit([.addType(RecordType(name: "Item", systemIndexes: [.recordID: [.queryable, .sortable]]))])
        for start in stride(from: 0, to: Self.items.count, by: 200) {
            let operations = Self.items[start..<min(start + 200, Self.items.count)].map { item in
                var fields: [Name: FieldInput] = ["place": FieldInput(.location(Location(latitude: item.latitude, longitude: item.longitude)))]
                if let number = item.number { fields["number"] = FieldInput(.int64(number)) }
                if let text = item.text { fields["text"] = FieldInput(.string(text)) }
                return RecordOperation(.create, recordName: Name(item.name), recordType: "Item", fields: fields)
            }
            for outcome in try await database.modify(ModifyRequest(operations)) { _ = try outcome.get() }
        }
        return database
    }

    @Test func agreesWithAPlainLoop() async throws {
        struct Row {
            let query: Query
            let expected: [Item]
        }
        func byName(_ items: [Item]) -> [Item] { items.sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) } }
        func number(_ comparator: Records.Comparator, _ value: Int64) -> Query.Filter { Query.Filter("number", comparator, FieldInput(.int64(value))) }
        let items = Self.items
        let seattle = Location(latitude: 47.6, longitude: -122.3)
        func metres(_ item: Item) -> Double {
            // The spherical law of cosines: another formula than the engine's.
            let toRadians = Double.pi / 180
            let (a, b) = (seattle.latitude * toRadians, item.latitude * toRadians)
            let c = (item.longitude - seattle.longitude) * toRadians
            return 6_371_008.8 * acos(max(-1, min(1, sin(a) * sin(b) + cos(a) * cos(b) * cos(c))))
        }
        func byNumberDown(_ items: [Item]) -> [Item] {
            stable(items) { ($0.number ?? .min) > ($1.number ?? .min) }
        }
        func byTextThenNumberDown(_ items: [Item]) -> [Item] {
            stable(byNumberDown(items)) { left, right in
                guard let text = right.text else { return false }
                return left.text.map { Array($0.utf8).lexicographicallyPrecedes(Array(text.utf8)) } ?? true
            }
        }
        let rows = [
            Row(query: Query(recordType: "Item"), expected: byName(items)),
            Row(query: Query(recordType: "Item", filters: [number(.equals, 3)]), expected: byName(items.filter { $0.number == 3 })),
            Row(query: Query(recordType: "Item", filters: [number(.notEquals, 3)]), expected: byName(items.filter { $0.number != 3 })),
            Row(
                query: Query(recordType: "Item", filters: [number(.greaterThan, 12), number(.lessThanOrEquals, 15)]),
                expected: byName(items.filter { ($0.number ?? 0) > 12 && ($0.number ?? 99) <= 15 })),
            Row(
                query: Query(recordType: "Item", filters: [Query.Filter("number", .in, FieldInput(.list([.int64(1), .int64(16)], of: .int64)))]),
                expected: byName(items.filter { $0.number == 1 || $0.number == 16 })),
            Row(
                query: Query(recordType: "Item", filters: [Query.Filter("text", .beginsWith, FieldInput(.string("Green")))]),
                expected: byName(items.filter { $0.text?.hasPrefix("Green") ?? false })),
            Row(
                query: Query(recordType: "Item", filters: [Query.Filter("text", .containsAllTokens, FieldInput(.string("APPLE 3")))]),
                expected: byName(items.filter { $0.text == "red apple 3" || $0.text == "Äpple pie 3" })),
            Row(
                query: Query(recordType: "Item", filters: [Query.Filter("text", .containsAnyTokens, FieldInput(.string("äpple plum")))]),
                expected: byName(items.filter { $0.text.map { !$0.hasPrefix("Green") } ?? false })),
            Row(
                query: Query(recordType: "Item", sorts: [Query.Sort("number", ascending: false)]),
                expected: byNumberDown(byName(items))),
            Row(
                query: Query(recordType: "Item", filters: [number(.lessThan, 5)], sorts: [Query.Sort("text"), Query.Sort("number", ascending: false)]),
                expected: byTextThenNumberDown(byName(items.filter { $0.number.map { $0 < 5 } ?? false }))),
            Row(
                query: Query(
                    recordType: "Item", filters: [Query.Filter("place", .near, FieldInput(.location(seattle)), distance: 4_000_000)],
                    sorts: [Query.Sort("place", relativeLocation: seattle)]),
                expected: stable(byName(items.filter { metres($0) <= 4_000_000 })) { metres($0).rounded() < metres($1).rounded() }),
            Row(
                query: Query(recordType: "Item", sorts: [Query.Sort("place", relativeLocation: seattle)]),
                expected: stable(byName(items)) { metres($0).rounded() < metres($1).rounded() }),
        ]
        for engine in try engines() {
            let database = try await fill(engine)
            for row in rows {
                for pageSize in [7, 200] {
                    let found = try await database.all(row.query, pageSize: pageSize).map(\.recordID.recordName.string)
                    #expect(found == row.expected.map(\.name), "\(type(of: engine)) \(row.query) by \(pageSize)")
                }
            }
            await engine.close()
        }
    }

    /// Sorts and leaves what is equal in its order.
    private func stable(_ items: [Item], by precedes: (Item, Item) -> Bool) -> [Item] {
        items.enumerated().sorted { left, right in
            if precedes(left.element, right.element) { return true }
            return precedes(right.element, left.element) ? false : left.offset < right.offset
        }.map(\.element)
    }

    /// While somebody keeps saving, every record that is not saved meanwhile appears exactly once, whichever way the pages go.
    @Test(arguments: [true, false]) func pagesStayWholeWhileOthersSave(ascending: Bool) async throws {
        let engine = try SQLiteRecordEngine(folder: folder.url)
        let database = try await fill(engine)
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
            #expect(found.count == Self.items.count)
            #expect(Set(found) == Set(Self.items.map { Name($0.name) }))
        }
        saver.cancel()
        #expect(try await saver.value > 0)
        await engine.close()
    }

    @Test func refusesMarkersOfOtherQueries() async throws {
        for engine in try engines() {
            let database = try await fill(engine)
            let page = try await database.query(QueryRequest(Query(recordType: "Item"), limit: PageLimit(records: 5)))
            let marker = try #require(page.continuationMarker)
            let other = Query(recordType: "Item", sorts: [Query.Sort("number")])
            let refused1 = await refusal { _ = try await database.query(QueryRequest(other, continuationMarker: marker)) }
            #expect(refused1?.code == .badRequest)
            let half = String(marker.prefix(marker.count / 2))
            let refused2 = await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Item"), continuationMarker: half)) }
            #expect(refused2?.code == .badRequest)
            await engine.close()
        }
    }

    @Test func leavesOffTheMarkerWhenNothingRemains() async throws {
        for engine in try engines() {
            let database = try await engine.full(.private)
            _ = try await database.edit([.addType(RecordType(name: "One", systemIndexes: [.recordID: .queryable]))])
            try await database.save("only", type: "One")
            #expect(try await database.query(QueryRequest(Query(recordType: "One"), limit: PageLimit(records: 1))).continuationMarker == nil)
            await engine.close()
        }
    }
}
