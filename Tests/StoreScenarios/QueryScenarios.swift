internal import Foundation
internal import RecordStore
internal import Records
internal import Testing

/// Compares queries with a plain loop over all records, which shares no code with the engines.
enum QueryScenarios {
    static let all: [Scenario] = [
        .init("queries return the same records as a plain loop, in the same order, for every page size") { engine, _ in
            let database = try await QueryItem.fill(engine)
            for row in QueryRow.all {
                for pageSize in [7, 200] {
                    let found = try await database.all(row.query, pageSize: pageSize).map(\.recordID.recordName.string)
                    #expect(found == row.expected.map(\.name), "\(row.query) by \(pageSize)")
                }
            }
        },
        .database("words and texts that are longer than an index entry are told apart") { database in
            try await database.edit(.addType(RecordType(name: "Item", systemIndexes: [.recordID: .queryable])))
            // Compressed, it would be short.
            var state: UInt64 = 1
            let long = String(
                (0..<5000).map { _ -> Character in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(state >> 33 % 26)))
                })
            try await database.save("a", ["text": .string("\(long)a, \(long)c")])
            try await database.save("b", ["text": .string("\(long)b")])
            func names(_ comparator: Records.Comparator, _ text: String) async throws -> String {
                let query = Query(
                    recordType: "Item", filters: [Query.Filter("text", comparator, FieldInput(.string(text)))],
                    sorts: [Query.Sort("text")])
                return try await database.all(query, pageSize: 1).map(\.recordID.recordName.string).joined()
            }
            #expect(try await names(.containsAllTokens, "\(long)A \(long)c") == "a")
            #expect(try await names(.containsAllTokens, "\(long)a \(long)b") == "")
            #expect(try await names(.containsAnyTokens, "\(long)b \(long)c") == "ab")
            #expect(try await names(.equals, "\(long)b") == "b")
            #expect(try await names(.beginsWith, "\(long)") == "ab")
            try await database.save("a", ["text": .string("\(long)d")])
            #expect(try await names(.containsAnyTokens, "\(long)a \(long)c") == "")
            #expect(try await names(.containsAnyTokens, "\(long)d") == "a")
        },
        .database("a place with two names is one: +180° and -180°, and the poles") { database in
            try await database.edit(.addType(RecordType(name: "Item", systemIndexes: [.recordID: .queryable])))
            let places: [(Name, Location)] = [
                ("a", Location(latitude: 10, longitude: -180)), ("b", Location(latitude: 10, longitude: 180)),
                ("c", Location(latitude: 10, longitude: -180)), ("d", Location(latitude: 10, longitude: 179.9)),
                ("n", Location(latitude: 90, longitude: 12)), ("o", Location(latitude: 90, longitude: -180)),
                ("s", Location(latitude: -90, longitude: 12)),
            ]
            for (name, place) in places {
                let list = FieldValue.list(
                    [.location(place), .location(Location(latitude: 10, longitude: 180))], of: .location)
                try await database.save(name, ["place": .location(place), "places": list])
            }
            func names(_ filter: Query.Filter?, _ sorts: [Query.Sort] = []) async throws -> String {
                let query = Query(recordType: "Item", filters: filter.map { [$0] } ?? [], sorts: sorts)
                return try await database.all(query, pageSize: 2).map(\.recordID.recordName.string).joined()
            }
            let (east, west) = (Location(latitude: 10, longitude: 180), Location(latitude: 10, longitude: -180))
            let pole = Location(latitude: 90, longitude: 0)
            for line in [east, west] {
                let value = FieldInput(.location(line))
                #expect(try await names(Query.Filter("place", .equals, value)) == "abc")
                #expect(try await names(Query.Filter("place", .notEquals, value)) == "dnos")
                #expect(try await names(Query.Filter("place", .near, value, distance: 0)) == "abc")
                #expect(try await names(Query.Filter("place", .near, value, distance: 20_000)) == "abcd")
                #expect(try await names(Query.Filter("places", .listContains, value)) == "abcdnos")
                #expect(try await names(nil, [Query.Sort("place", relativeLocation: line)]).hasPrefix("abcd"))
                #expect(
                    try await names(nil, [Query.Sort("place", ascending: false, relativeLocation: line)]).hasSuffix(
                        "dabc"))
                let places = FieldInput(.list([.location(line), .location(pole)], of: .location))
                #expect(try await names(Query.Filter("place", .in, places)) == "abcno")
                #expect(try await names(Query.Filter("places", .listContainsAll, places)) == "no")
                #expect(try await names(Query.Filter("places", .listContainsAny, places)) == "abcdnos")
            }
            // The distance is the same from either side of the date line.
            for longitude in [-170.0, 170] {
                let sorts = [Query.Sort("place", relativeLocation: Location(latitude: 10, longitude: longitude))]
                let near = Query.Filter(
                    "place", .near, FieldInput(.location(Location(latitude: 10, longitude: longitude))),
                    distance: 1_200_000)
                #expect(try await names(near, sorts) == (longitude > 0 ? "dabc" : "abcd"))
            }
            #expect(try await names(Query.Filter("place", .equals, FieldInput(.location(pole)))) == "no")
            #expect(try await names(Query.Filter("places", .listContains, FieldInput(.location(pole)))) == "no")
            #expect(try await names(Query.Filter("place", .near, FieldInput(.location(pole)), distance: 0)) == "no")
        },
        .init("markers of other queries and damaged ones are refused") { engine, _ in
            let database = try await QueryItem.fill(engine)
            let page = try await database.query(QueryRequest(Query(recordType: "Item"), limit: PageLimit(records: 5)))
            let marker = try #require(page.continuationMarker)
            let other = Query(recordType: "Item", sorts: [Query.Sort("number")])
            let refused1 = await refusal {
                _ = try await database.query(QueryRequest(other, continuationMarker: marker))
            }
            #expect(refused1?.code == .badRequest)
            let half = String(marker.prefix(marker.count / 2))
            let refused2 = await refusal {
                _ = try await database.query(QueryRequest(Query(recordType: "Item"), continuationMarker: half))
            }
            #expect(refused2?.code == .badRequest)
        },
        .database("a page after which nothing remains has no marker") { database in
            try await database.edit(.addType(RecordType(name: "One", systemIndexes: [.recordID: .queryable])))
            try await database.save("only", type: "One")
            let page = try await database.query(QueryRequest(Query(recordType: "One"), limit: PageLimit(records: 1)))
            #expect(page.records.count == 1 && page.continuationMarker == nil)
        },
        .database("a page ends where its bytes do, and brings the fields that were asked for") { database in
            try await database.edit(.addType(RecordType(name: "Item", systemIndexes: [.recordID: .queryable])))
            for number in 0..<6 {
                try await database.save(
                    Name("r\(number)"), ["text": .string(String(repeating: "x", count: 1000)), "number": .int64(7)])
            }
            let query = Query(recordType: "Item")
            let page = try await database.query(QueryRequest(query, limit: PageLimit(records: 6, bytes: 2500)))
            #expect((1...3).contains(page.records.count) && page.continuationMarker != nil)
            let thin = try await database.query(QueryRequest(query, desiredKeys: ["number"]))
            #expect(
                try thin.records.allSatisfy { try $0.fields.decoded().map(\.name) == ["number"] }
                    && thin.records.count == 6)
            let bare = try await database.query(QueryRequest(query, desiredKeys: []))
            #expect(bare.records.allSatisfy { $0.fields == .empty })
        },
    ]
}

