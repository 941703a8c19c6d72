import JSON
import RecordStore
import Records
import SQLiteRecordStore
import TestSupport
import Testing

/// What the door promises, told as short stories. Each runs on every engine.
@Suite struct ScenarioTests {
    struct Scenario: Sendable, CustomTestStringConvertible {
        let name: String
        let play: @Sendable (any RecordEngine, TestClock) async throws -> Void

        init(_ name: String, _ play: @escaping @Sendable (any RecordEngine, TestClock) async throws -> Void) {
            self.name = name
            self.play = play
        }

        var testDescription: String { name }
    }

    @Test(arguments: SaveScenarios.all + ReferenceScenarios.all + SchemaScenarios.all)
    func modifying(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: FeedScenarios.all + TokenScenarios.all)
    func following(scenario: Scenario) async throws { try await play(scenario) }

    @Test(arguments: ZoneScenarios.all)
    func zones(scenario: Scenario) async throws { try await play(scenario) }

    private func play(_ scenario: Scenario) async throws {
        let clock = TestClock()
        let folder = try TemporaryFolder()
        let engines: [any RecordEngine] = [
            InMemoryRecordEngine(clock: { clock.now() }), try SQLiteRecordEngine(folder: folder.url, clock: { clock.now() }),
        ]
        for engine in engines {
            try await scenario.play(engine, clock)
            await engine.close()
        }
    }
}

let notes = ZoneID(zoneName: "Notes")

extension RecordEngine {
    /// Ada's private database with an empty zone.
    func withZone() async throws -> any FullDatabase {
        let database = try await full(.private)
        for result in try await database.modifyZones([.create(notes)]) { _ = try result.get() }
        return database
    }
}

extension RecordDatabase {
    func outcomes(_ operations: [RecordOperation], in zoneID: ZoneID = .default, atomic: Bool = true) async throws -> [ServerErrorCode?] {
        try await modify(ModifyRequest(operations, zoneID: zoneID, atomic: atomic)).map { result in
            if case .failure(let error) = result { error.code } else { nil }
        }
    }

    func names(in zoneID: ZoneID = .default, of candidates: [Name]) async throws -> [Name] {
        try await fetch(candidates.map { RecordID(recordName: $0, zoneID: zoneID) }, desiredKeys: nil).compactMap { try? $0.get().recordID.recordName }
    }
}

