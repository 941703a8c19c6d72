import RecordStore
import Records
import RemoteRecordStore
import StoreScenarios
import Synchronization
import TestSupport
import Testing

/// Everything about schemas and queries survives the network unchanged.
@Suite struct SchemaWireTests {
    private func play(
        in environment: Records.Environment = .development,
        _ body: @Sendable (any RecordDatabase, FixedAnswerEngine) async throws -> Void
    ) async throws {
        let engine = FixedAnswerEngine()
        try await LiveServer.run(on: engine) { url in
            let remote = try RemoteRecordEngine(url: url)
            let database = try await remote.database(address(.private, environment), as: ada)
            try await body(database, engine)
            await remote.close()
        }
    }

    // MARK: Samples

    private static let odd: Name = "Ännas \"Feld\" \\ 💬"
    private static let composite = CompositeIndex(filter: .custom(odd), sort: .system(.modTime))

    private static let type = RecordType(
        name: "Item",
        fields: [
            odd: FieldDefinition(type: .string, indexes: [.queryable, .searchable, .sortable]),
            "recordName": FieldDefinition(type: .string, indexes: .queryable),
            "n": FieldDefinition(type: FieldType(.double, number: NumberPreference.none), indexes: .sortable),
            "i": FieldDefinition(type: FieldType(.int64, number: .int64)),
            "d": FieldDefinition(type: FieldType(.double, number: .double)),
            "ns": FieldDefinition(type: FieldType(.int64, isList: true, number: .int64)),
            "secret": FieldDefinition(type: FieldType(.string, isList: true, isEncrypted: true)),
            "file": FieldDefinition(type: .asset),
        ],
        systemIndexes: [.recordID: .queryable, .modTime: [.queryable, .sortable]],
        grants: [Grant(role: odd, permissions: [.read, .write, .create]), Grant(role: "_world", permissions: [])],
        compositeIndexes: [composite, CompositeIndex(filter: .custom("recordName"), sort: .custom("n"))])

    private static let schema = Schema(
        types: [type, Schema.initial.types["Users"], RecordType(name: "Bare", grants: [])].compactMap(\.self),
        roles: [odd, "B"])

    /// A schema that can be deployed.
    private static let deployable = Schema(
        types: [
            RecordType(
                name: "Item", fields: type.fields.filter { $0.key != odd }, systemIndexes: type.systemIndexes,
                grants: [Grant(role: "B", permissions: [.read, .create]), Grant(role: "_world", permissions: [.read])]),
            Schema.initial.types["Users"],
        ].compactMap(\.self), roles: ["B"])

    private static let edits: [SchemaEdit] = [
        .addType(type), .removeType("Gone"), .removeField(odd, in: "Item"),
        .setIndexes([.queryable, .sortable], of: .custom("recordName"), in: "Item"),
        .setIndexes([], of: .system(.recordID), in: odd),
        .addIndexes([.searchable, .sortable], of: .custom(odd), in: "Item"),
        .dropIndexes(.queryable, of: .system(.modTime), in: odd), .addGrants(type.grants, of: odd),
        .setGrants(type.grants, of: "Item"), .setGrants([], of: odd), .addRole(odd), .removeRole("B"),
        .addCompositeIndex(composite, in: "Item"),
        .removeCompositeIndex(CompositeIndex(filter: .system(.createdBy), sort: .custom("n")), in: odd),
    ]

    private static let problems: [QueryProblem] = [
        .systemType, .unknownType(odd), .noIndex("Item"), .unknownField(odd),
        .missingIndex(.custom(odd), [.queryable, .sortable], word: "queryable"),
        .missingIndex(.system(.recordID), [], word: "queryable"),
        .indexBeingBuilt(.system(.modTime), .sortable, percent: 7),
        .invalid(RecordError(.tryAgainLater, "é", retryAfter: 3)), .invalid(RecordError(.badRequest, "no")),
    ]

    private static let indexes: [QueryIndex] = [
        .field(.custom(odd), [.queryable, .searchable]), .field(.system(.share), .queryable), .composite(composite),
        .recordNames,
    ]

    private static let uses: [QueryExplanation.IndexUse] = [
        .servesFilter, .servesSort, .servesBoth, .narrows, .passedOver, .beingBuilt, .missing,
    ]