/// A query and its expected result.
private struct QueryRow {
    let query: Query
    let expected: [QueryItem]

    static let all: [QueryRow] = [
        QueryRow(query: Query(recordType: "Item"), expected: byName(items)),
        QueryRow(
            query: Query(recordType: "Item", filters: [number(.equals, 3)]),
            expected: byName(items.filter { $0.number == 3 })),
        QueryRow(
            query: Query(recordType: "Item", filters: [number(.notEquals, 3)]),
            expected: byName(items.filter { $0.number != 3 })),
        QueryRow(
            query: Query(recordType: "Item", filters: [number(.greaterThan, 12), number(.lessThanOrEquals, 15)]),
            expected: byName(items.filter { ($0.number ?? 0) > 12 && ($0.number ?? 99) <= 15 })),
        QueryRow(
            query: Query(
                recordType: "Item",
                filters: [Query.Filter("number", .in, FieldInput(.list([.int64(1), .int64(16)], of: .int64)))]),
            expected: byName(items.filter { $0.number == 1 || $0.number == 16 })),
        QueryRow(
            query: Query(
                recordType: "Item", filters: [Query.Filter("text", .beginsWith, FieldInput(.string("Green")))]),
            expected: byName(items.filter { $0.text?.hasPrefix("Green") ?? false })),
        QueryRow(
            query: Query(
                recordType: "Item", filters: [Query.Filter("text", .containsAllTokens, FieldInput(.string("APPLE 3")))]),
            expected: byName(items.filter { $0.text == "red apple 3" || $0.text == "Äpple pie 3" })),
        QueryRow(
            query: Query(
                recordType: "Item",
                filters: [Query.Filter("text", .containsAnyTokens, FieldInput(.string("äpple plum")))]),
            expected: byName(items.filter { $0.text.map { !$0.hasPrefix("Green") } ?? false })),
        QueryRow(
            query: Query(recordType: "Item", sorts: [Query.Sort("number", ascending: false)]),
            expected: byNumberDown(byName(items))),
        QueryRow(
            query: Query(
                recordType: "Item", filters: [number(.lessThan, 5)],
                sorts: [Query.Sort("text"), Query.Sort("number", ascending: false)]),
            expected: byTextThenNumberDown(byName(items.filter { $0.number.map { $0 < 5 } ?? false }))),
        QueryRow(
            query: Query(
                recordType: "Item",
                filters: [Query.Filter("place", .near, FieldInput(.location(seattle)), distance: 4_000_000)],
                sorts: [Query.Sort("place", relativeLocation: seattle)]),
            expected: stable(byName(items.filter { $0.metres(from: seattle) <= 4_000_000 })) {
                $0.metres(from: seattle).rounded() < $1.metres(from: seattle).rounded()
            }),
        QueryRow(
            query: Query(recordType: "Item", sorts: [Query.Sort("place", relativeLocation: seattle)]),
            expected: stable(byName(items)) { $0.metres(from: seattle).rounded() < $1.metres(from: seattle).rounded() }),
    ]

