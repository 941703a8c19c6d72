internal import RecordStore
internal import Records
internal import Testing

/// Explanations, statistics, usage and composite indexes. They are the same on every engine, except for the amount
/// read.
enum ExplainScenarios {
    static let all: [Scenario] = [
        .database("an explanation of a refused query names all that it lacks, and reads nothing") { database in
            let fields: [Name: FieldDefinition] = [
                "author": FieldDefinition(type: .string), "year": FieldDefinition(type: .int64),
            ]
            try await database.edit(
                .addType(RecordType(name: "Item", fields: fields, systemIndexes: [.etag: .queryable])))
            let query = Query(
                recordType: "Item",
                filters: [
                    Query.Filter("author", .equals, FieldInput(.string("x"))),
                    Query.Filter("year", .greaterThan, FieldInput(.int64(1))),
                ],
                sorts: [Query.Sort("createdTimestamp")])
            let explanation = try await database.require(.explainQueries).explain(QueryRequest(query))
            #expect(
                explanation.problems == [
                    .missingIndex(.custom("author"), .queryable, word: "queryable"),
                    .missingIndex(.custom("year"), [.queryable, .sortable], word: "queryable"),
                    .missingIndex(.system(.createTime), .sortable, word: "sortable"),
                ])
            let missing = explanation.candidates.filter { $0.use == .missing }
            #expect(
                missing.map(\.index) == [
                    .field(.custom("author"), .queryable), .field(.custom("year"), .queryable),
                    .field(.system(.createTime), .sortable),
                ])
            #expect(
                missing.map(\.clause) == [
                    "filter author EQUALS", "filter year GREATER_THAN", "sort createdTimestamp ascending",
                ])
            #expect(explanation.entriesRead == 0 && explanation.recordsRead == 0 && explanation.recordsReturned == 0)
            #expect(explanation.statements.isEmpty && explanation.advice.isEmpty)
            // With the missing indexes, the query runs.
            try await database.edit(
                .setIndexes(.queryable, of: .custom("author"), in: "Item"),
                .setIndexes(.sortable, of: .custom("year"), in: "Item"),
                .setIndexes(.sortable, of: .system(.createTime), in: "Item"))
            #expect(try await database.require(.explainQueries).explain(QueryRequest(query)).problems == [])
        },
        .init("an explanation returns what the query returns, page by page") { engine, _ in
            let database = try await QueryItem.fill(engine)
            let query = Query(
                recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64(3)))],
                sorts: [Query.Sort("text")])
            var request = QueryRequest(query, limit: PageLimit(records: 15))
            while true {
                let page = try await database.query(request)
                let explanation = try await database.require(.explainQueries).explain(request)
                #expect(
                    explanation.recordsReturned == page.records.count
                        && explanation.hasMore == (page.continuationMarker != nil))
                #expect(
                    explanation.recordsRead >= page.records.count && !explanation.summary.isEmpty
                        && explanation.milliseconds >= 0)
                guard let marker = page.continuationMarker else { break }
                request.continuationMarker = marker
            }
            request.query.sorts = []
            let foreign = await refusal { _ = try await database.require(.explainQueries).explain(request) }
            #expect(foreign?.code == .badRequest)
            let nowhere = await refusal {
                _ = try await database.require(.explainQueries).explain(
                    QueryRequest(query, in: .zone(ZoneID(zoneName: "Nowhere"))))
            }
            #expect(nowhere?.code == .zoneNotFound)
        },
        .init("a system field is one candidate under both of its names") { engine, _ in
            let database = try await QueryItem.fill(engine)
            for name in ["recordName", "___recordID"] as [Name] {
                let query = Query(
                    recordType: "Item", filters: [Query.Filter(name, .equals, FieldInput(.string("item-0-0")))],
                    sorts: [Query.Sort(name)])
                let explanation = try await database.require(.explainQueries).explain(QueryRequest(query))
                #expect(explanation.recordsReturned == 1)
                #expect(
                    explanation.candidates.contains {
                        $0.index == .field(.system(.recordID), .queryable) && $0.clause == "filter \(name) EQUALS"
                    })
                #expect(
                    explanation.candidates.contains {
                        $0.index == .field(.system(.recordID), .sortable) && $0.clause == "sort \(name) ascending"
                    })
            }
        },
        .init("uses of indexes are counted, and refused queries remembered by their shape") { engine, _ in
            let database = try await QueryItem.fill(engine)
            let before = try await database.require(.keepQueryStatistics).queryStatistics()
            let filter = Query.Filter("number", .equals, FieldInput(.int64(3)))
            _ = try await database.all(
                Query(recordType: "Item", filters: [filter], sorts: [Query.Sort("text", ascending: false)]),
                pageSize: 10)
            func uses(_ index: QueryIndex, _ statistics: QueryStatistics) -> Int {
                statistics.uses.first { $0.recordType == "Item" && $0.index == index }?.count ?? 0
            }
            var after = try await database.require(.keepQueryStatistics).queryStatistics()
            #expect(after.since == before.since)
            // A query counts once, regardless of its pages.
            for index in [QueryIndex.field(.custom("number"), .queryable), .field(.custom("text"), .sortable)] {
                #expect(uses(index, after) == uses(index, before) + 1)
            }
            #expect(
                uses(.field(.custom("text"), .searchable), after) == 0
                    && uses(.field(.system(.recordID), .queryable), after) == 0)
            _ = try await database.require(.explainQueries).explain(
                QueryRequest(Query(recordType: "Item", filters: [filter])))
            #expect(
                uses(
                    .field(.custom("number"), .queryable),
                    try await database.require(.keepQueryStatistics).queryStatistics()) == 1)

            try await database.edit(.setIndexes([], of: .custom("number"), in: "Item"))
            let begin = Timestamp.now()
            for number in 0..<3 {
                let refused = Query.Filter("number", .equals, FieldInput(.int64(Int64(number))))
                _ = await refusal {
                    _ = try await database.query(QueryRequest(Query(recordType: "Item", filters: [refused])))
                }
            }
            _ = await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Nothing"))) }
            after = try await database.require(.keepQueryStatistics).queryStatistics()
            #expect(after.refusals.count == 2)
            let refusal = try #require(after.refusals.first { $0.query.recordType == "Item" })
            #expect(
                refusal.count == 3 && (begin...Timestamp.now()).contains(refusal.last)
                    && refusal.userRecordName == ada.userRecordName)
            #expect(refusal.query.filters.first?.value == FieldInput(.int64(2)))
            // The times are those of the queries, not of the records; the latest comes first.
            #expect(after.since <= begin && after.refusals.first?.query.recordType == "Nothing")
            #expect(refusal.problems == [.missingIndex(.custom("number"), .queryable, word: "queryable")])
            // Refused queries that would run now need no advice.
            try await database.edit(.setIndexes(.queryable, of: .custom("number"), in: "Item"))
            #expect(
                try await database.require(.keepQueryStatistics).queryStatistics().refusals.map(\.query.recordType) == [
                    "Nothing"
                ])
        },
        .init("usage covers every field, also those without values") { engine, _ in
            let database = try await engine.full(.private)
            let type = RecordType(
                name: "Item",
                fields: [
                    "text": FieldDefinition(type: .string), "tags": FieldDefinition(type: .list(.string)),
                    "empty": FieldDefinition(type: .double),
                ])
            try await database.edit(.addType(type))
            let empty = try await database.require(.measureTypes).usage(of: "Item")
            #expect(
                empty.records == 0
                    && empty.fields.allSatisfy { $0.records == 0 && $0.largestBytes == 0 && $0.largestRecord == nil })
            for number in 0..<10 {
                var fields: [Name: FieldValue] = [
                    "text": .string(number == 7 ? String(repeating: "x", count: 100) : "same")
                ]
                if number < 4 { fields["tags"] = .list([.string("t\(number % 2)")], of: .string) }
                try await database.save(Name("r\(number)"), fields)
            }
            try await database.save("other", type: "Other", ["text": .string(String(repeating: "y", count: 500))])
            // Records of other users and of other databases have the same type.
            try await engine.full(.private, as: grace).save("hers", ["text": .string("hers")])
            try await engine.full(.public).save("ours", ["text": .string("ours")])
            try await database.delete("r0")
            let usage = try await database.require(.measureTypes).usage(of: "Item")
            #expect(usage.records == 11)
            let keys: [FieldKey] =
                ["empty", "tags", "text"].map { .custom($0) } + SystemField.implicit.map { .system($0) }
            #expect(usage.fields.map(\.key) == keys)
            func field(_ name: Name) -> TypeUsage.FieldUsage {
                usage.fields.first { $0.key.schemaName == name }
                    ?? TypeUsage.FieldUsage(key: .custom(name), records: -1)
            }
            #expect(field("empty").records == 0 && field("empty").distinctValues == 0)
            #expect(field("tags").records == 3 && field("tags").distinctValues == 2)
            #expect(
                field("text").records == 11 && field("text").distinctValues == 4 && field("text").largestBytes == 102)
            #expect(field("text").largestRecord?.recordName == "r7")
            #expect(field("___recordID").records == 11 && field("___recordID").distinctValues == 11)
            #expect(field("___createdBy").distinctValues == 2)
            let unknown = await refusal { _ = try await database.require(.measureTypes).usage(of: "Nothing") }
            #expect(unknown?.code == .notFound)
            // The same counts, without the details.
            let names: Set<Name> = ["empty", "tags", "text"]
            let counts = try await database.require(.measureTypes).valueCounts(of: names.union(["nothing"]), in: "Item")
            #expect(counts == ValueCounts(records: 11, values: ["empty": 0, "tags": 3, "text": 11, "nothing": 0]))
            #expect(
                try await database.require(.measureTypes).valueCounts(of: [], in: "Item") == ValueCounts(records: 11))
            #expect(
                try await database.require(.measureTypes).valueCounts(of: [], in: "Other") == ValueCounts(records: 1))
            let uncounted = await refusal {
                _ = try await database.require(.measureTypes).valueCounts(of: [], in: "Nothing")
            }
            #expect(uncounted?.code == .notFound)
            try await database.edit(.removeType("Other"), .addType(RecordType(name: "Other")))
            #expect(
                try await database.require(.measureTypes).valueCounts(of: [], in: "Other") == ValueCounts(records: 0))
        },
        .init("a composite index changes no answer, in either direction, however it is paged") { engine, _ in
            let database = try await QueryItem.fill(engine)
            let queries =
                [true, false].flatMap { ascending in
                    [
                        [Query.Sort("text", ascending: ascending)],
                        [
                            Query.Sort("text", ascending: ascending),
                            Query.Sort("place", relativeLocation: Location(latitude: 1, longitude: 2)),
                        ],
                        [Query.Sort("modifiedTimestamp", ascending: ascending)],
                    ].flatMap { sorts in
                        [3, 99].map {
                            Query(
                                recordType: "Item", filters: [Query.Filter("number", .equals, FieldInput(.int64($0)))],
                                sorts: sorts)
                        }
                    }
                } + [
                    Query(
                        recordType: "Item",
                        filters: [
                            Query.Filter("text", .containsAnyTokens, FieldInput(.string("apple"))),
                            Query.Filter("number", .equals, FieldInput(.int64(5))),
                        ], sorts: [Query.Sort("text", ascending: false)])
                ]
            _ = try await database.require(.editSchema).edit([.setIndexes(.sortable, of: .system(.modTime), in: "Item")]
            )
            let before = try await Self.answers(queries, database)
            let indexes = ["text", "___modTime"].map {
                CompositeIndex(filter: .custom("number"), sort: FieldKey(schemaName: $0))
            }
            let schema = try await database.require(.editSchema).edit(
                indexes.map { .addCompositeIndex($0, in: "Item") })
            #expect(schema.types["Item"]?.compositeIndexes == Set(indexes))
            #expect(try await Self.answers(queries, database) == before)
            // The index is updated by saves of every kind.
            for number in 0..<20 {
                try await database.save(Name("new-\(number)"), ["number": .int64(3), "text": .string("\(number % 7)")])
                try await database.save(QueryItem.names[number], as: .forceUpdate, ["number": .int64(3)])
                try await database.delete(QueryItem.names[599 - number])
            }
            let kept = try await Self.answers(queries, database)
            _ = try await database.require(.editSchema).edit(indexes.map { .removeCompositeIndex($0, in: "Item") })
            #expect(try await Self.answers(queries, database) == kept && kept != before)
            #expect(try await database.require(.showSchema).schema().types["Item"]?.compositeIndexes.isEmpty == true)
        },
    ]

    private static func answers(_ queries: [Query], _ database: any RecordDatabase) async throws -> [[Name]] {
        var answers: [[Name]] = []
        for query in queries {
            for pageSize in [4, 200] {
                answers.append(try await database.all(query, pageSize: pageSize).map(\.recordID.recordName))
            }
        }
        return answers
    }
}