    private static let explanation = QueryExplanation(
        problems: problems,
        candidates: uses.enumerated().map { number, use in
            QueryExplanation.Candidate(
                index: indexes[number % indexes.count], clause: "filter \(odd) EQUALS", use: use,
                reason: "because “é”",
                entries: number % 3 == 0 ? nil : number * 1_000_000_007, isCutOff: number % 3 == 2)
        },
        summary: "Two\nlines", entriesRead: 5_000_000_000, recordsRead: 3, recordsReturned: 2, hasMore: true,
        milliseconds: 0.125,
        statements: [
            .init(text: "SELECT 'x'", plan: ["SEARCH entries", "  USE TEMP B-TREE"]), .init(text: "", plan: []),
        ], advice: [composite])

    private static func query(_ comparator: Comparator) -> Query {
        var place = Location(latitude: -90, longitude: 0.5)
        place.altitude = 1
        return Query(
            recordType: odd,
            filters: [
                .init(odd, comparator, FieldInput(.list([.int64(.min), .int64(.max)], of: .int64))),
                .init("___recordID", comparator, FieldInput(.reference(Reference(recordName: odd)))),
                .init("recordName", comparator, .untagged(.string(""), isEncrypted: false)),
                .init("b", comparator, FieldInput(.bytes([0, 255]))),
                .init("place", .near, FieldInput(.location(place)), distance: 0.1),
                .init("d", comparator, FieldInput(.double(1))), .init("none", comparator, .cleared),
            ],
            sorts: [.init(odd, ascending: false), .init("place", relativeLocation: place)])
    }

    private static let statistics = QueryStatistics(
        since: Timestamp(milliseconds: 1_700_000_000_123), queries: 7,
        uses: indexes.enumerated().map {
            .init(recordType: odd, index: $1, count: $0, last: Timestamp(milliseconds: Int64($0)))
        },
        refusals: Comparator.allCases.map {
            .init(
                query: query($0), problems: problems, count: 3, last: Timestamp(milliseconds: 5),
                userRecordName: ada.userRecordName)
        })

    private static let usage = TypeUsage(
        recordType: "Item", records: 3,
        fields: [
            .init(
                key: .custom(odd), records: 2, distinctValues: TypeUsage.distinctLimit, isCutOff: true,
                largestBytes: 5_000_000_000,
                largestRecord: RecordID(
                    recordName: odd, zoneID: ZoneID(zoneName: odd, ownerRecordName: grace.userRecordName)),
                entryBytes: 7, tokenBytes: 8),
            .init(key: .system(.recordID)),
        ], compositeBytes: [composite: 9, CompositeIndex(filter: .custom("a"), sort: .custom("b")): 0])

    private static let builds = [
        IndexBuildProgress(
            .building, of: .field(.custom(odd), [.queryable, .sortable]), in: "Item", done: 1, total: 3),
        IndexBuildProgress(.dropping, of: .field(.system(.recordID), .queryable), in: odd, done: 0, total: 0),
        IndexBuildProgress(.building, of: .composite(composite), in: "Item", done: 5, total: 4),
    ]

    // MARK: How it arrives

    @Test func theSchema() async throws {
        try await play { database, engine in
            engine.state.withLock { $0.schema = Self.schema }
            let schema = try await database.require(.showSchema).schema()
            #expect(schema == Self.schema)
        }
    }

    @Test func edits() async throws {
        try await play { database, engine in
            engine.state.withLock { $0.schema = Self.schema }
            for reason in [SchemaHistoryEntry.Reason.edit, .schemaImport, .data] {
                let schema = try await database.require(.editSchema).edit(
                    Self.edits, because: reason, waitingForIndexes: false)
                #expect(schema == Self.schema)
                let (edits, given, waited) = engine.state.withLock { ($0.edits, $0.reason, $0.waited) }
                #expect(edits == Self.edits && given == reason && waited == false)
            }
        }
    }