    private static let items = QueryItem.all
    private static let seattle = Location(latitude: 47.6, longitude: -122.3)

    private static func number(_ comparator: Records.Comparator, _ value: Int64) -> Query.Filter {
        Query.Filter("number", comparator, FieldInput(.int64(value)))
    }

    private static func byName(_ items: [QueryItem]) -> [QueryItem] {
        items.sorted { Array($0.name.utf8).lexicographicallyPrecedes(Array($1.name.utf8)) }
    }

    private static func byNumberDown(_ items: [QueryItem]) -> [QueryItem] {
        stable(items) { ($0.number ?? .min) > ($1.number ?? .min) }
    }

    private static func byTextThenNumberDown(_ items: [QueryItem]) -> [QueryItem] {
        stable(byNumberDown(items)) { left, right in
            guard let text = right.text else { return false }
            return left.text.map { Array($0.utf8).lexicographicallyPrecedes(Array(text.utf8)) } ?? true
        }
    }

    /// A stable sort.
    private static func stable(_ items: [QueryItem], by precedes: (QueryItem, QueryItem) -> Bool) -> [QueryItem] {
        items.enumerated().sorted { left, right in
            if precedes(left.element, right.element) { return true }
            return precedes(right.element, left.element) ? false : left.offset < right.offset
        }.map(\.element)
    }
}