enum SaveScenarios {
    static let all: [ScenarioTests.Scenario] = [
        .init("create fails when the name exists") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r", as: .create)
            let error = await refusal { try await database.save("r", as: .create) }
            #expect(error == RecordError(.conflict, "record to insert already exists"))
        },
        .init("create without a name makes one") { engine, _ in
            let database = try await engine.full(.private)
            let saved = try await database.modify(ModifyRequest([RecordOperation(.create, recordType: "Item")]))
            guard case .saved(let record) = try saved[0].get() else { return #expect(Bool(false)) }
            #expect(record.recordID.recordName.utf8.count == 36)
        },
        .init("update merges, replace clears, and both want the current tag") { engine, _ in
            let database = try await engine.full(.private)
            let first = try await database.save("r", ["a": .int64(1), "b": .int64(2)])
            let second = try await database.save("r", as: .update, tag: first.recordChangeTag, ["b": .int64(3)])
            #expect(try second.fields.values(of: ["a", "b"]) == ["a": .int64(1), "b": .int64(3)])
            let stale = await refusal { try await database.save("r", as: .update, tag: first.recordChangeTag, ["a": .int64(9)]) }
            #expect(stale == RecordError(.conflict, "client oplock error updating record"))
            let third = try await database.save("r", as: .replace, tag: second.recordChangeTag, ["c": .int64(4)])
            #expect(try third.fields.values(of: ["a", "b", "c"]) == ["c": .int64(4)])
            #expect(third.created == first.created)
            let gone = await refusal { try await database.save("x", as: .update, tag: "1") }
            #expect(gone == RecordError(.notFound, "recordChangeTag specified, but record not found"))
            let untagged = await refusal { try await database.save("r", as: .update, ["a": .int64(9)]) }
            #expect(untagged?.code == .badRequest)
        },
        .init("the force operations create, merge or replace whatever the tag") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r", as: .forceUpdate, ["a": .int64(1)])
            let merged = try await database.save("r", as: .forceUpdate, tag: "zz", ["b": .int64(2)])
            #expect(try merged.fields.decoded().map(\.name) == ["a", "b"])
            let replaced = try await database.save("r", as: .forceReplace, ["c": .int64(3)])
            #expect(try replaced.fields.decoded().map(\.name) == ["c"])
            try await database.delete("r")
            try await database.delete("r")
            #expect(try await database.names(of: ["r"]).isEmpty)
        },
        .init("null clears a field") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r", ["a": .int64(1), "b": .int64(2)])
            let operation = RecordOperation(.forceUpdate, recordName: "r", recordType: "Item", fields: ["a": .cleared])
            _ = try await database.modify(ModifyRequest([operation]))
            let found = try await database.fetch([RecordID(recordName: "r")], desiredKeys: nil)
            #expect(try found[0].get().fields.decoded().map(\.name) == ["b"])
        },
        .init("an atomic batch in a custom zone is all or nothing") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("taken", in: notes)
            let batch = [
                RecordOperation(.create, recordName: "a", recordType: "Item"),
                RecordOperation(.create, recordName: "taken", recordType: "Item"),
                RecordOperation(.forceDelete, recordName: "c"),
            ]
            let before = try await database.pull(notes).token
            #expect(try await database.outcomes(batch, in: notes) == [.atomicError, .conflict, .atomicError])
            #expect(try await database.names(in: notes, of: ["a", "taken"]) == ["taken"])
            #expect(try await database.pull(notes).token == before)
            #expect(try await database.outcomes(batch, in: notes, atomic: false) == [nil, .conflict, nil])
            #expect(try await database.names(in: notes, of: ["a", "taken"]) == ["a", "taken"])
        },
        .init("the default zone applies what it can") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("taken")
            let batch = [
                RecordOperation(.create, recordName: "taken", recordType: "Item"), RecordOperation(.create, recordName: "a", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch) == [.conflict, nil])
        },
        .init("requests beyond the limits are refused whole") { engine, _ in
            let database = try await engine.full(.private)
            let many = (0...200).map { RecordOperation(.create, recordName: Name("r\($0)"), recordType: "Item") }
            let refused1 = await refusal { _ = try await database.outcomes(many) }
            #expect(refused1?.code == .badRequest)
            let twice = [RecordOperation(.forceUpdate, recordName: "r", recordType: "Item"), RecordOperation(.forceDelete, recordName: "r")]
            let refused2 = await refusal { _ = try await database.outcomes(twice) }
            #expect(refused2?.code == .badRequest)
            let large = RecordOperation(
                .create, recordName: "large", recordType: "Item", fields: ["text": FieldInput(.string(String(repeating: "x", count: 1 << 20)))])
            #expect(try await database.outcomes([large]) == [.badRequest])
            #expect(try await database.counts(in: .default).total == 0)
        },
        .init("names that can't be are refused") { engine, _ in
            let database = try await engine.full(.private)
            let long = Name(String(repeating: "n", count: 256))
            for name in ["", "a\u{0}b", "a\nb", long] as [Name] {
                let refused3 = await refusal { try await database.save(name) }
                #expect(refused3?.code == .badRequest)
            }
            for type in ["", "1x", "a b", "_x"] as [Name] {
                let refused4 = await refusal { try await database.save("r", type: type) }
                #expect(refused4?.code == .badRequest)
            }
            for field in ["", "___x", "a-b", "9"] as [Name] {
                let refused5 = await refusal { try await database.save("r", [field: .int64(1)]) }
                #expect(refused5?.code == .badRequest)
            }
        },
        .init("a record keeps its type") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r", type: "Item")
            let refused6 = await refusal { try await database.save("r", type: "Other") }
            #expect(refused6?.code == .badRequest)
        },
        .init("a name is not cut at a NUL, wherever it stands") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("a", in: notes)
            let link: [Name: FieldValue] = ["link": .reference(Reference(recordName: "a\u{0}b", action: .deleteSelf))]
            let reference = await refusal { try await database.save("child", in: notes, link) }
            #expect(reference?.code == .badRequest)
            let parent = await refusal { try await database.save("child", in: notes, parent: .record("a\u{0}")) }
            #expect(parent?.code == .badRequest)
            #expect(try await database.names(in: notes, of: ["a\u{0}x"]).isEmpty)
            let zone = try await database.fetchZones([ZoneID(zoneName: "Notes\u{0}x")])[0]
            #expect(zone == .failure(.zoneNotFound))
        },
        .init("a default zone of somebody else is not this one") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r")
            let foreign = ZoneID(zoneName: "_defaultZone", ownerRecordName: "_other")
            let saved = await refusal { try await database.save("r", in: foreign) }
            #expect(saved == .zoneNotFound)
            #expect(try await database.fetchZones([foreign])[0] == .failure(.zoneNotFound))
            #expect(try await database.fetch([RecordID(recordName: "r", zoneID: foreign)], desiredKeys: nil)[0] == .failure(.zoneNotFound))
        },
        .init("an operation that fails takes no other along where the batch is not atomic") { engine, _ in
            let database = try await engine.withZone()
            let links = FieldValue.list(
                [
                    .reference(Reference(recordName: "missing", action: .validate)),
                    .reference(Reference(recordName: "t", zoneID: ZoneID(zoneName: "Elsewhere"), action: .deleteSelf)),
                ], of: .reference)
            let batch = [
                RecordOperation(.create, recordName: "bad", recordType: "Item", fields: ["links": FieldInput(links)]),
                RecordOperation(.create, recordName: "good", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch, in: notes, atomic: false) == [.badRequest, nil])
        },
        .init("composed and decomposed names are different records") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("\u{e9}", ["a": .int64(1)])
            try await database.save("e\u{301}", ["a": .int64(2)])
            let found = try await database.fetch([RecordID(recordName: "\u{e9}"), RecordID(recordName: "e\u{301}")], desiredKeys: nil)
            #expect(try found.map { try $0.get().fields.values(of: ["a"])["a"] } == [.int64(1), .int64(2)])
        },
        .init("users have databases of their own") { engine, _ in
            try await engine.full(.private, as: ada).save("r", ["whose": .string("ada")])
            #expect(try await engine.full(.private, as: grace).names(of: ["r"]).isEmpty)
            try await engine.full(.public, as: ada).save("p")
            let seen = try await engine.full(.public, as: grace).fetch([RecordID(recordName: "p")], desiredKeys: nil)[0].get()
            #expect(seen.created.userRecordName == ada.userRecordName && seen.created.deviceID == "iPhone")
        },
    ]
}