    @Test func aFailure() async throws {
        let failure = RecordError(.accessDenied, "The production schema can't be edited 💬", retryAfter: 4)
        try await play { database, engine in
            engine.state.withLock { $0.failure = failure }
            let calls: [() async throws -> Void] = [
                { _ = try await database.require(.showSchema).schema() },
                { try await database.edit(.addRole("r")) },
                { _ = try await database.require(.showSchema).indexBuilds() },
                { _ = try await database.require(.editSchema).reset(to: .initial) },
                { _ = try await database.require(.showSchema).schemaHistory(before: nil, limit: 1) },
                { _ = try await database.require(.explainQueries).explain(QueryRequest(Query(recordType: "Item"))) },
                { _ = try await database.require(.keepQueryStatistics).queryStatistics() },
                { _ = try await database.require(.measureTypes).usage(of: "Item") },
            ]
            for call in calls { #expect(await refusal(call) == failure) }
        }
    }

    @Test func builds() async throws {
        try await play { database, engine in
            engine.state.withLock { $0.builds = [Self.builds] }
            let builds = try await database.require(.showSchema).indexBuilds()
            #expect(builds == Self.builds)
        }
    }

    @Test func theHistoryInPages() async throws {
        let reasons = SchemaHistoryEntry.Reason.allCases
        let entries = (0..<600).map { number in
            let changes = number % 100 == 0 ? [] : ["Item: field '\(Self.odd)' STRING added", "\(number)"]
            return SchemaHistoryEntry(
                number: Int64(1000 - number), timestamp: Timestamp(milliseconds: Int64(number)),
                userRecordName: ada.userRecordName,
                reason: reasons[number % reasons.count], changes: changes)
        }
        try await play { database, engine in
            engine.state.withLock { $0.history = entries }
            let all = try await database.require(.showSchema).schemaHistory(before: nil, limit: 1000)
            #expect(all == entries)
            #expect(engine.state.withLock { $0.historyLimits } == [200, 200, 200, 200])
            let some = try await database.require(.showSchema).schemaHistory(before: 901, limit: 3)
            #expect(some == Array(entries[100..<103]))
            let none = try await database.require(.showSchema).schemaHistory(before: 1, limit: 3)
            #expect(none == [])
            let nothing = try await database.require(.showSchema).schemaHistory(before: nil, limit: 0)
            #expect(nothing == [])
        }
    }

    @Test(arguments: Comparator.allCases)
    func anExplanation(comparator: Comparator) async throws {
        try await play { database, engine in
            engine.state.withLock { $0.explanation = Self.explanation }
            // A filter without a value cannot be sent as a query, only be remembered.
            var query = Self.query(comparator)
            query.filters.removeAll { $0.value == .cleared }
            let request = QueryRequest(
                query, in: .zone(ZoneID(zoneName: Self.odd)), limit: PageLimit(records: 5000, bytes: 7),
                continuationMarker: "m", desiredKeys: [])
            let explanation = try await database.require(.explainQueries).explain(request)
            #expect(explanation == Self.explanation)
            let explained = try #require(engine.state.withLock { $0.explained })
            #expect(explained.query == query)
            #expect(explained.area == request.area)
            #expect(explained.limit == request.limit)
            #expect(explained.continuationMarker == "m")
            #expect(explained.desiredKeys == [])
            _ = try await database.require(.explainQueries).explain(QueryRequest(query, in: .allZones))
            #expect(engine.state.withLock { $0.explained?.area } == .allZones)
        }
    }

    @Test func statistics() async throws {
        try await play { database, engine in
            engine.state.withLock { $0.statistics = Self.statistics }
            let statistics = try await database.require(.keepQueryStatistics).queryStatistics()
            #expect(statistics == Self.statistics)
        }
    }

    @Test func whatTypesHold() async throws {
        try await play { database, engine in
            engine.state.withLock { $0.usage = Self.usage }
            let usage = try await database.require(.measureTypes).usage(of: Self.odd)
            #expect(usage == Self.usage)
            #expect(engine.state.withLock { $0.measured } == Self.odd)
        }
    }

    @Test func howManyRecordsHaveValues() async throws {
        try await play { database, engine in
            let counts = ValueCounts(records: 5_000_000_000, values: [Self.odd: 0, "a": 7])
            engine.state.withLock { $0.counts = counts }
            let answer = try await database.require(.measureTypes).valueCounts(of: ["a", Self.odd], in: Self.odd)
            #expect(answer == counts)
            #expect(
                engine.state.withLock { $0.counted } == ["a", Self.odd]
                    && engine.state.withLock { $0.measured } == Self.odd)
            engine.state.withLock { $0.counts = ValueCounts(records: 3) }
            let whole = try await database.require(.measureTypes).valueCounts(of: [], in: "Item")
            #expect(whole == ValueCounts(records: 3) && engine.state.withLock { $0.counted } == [])
        }
    }

