internal import RecordStore
internal import Records
internal import Testing

/// Types, fields and indexes, and their effects.
enum SchemaScenarios {
    static let all: [Scenario] = [
        .database("saving in development makes types and fields with CloudKit's indexes") { database in
            try await database.save(
                "r", type: "Thing",
                [
                    "text": .string("x"), "number": .int64(1), "ratio": .double(1),
                    "when": .timestamp(Timestamp(milliseconds: 1)),
                    "data": .bytes([1]), "place": .location(Location(latitude: 1, longitude: 2)),
                    "link": .reference(Reference(recordName: "r")),
                    "list": .list([.string("x")], of: .string),
                ])
            let type = try #require(try await database.require(.showSchema).schema().types["Thing"])
            #expect(type.fields["text"]?.indexes == [.queryable, .sortable, .searchable])
            for field in ["number", "ratio", "when", "data"] as [Name] {
                #expect(type.fields[field]?.indexes == [.queryable, .sortable])
            }
            for field in ["place", "link", "list"] as [Name] { #expect(type.fields[field]?.indexes == .queryable) }
            #expect(type.systemIndexes.isEmpty)
            let error = await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Thing"))) }
            #expect(error == RecordError(.badRequest, "Field 'recordName' is not marked queryable"))
            try await database.edit(.setIndexes(.queryable, of: .system(.recordID), in: "Thing"))
            #expect(try await database.all(Query(recordType: "Thing")).count == 1)
        },
        .database("a declared type wins, and other values are refused") { database in
            try await database.save("r", ["when": .timestamp(Timestamp(milliseconds: 1))])
            let raw = RecordOperation(
                .forceUpdate, recordName: "r", recordType: "Item",
                fields: ["when": .untagged(.int64(5), isEncrypted: false)])
            #expect(try await database.outcomes([raw]) == [nil])
            let error = await refusal { try await database.save("r", ["when": .string("now")]) }
            #expect(
                error?.reason
                    == "invalid attempt to set value type STRING for field 'when' for type 'Item', defined to be: TIMESTAMP"
            )
            let encrypted = RecordOperation(
                .forceUpdate, recordName: "r", recordType: "Item",
                fields: ["when": FieldInput(.timestamp(Timestamp(milliseconds: 1)), isEncrypted: true)])
            #expect(try await database.outcomes([encrypted]) == [.badRequest])
        },
        .init("encrypted fields are as in iCloud") { engine, _ in
            let secret = FieldDefinition(type: FieldType(.string, isEncrypted: true))
            let database = try await engine.full(.private)
            try await database.edit(
                .addType(RecordType(name: "Note", fields: ["secret": secret], systemIndexes: [.recordID: .queryable])))
            func reason(
                _ input: FieldInput, _ kind: RecordOperation.Kind, restored: Bool = false,
                in database: any RecordDatabase
            ) async throws -> String? {
                var operation = RecordOperation(kind, recordName: "r", recordType: "Note", fields: ["secret": input])
                if kind.checksTag {
                    operation.recordChangeTag = try await database.fetch(
                        [RecordID(recordName: "r", zoneID: .default)], desiredKeys: nil
                    ).first?.get().recordChangeTag
                }
                if restored { operation.provenance = SharingStage.provenance }
                guard case .failure(let error)? = try await database.modify(ModifyRequest([operation])).first else {
                    return nil
                }
                #expect(error.code == .badRequest)
                return error.reason
            }
            let marked = FieldInput(.string("x"), isEncrypted: true)
            let taken =
                "invalid attempt to set value type ENCRYPTED_BYTES for field 'secret' for type 'Note', defined to be: ENCRYPTED_STRING"
            for kind in [RecordOperation.Kind.create, .update, .replace, .forceUpdate, .forceReplace] {
                #expect(try await reason(.untagged(.string("x"), isEncrypted: true), kind, in: database) == taken)
                #expect(try await reason(.untagged(.string("x"), isEncrypted: false), kind, in: database) == taken)
                #expect(try await reason(FieldInput(.string("x")), kind, in: database) == taken)
                #expect(try await reason(marked, kind, in: database) == nil)
            }
            #expect(try await reason(.cleared, .forceUpdate, in: database) == nil)
            let open = try await engine.full(.public)
            for input in [marked, FieldInput(.string("x")), .untagged(.string("x"), isEncrypted: false)] {
                #expect(
                    try await reason(input, .create, in: open)
                        == "encrypted fields are not supported in the public database")
            }
            // What an earlier version stored there stays readable, and can be removed.
            #expect(try await reason(marked, .create, restored: true, in: open) == nil)
            let stored = try await open.fetch([RecordID(recordName: "r", zoneID: .default)], desiredKeys: nil).first?
                .get()
            #expect(try stored?.fields.decoded() == [Field(name: "secret", value: .string("x"), isEncrypted: true)])
            #expect(try await reason(.cleared, .update, in: open) == nil)
            // A new field is encrypted if its value says so, with its type.
            func made(_ input: FieldInput, in database: any RecordDatabase) async throws -> ServerErrorCode? {
                try await database.outcomes([
                    RecordOperation(.forceUpdate, recordName: "r", recordType: "Note", fields: ["new": input])
                ]).first ?? nil
            }
            #expect(try await made(.untagged(.string("x"), isEncrypted: true), in: database) == .badRequest)
            #expect(try await made(marked, in: open) == .badRequest)
            #expect(try await database.require(.showSchema).schema().types["Note"]?.fields["new"] == nil)
            #expect(try await made(marked, in: database) == nil)
            #expect(try await database.require(.showSchema).schema().types["Note"]?.fields["new"]?.type == secret.type)
            // No filter can compare it. A sort runs, and orders nothing.
            try await database.save("a", type: "Note")
            for comparator in Comparator.allCases {
                let filter = Query.Filter("secret", comparator, FieldInput(.string("x")))
                let error = await refusal {
                    _ = try await database.query(QueryRequest(Query(recordType: "Note", filters: [filter])))
                }
                let reason =
                    "Field 'secret' has a value type of ENCRYPTED_STRING and cannot be queried using filter type \(comparator.rawValue)"
                #expect(error == RecordError(.badRequest, reason))
            }
            for isAscending in [true, false] {
                let sorted = Query(recordType: "Note", sorts: [Query.Sort("secret", ascending: isAscending)])
                #expect(try await database.all(sorted, pageSize: 1).map(\.recordID.recordName) == ["a", "r"])
            }
        },
        .init("production takes only what its schema has") { engine, _ in
            let database = try await engine.full(.private, as: ada, .production)
            let error = await refusal { try await database.save("r", type: "Item") }
            #expect(error == RecordError(.notFound, "Cannot create new type Item in production schema"))
            let refused9 = await refusal {
                try await database.edit(.addType(RecordType(name: "Item")))
            }
            #expect(refused9?.code == .accessDenied)
        },
        .zone("a batch that fails leaves no schema behind") { database in
            try await database.save("taken", in: notes)
            let batch = [
                RecordOperation(.create, recordName: "a", recordType: "Brand", fields: ["new": FieldInput(.int64(1))]),
                RecordOperation(.create, recordName: "taken", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch, in: notes) == [.atomicError, .conflict])
            #expect(try await database.require(.showSchema).schema().types["Brand"] == nil)
        },
        .database("a query has limits") { database in
            try await database.save("r", ["number": .int64(1), "text": .string("x")])
            let values = FieldInput(.list((0..<251).map { .int64($0) }, of: .int64))
            let words = (0..<251).map { "w\($0)" }.joined(separator: " ")
            let same = Query.Filter("number", .equals, FieldInput(.int64(1)))
            for filters in [
                [Query.Filter("number", .in, values)],
                [Query.Filter("text", .containsAnyTokens, FieldInput(.string(words)))],
                Array(repeating: same, count: 51),
            ] {
                let error = await refusal {
                    _ = try await database.query(QueryRequest(Query(recordType: "Item", filters: filters)))
                }
                #expect(error?.code == .badRequest)
            }
            let many = Query(recordType: "Item", filters: Array(repeating: same, count: 50))
            #expect(try await database.all(many).count == 1)
        },
        .database("each rule of the indexes has its text") { database in
            try await database.edit(
                .addType(
                    RecordType(
                        name: "Item",
                        fields: [
                            "q": FieldDefinition(type: .string, indexes: .queryable),
                            "s": FieldDefinition(type: .string, indexes: .sortable),
                            "t": FieldDefinition(type: .string, indexes: .searchable),
                            "none": FieldDefinition(type: .string),
                            "link": FieldDefinition(type: .reference, indexes: .queryable),
                        ], systemIndexes: [.recordID: .queryable])),
                .addType(RecordType(name: "Bare", fields: ["a": FieldDefinition(type: .string)])))
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
                    == "Field 'link' has a value type of REFERENCE and cannot be queried using filter value type STRING"
            )
            #expect(await answer(filter("q", .listContains)).contains("list"))
            #expect(
                await answer(filter("q", .near, .location(Location(latitude: 0, longitude: 0)))).contains("LOCATION"))
        },
    ]
}