enum ReferenceScenarios {
    private static func link(_ target: Name, _ action: Reference.Action) -> [Name: FieldValue] {
        ["link": .reference(Reference(recordName: target, action: action))]
    }

    static let all: [ScenarioTests.Scenario] = [
        .init("DELETE_SELF follows the target, through any number of records and around circles") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("root", in: notes)
            try await database.save("child", in: notes, link("root", .deleteSelf))
            try await database.save("grandchild", in: notes, link("child", .deleteSelf))
            try await database.save("bystander", in: notes, link("root", .none))
            try await database.save("root", in: notes, link("grandchild", .deleteSelf))
            let token = try await database.pull(notes).token
            try await database.delete("root", in: notes)
            let changes = try await database.pull(notes, since: token).changes
            #expect(changes.map(\.record.recordID.recordName) == ["root", "child", "grandchild"])
            #expect(changes.allSatisfy { $0.kind == .deleted })
            #expect(try await database.names(in: notes, of: ["root", "child", "grandchild", "bystander"]) == ["bystander"])
        },
        .init("VALIDATE wants its target, and keeps it") { engine, _ in
            let database = try await engine.withZone()
            let refused7 = await refusal { try await database.save("a", in: notes, link("missing", .validate)) }
            #expect(refused7?.code == .validatingReferenceError)
            #expect(try await database.names(in: notes, of: ["a"]).isEmpty)
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .validate))
            let error = await refusal { try await database.delete("target", in: notes) }
            #expect(error == RecordError(.validatingReferenceError, "Record delete would violate validating reference, rejecting update"))
            #expect(try await database.names(in: notes, of: ["target"]) == ["target"])
            try await database.save("a", in: notes, link("target", .none))
            try await database.delete("target", in: notes)
        },
        .init("in one batch the order of target and reference does not matter") { engine, _ in
            let database = try await engine.withZone()
            let pair = [
                RecordOperation(.create, recordName: "a", recordType: "Item", fields: link("b", .validate).mapValues { FieldInput($0) }),
                RecordOperation(.create, recordName: "b", recordType: "Item"),
            ]
            #expect(try await database.outcomes(pair, in: notes) == [nil, nil])
            let both = [RecordOperation(.forceDelete, recordName: "b"), RecordOperation(.forceDelete, recordName: "a")]
            #expect(try await database.outcomes(both, in: notes) == [nil, nil])
        },
        .init("a list may refer to one record in two ways") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes)
            func links(_ actions: Reference.Action...) -> [Name: FieldValue] {
                ["links": .list(actions.map { .reference(Reference(recordName: "r", action: $0)) }, of: .reference)]
            }
            try await database.save("s", in: notes, links(.validate, .none))
            #expect(try await database.referrers(to: RecordID(recordName: "r", zoneID: notes), limit: 9).map(\.action) == [.none, .validate])
            try await database.save("s", in: notes, links(.validate))
            let error = await refusal { try await database.delete("r", in: notes) }
            #expect(error?.code == .validatingReferenceError)
        },
        .init("a target takes 750 DELETE_SELF references") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("target", in: notes)
            let fields = link("target", .deleteSelf).mapValues { FieldInput($0) }
            for start in stride(from: 0, to: 750, by: 150) {
                let batch = (start..<start + 150).map { RecordOperation(.create, recordName: Name("s\($0)"), recordType: "Item", fields: fields) }
                #expect(try await database.outcomes(batch, in: notes).allSatisfy { $0 == nil })
            }
            let refused8 = await refusal { try await database.save("one more", in: notes, link("target", .deleteSelf)) }
            #expect(refused8?.code == .badRequest)
            // Saving one of the 750 again adds none.
            try await database.save("s0", in: notes, link("target", .deleteSelf))
        },
        .init("referrers are known, parents among them") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("target", in: notes)
            try await database.save("a", in: notes, link("target", .none), parent: .record("target"))
            try await database.save("b", type: "Other", in: notes, ["links": .list([.reference(Reference(recordName: "target"))], of: .reference)])
            let found = try await database.referrers(to: RecordID(recordName: "target", zoneID: notes), limit: 10)
            #expect(found.map(\.recordName) == ["a", "a", "b"])
            #expect(found.map(\.fieldName) == ["___parent", "link", "links"])
            try await database.delete("a", in: notes)
            #expect(try await database.referrers(to: RecordID(recordName: "target", zoneID: notes), limit: 10).map(\.recordName) == ["b"])
        },
    ]
}