    @Test func aDeployment() async throws {
        try await play(in: .production) { database, engine in
            engine.state.withLock { $0.schema = .initial }
            let after = try await database.require(.deploySchema).deploy(Self.deployable, waitingForIndexes: true)
            #expect(after == .initial)
            #expect(engine.state.withLock { $0.deployed } == Self.deployable)
            // A type that only production has prevents the deployment.
            engine.state.withLock { $0.schema = Self.deployable }
            let refused = await refusal {
                _ = try await database.require(.deploySchema).deploy(.initial, waitingForIndexes: true)
            }
            #expect(
                refused?.code == .badRequest && refused?.reason.contains("type 'Item' is not in development") == true)
        }
        try await play { database, engine in
            let refused = await refusal {
                _ = try await database.require(.deploySchema).deploy(Self.deployable, waitingForIndexes: true)
            }
            #expect(refused?.code == .badRequest && engine.state.withLock { $0.deployed } == nil)
        }
    }

    @Test func aReset() async throws {
        try await play { database, engine in
            let after = try await database.require(.editSchema).reset(to: Self.schema)
            #expect(after == Self.schema)
            #expect(engine.state.withLock { $0.resetTo } == Self.schema)
        }
        try await play(in: .production) { database, engine in
            let refused = await refusal { _ = try await database.require(.editSchema).reset(to: Self.schema) }
            #expect(refused?.code == .accessDenied && engine.state.withLock { $0.resetTo } == nil)
        }
    }

    // MARK: Waiting for indexes

    @Test func whoWaitsAsksUntilTheIndexIsBuilt() async throws {
        func build(_ done: Int) -> IndexBuildProgress {
            IndexBuildProgress(.building, of: .field(.custom("a"), .sortable), in: "Item", done: done, total: 9)
        }
        let other = IndexBuildProgress(.building, of: .field(.custom("b"), .sortable), in: "Item", done: 0, total: 9)
        let dropped = IndexBuildProgress(
            .dropping, of: .field(.custom("a"), .searchable), in: "Item", done: 0, total: 9)
        let composite = IndexBuildProgress(.building, of: .composite(Self.composite), in: "Item", done: 0, total: 9)
        let story = [[build(1), other, dropped], [other, build(5)], [other, dropped]]
        try await play { database, engine in
            engine.state.withLock { $0.builds = story }
            try await database.edit(.setIndexes([.queryable, .sortable], of: .custom("a"), in: "Item"))
            #expect(engine.state.withLock { $0.buildQuestions } == 3)
            for (edit, isAwaited) in [
                (SchemaEdit.addCompositeIndex(Self.composite, in: "Item"), true),
                (.addCompositeIndex(Self.composite, in: "Other"), false),
                (.addType(Self.type), true), (.addType(RecordType(name: "Item")), false),
                (.removeCompositeIndex(Self.composite, in: "Item"), false),
                (.setIndexes(.queryable, of: .custom("b"), in: "Item"), false),
                (.setIndexes([], of: .custom("b"), in: "Item"), false),
            ] {
                engine.state.withLock { state in
                    state.buildQuestions = 0
                    state.builds = [[composite, other], [other]]
                }
                try await database.edit(edit)
                #expect(engine.state.withLock { $0.buildQuestions } == (isAwaited ? 2 : 1), "\(edit)")
            }
        }
    }

    @Test func whoDoesNotWaitDoesNotAsk() async throws {
        try await play { database, engine in
            engine.state.withLock { $0.builds = [Self.builds] }
            _ = try await database.require(.editSchema).edit(
                [.addType(Self.type)], because: .edit, waitingForIndexes: false)
            #expect(engine.state.withLock { $0.buildQuestions } == 1)
        }
    }

    @Test func aChangeThatEndsTheAccessIsReportedAsDone() async throws {
        let build = IndexBuildProgress(.building, of: .field(.custom("a"), .sortable), in: "Item", done: 0, total: 9)
        try await play { database, engine in
            engine.state.withLock { $0.builds = [[build]] }
            let waiting = Task {
                await refusal {
                    try await database.edit(.setIndexes(.sortable, of: .custom("a"), in: "Item"))
                }
            }
            try await eventually { engine.state.withLock { $0.buildQuestions } >= 3 }
            engine.state.withLock { $0.failure = RecordError(.tryAgainLater, "The store is closed", retryAfter: 1) }
            let refused = await waiting.value
            #expect(
                refused?.code == .tryAgainLater
                    && refused?.reason.hasPrefix("The schema was changed, and its indexes are being built") == true)
        }
    }

    @Test func whoWaitsCanGoAway() async throws {
        let build = IndexBuildProgress(.building, of: .field(.custom("a"), .sortable), in: "Item", done: 0, total: 9)
        try await play { database, engine in
            engine.state.withLock { $0.builds = [[build]] }
            let waiting = Task {
                try await database.edit(.setIndexes(.sortable, of: .custom("a"), in: "Item"))
            }
            try await eventually { engine.state.withLock { $0.buildQuestions } >= 2 }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }
}