enum SchemaScenarios {
    static let all: [ScenarioTests.Scenario] = [
        .init("saving in development makes types and fields with CloudKit's indexes") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save(
                "r", type: "Thing",
                [
                    "text": .string("x"), "number": .int64(1), "ratio": .double(1), "when": .timestamp(Timestamp(milliseconds: 1)),
                    "data": .bytes([1]), "place": .location(Location(latitude: 1, longitude: 2)), "link": .reference(Reference(recordName: "r")),
                    "list": .list([.string("x")], of: .string),
                ])
            let type = try #require(try await database.schema().types["Thing"])
            #expect(type.fields["text"]?.indexes == [.queryable, .sortable, .searchable])
            for field in ["number", "ratio", "when", "data"] as [Name] { #expect(type.fields[field]?.indexes == [.queryable, .sortable]) }
            for field in ["place", "link", "list"] as [Name] { #expect(type.fields[field]?.indexes == .queryable) }
            #expect(type.systemIndexes.isEmpty)
            let error = await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Thing"))) }
            #expect(error == RecordError(.badRequest, "Field 'recordName' is not marked queryable"))
            _ = try await database.edit([.setIndexes(.queryable, of: .system(.recordID), in: "Thing")])
            #expect(try await database.all(Query(recordType: "Thing")).count == 1)
        },
        .init("a declared type wins, and what does not fit is refused") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r", ["when": .timestamp(Timestamp(milliseconds: 1))])
            let raw = RecordOperation(.forceUpdate, recordName: "r", recordType: "Item", fields: ["when": .untagged(.int64(5), isEncrypted: false)])
            #expect(try await database.outcomes([raw]) == [nil])
            let error = await refusal { try await database.save("r", ["when": .string("now")]) }
            #expect(error?.reason == "invalid attempt to set value type STRING for field 'when' for type 'Item', defined to be: TIMESTAMP")
            let encrypted = RecordOperation(
                .forceUpdate, recordName: "r", recordType: "Item", fields: ["when": FieldInput(.timestamp(Timestamp(milliseconds: 1)), isEncrypted: true)])
            #expect(try await database.outcomes([encrypted]) == [.badRequest])
        },
        .init("production takes only what its schema has") { engine, _ in
            let database = try await engine.full(.private, as: ada, .production)
            let error = await refusal { try await database.save("r", type: "Item") }
            #expect(error == RecordError(.badRequest, "Cannot create new type Item in production schema"))
            let refused9 = await refusal { _ = try await database.edit([.addType(RecordType(name: "Item"))]) }
            #expect(refused9?.code == .accessDenied)
        },
        .init("a batch that fails leaves no schema behind") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("taken", in: notes)
            let batch = [
                RecordOperation(.create, recordName: "a", recordType: "Brand", fields: ["new": FieldInput(.int64(1))]),
                RecordOperation(.create, recordName: "taken", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch, in: notes) == [.atomicError, .conflict])
            #expect(try await database.schema().types["Brand"] == nil)
        },
        .init("a query has limits") { engine, _ in
            let database = try await engine.full(.private)
            try await database.save("r", ["number": .int64(1), "text": .string("x")])
            let values = FieldInput(.list((0..<251).map { .int64($0) }, of: .int64))
            let words = (0..<251).map { "w\($0)" }.joined(separator: " ")
            let same = Query.Filter("number", .equals, FieldInput(.int64(1)))
            for filters in [[Query.Filter("number", .in, values)], [Query.Filter("text", .containsAnyTokens, FieldInput(.string(words)))], Array(repeating: same, count: 51)] {
                let error = await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Item", filters: filters))) }
                #expect(error?.code == .badRequest)
            }
            let many = Query(recordType: "Item", filters: Array(repeating: same, count: 50))
            #expect(try await database.all(many).count == 1)
        },
        .init("each rule of the indexes has its text") { engine, _ in
            let database = try await engine.full(.private)
            _ = try await database.edit([
                .addType(
                    RecordType(
                        name: "Item",
                        fields: [
                            "q": FieldDefinition(type: .string, indexes: .queryable), "s": FieldDefinition(type: .string, indexes: .sortable),
                            "t": FieldDefinition(type: .string, indexes: .searchable), "none": FieldDefinition(type: .string),
                            "link": FieldDefinition(type: .reference, indexes: .queryable),
                        ], systemIndexes: [.recordID: .queryable])),
                .addType(RecordType(name: "Bare", fields: ["a": FieldDefinition(type: .string)])),
            ])
            func answer(_ query: Query) async -> String {
                await refusal { _ = try await database.query(QueryRequest(query)) }?.reason ?? "runs"
            }
            func filter(_ field: Name, _ comparator: Comparator, _ value: FieldValue = .string("x")) -> Query {
                Query(recordType: "Item", filters: [Query.Filter(field, comparator, FieldInput(value))])
            }
            func sort(_ field: Name) -> Query { Query(recordType: "Item", sorts: [Query.Sort(field)]) }
            #expect(await answer(Query(recordType: "Item")) == "runs")
            #expect(await answer(Query(recordType: "Nope")) == "Did not find record type: Nope")
            #expect(await answer(Query(recordType: "Users")) == "Can't query system types")
            #expect(await answer(Query(recordType: "Bare")) == "Type is not marked indexable: Bare")
            #expect(await answer(filter("q", .equals)) == "runs")
            #expect(await answer(filter("none", .equals)) == "Field 'none' is not marked queryable")
            #expect(await answer(filter("s", .equals)) == "Field 's' is not marked queryable")
            #expect(await answer(filter("s", .lessThan)) == "runs")
            #expect(await answer(filter("q", .beginsWith)) == "runs")
            #expect(await answer(filter("none", .beginsWith)) == "Field 'none' is not marked queryable")
            #expect(await answer(filter("t", .containsAllTokens)) == "runs")
            #expect(await answer(filter("q", .containsAnyTokens)) == "Field 'q' is not marked searchable")
            #expect(await answer(sort("s")) == "runs")
            #expect(await answer(sort("q")) == "Field 'q' is not marked sortable")
            #expect(await answer(sort("___modTime")) == "Field '___modTime' is not marked sortable")
            #expect(await answer(sort("modifiedTimestamp")) == "Field '___modTime' is not marked sortable")
            #expect(await answer(filter("absent", .equals)) == "Unknown field 'absent'")
            #expect(
                await answer(filter("link", .equals))
                    == "Field 'link' has a value type of REFERENCE and cannot be queried using filter value type STRING")
            #expect(await answer(filter("q", .listContains)).contains("list"))
            #expect(await answer(filter("q", .near, .location(Location(latitude: 0, longitude: 0)))).contains("LOCATION"))
        },
    ]
}
