internal import RecordStore
internal import Records
internal import Testing

/// Edits of types, fields, roles and grants, and their effects on records.
enum SchemaEditScenarios {
    static let all: [Scenario] = [
        .zone("removing a type deletes its records as deletions do, and keeps the others") { database in
            try await database.save(
                "a", in: notes, ["link": .reference(Reference(recordName: "b", action: .deleteSelf))])
            try await database.save("b", type: "Other", in: notes, ["text": .string("x")], parent: .record("a"))
            try await database.save("c", type: "Other", ["text": .string("y")])
            let token = try await database.pull(notes).token
            let schema = try await database.edit(.removeType("Other"))
            #expect(schema.types["Other"] == nil)
            #expect(try await database.names(in: notes, of: ["a", "b"]) == ["a"])
            #expect(try await database.names(of: ["c"]).isEmpty)
            let (changes, _) = try await database.pull(notes, since: token)
            #expect(changes.map(\.kind) == [.deleted])
            #expect(changes.first?.recordID.recordName == "b")
            #expect(changes.first?.record?.recordType == "Other")
            #expect(changes.first?.record?.modified.userRecordName == ada.userRecordName)
            #expect(try await database.require(.countRecords).counts(in: notes).records == ["Item": 1])
            #expect(try await database.require(.countRecords).counts(in: notes).deletions == 1)
            #expect(
                try await database.require(.traceReferences).referrers(
                    to: RecordID(recordName: "a", zoneID: notes), limit: 9
                ).isEmpty)
            // Only the target of the reference is gone.
            #expect(
                try await database.require(.traceReferences).referrers(
                    to: RecordID(recordName: "b", zoneID: notes), limit: 9
                ).map(\.recordName)
                    == ["a"])
            let answer = await refusal { _ = try await database.query(QueryRequest(Query(recordType: "Other"))) }
            #expect(answer?.reason == "Did not find record type: Other")
        },
        .zone("a type that is deleted and created again is a new type") { database in
            try await database.save("a", in: notes, ["value": .string("x")])
            try await database.edit(.removeType("Item"))
            try await database.save("b", in: notes, ["value": .int64(5)])
            #expect(try await database.require(.showSchema).schema().types["Item"]?.fields["value"]?.type == .int64)
            let found = try await database.all(
                Query(recordType: "Item", filters: [Query.Filter("value", .equals, FieldInput(.int64(5)))]),
                in: .zone(notes))
            #expect(found.map(\.recordID.recordName) == ["b"])
            #expect(try await database.pull(notes).changes.map(\.recordID.recordName) == ["b"])
            #expect(try await database.require(.countRecords).counts(in: notes).records == ["Item": 1])
        },
        .zone("removing a field removes its values without new change tags") { database in
            let saved = try await database.save(
                "a", in: notes,
                [
                    "keep": .string("k"), "go": .string("words here"),
                    "link": .reference(Reference(recordName: "a", action: .validate)),
                ])
            let token = try await database.pull(notes).token
            let schema = try await database.edit(.removeField("go", in: "Item"), .removeField("link", in: "Item"))
            #expect(schema.types["Item"]?.fields.keys.sorted() == ["keep"])
            let found = try #require(
                try await database.fetch([RecordID(recordName: "a", zoneID: notes)], desiredKeys: nil).first?.get())
            #expect(try found.fields.decoded().map(\.name) == ["keep"])
            #expect(found.recordChangeTag == saved.recordChangeTag)
            #expect(try await database.pull(notes, since: token).changes.isEmpty)
            #expect(
                try await database.require(.traceReferences).referrers(
                    to: RecordID(recordName: "a", zoneID: notes), limit: 9
                ).isEmpty)
            let answer = await refusal {
                _ = try await database.query(
                    QueryRequest(
                        Query(recordType: "Item", filters: [Query.Filter("go", .equals, FieldInput(.string("x")))])))
            }
            #expect(answer?.reason == "Unknown field 'go'")
            // The name is free for a field of another type.
            try await database.save("a", in: notes, ["go": .int64(7)])
            let sorted = try await database.all(
                Query(recordType: "Item", filters: anyGo, sorts: [Query.Sort("go")]), in: .zone(notes))
            #expect(sorted.map(\.recordID.recordName) == ["a"])
        },
        .zone("a field becomes another type by losing its values") { database in
            try await database.save("a", in: notes, ["value": .string("5")])
            try await database.save("b", in: notes, ["value": .string("6")])
            let refused = await refusal {
                try await database.edit(
                    .addType(RecordType(name: "Item", fields: ["value": FieldDefinition(type: .int64)])))
            }
            #expect(refused?.reason == "Field 'value' of type 'Item' has type STRING, which can't be changed to INT64")
            try await database.edit(
                .removeField("value", in: "Item"),
                .addType(
                    RecordType(
                        name: "Item",
                        fields: ["value": FieldDefinition(type: .int64, indexes: [.queryable, .sortable])],
                        systemIndexes: [.recordID: .queryable])))
            try await database.save("b", in: notes, ["value": .int64(6)])
            let found = try await database.all(
                Query(recordType: "Item", sorts: [Query.Sort("value", ascending: false)]), in: .zone(notes))
            #expect(found.map(\.recordID.recordName) == ["b", "a"])
            let history = try await database.require(.showSchema).schemaHistory(before: nil, limit: 1)
            #expect(history.first?.changes.contains { $0.contains("value") } == true)
        },
        .zone("edits are all done or none") { database in
            try await database.save("a", in: notes, ["text": .string("x")])
            let before = try await database.require(.showSchema).schema()
            let entries = try await database.require(.showSchema).schemaHistory(before: nil, limit: 99).count
            let edits: [SchemaEdit] = [
                .addRole("Editor"), .removeField("text", in: "Item"), .removeType("Item"), .removeType("Nope"),
            ]
            let refused = await refusal { _ = try await database.require(.editSchema).edit(edits) }
            #expect(refused?.reason == "Did not find record type: Nope")
            #expect(try await database.require(.showSchema).schema() == before)
            #expect(try await database.require(.showSchema).schemaHistory(before: nil, limit: 99).count == entries)
            #expect(
                try await database.fetch([RecordID(recordName: "a", zoneID: notes)], desiredKeys: nil).first?.get()
                    .fields.decoded().count == 1)
        },
        .database("each edit has its refusals") { database in
            try await database.edit(
                .addRole("Editor"),
                .addType(
                    RecordType(
                        name: "Item",
                        fields: [
                            "text": FieldDefinition(type: .string), "list": FieldDefinition(type: .list(.int64)),
                            "file": FieldDefinition(type: .asset), "year": FieldDefinition(type: .int64),
                        ], grants: [Grant(role: "Editor", permissions: [.read, .write])])))
            func answer(_ edits: SchemaEdit...) async -> String {
                await refusal { _ = try await database.require(.editSchema).edit(edits) }?.reason ?? "done"
            }
            func composite(_ filter: Name, _ sort: Name) -> SchemaEdit {
                .addCompositeIndex(
                    CompositeIndex(filter: FieldKey(schemaName: filter), sort: FieldKey(schemaName: sort)), in: "Item")
            }
            #expect(await answer(.removeType("Users")).contains("belongs to the system"))
            #expect(await answer(.removeField("roles", in: "Users")).contains("belongs to the system"))
            #expect(await answer(.removeField("nope", in: "Item")) == "Did not find field: 'nope' in type: 'Item'")
            #expect(await answer(.setIndexes(.sortable, of: .custom("list"), in: "Item")).contains("can't be SORTABLE"))
            #expect(await answer(.setGrants([], of: "Item")).contains("needs at least one grant"))
            #expect(
                await answer(.setGrants([Grant(role: "Editor", permissions: [])], of: "Item")).contains(
                    "needs at least one grant"))
            #expect(
                await answer(.setGrants([Grant(role: "Ghost", permissions: [.read])], of: "Item")).contains(
                    "'Ghost', which does not exist"))
            #expect(await answer(.addRole("_world")).contains("is built in"))
            #expect(await answer(.addRole("no spaces")).contains("Invalid role"))
            #expect(await answer(.removeRole("Ghost")) == "Did not find role: Ghost")
            #expect(await answer(.removeRole("Editor")).contains("type 'Item' grants it a permission"))
            #expect(await answer(composite("text", "text")).contains("two different fields"))
            #expect(await answer(composite("list", "year")).contains("can't be compared with EQUALS"))
            #expect(await answer(composite("text", "file")).contains("can't be sorted by"))
            #expect(await answer(composite("text", "___recordID")).contains("can't have 'recordName'"))
            #expect(await answer(composite("text", "nope")) == "Did not find field: 'nope' in type: 'Item'")
            #expect(
                await answer(
                    .removeCompositeIndex(CompositeIndex(filter: .custom("text"), sort: .custom("year")), in: "Item")
                ).contains("has no composite index"))
            // The order of dependent edits does not matter.
            #expect(await answer(.removeRole("Editor"), .setGrants(Grant.defaults, of: "Item")) == "done")
            #expect(try await database.require(.showSchema).schema().roles.isEmpty)
            #expect(
                await answer(.setGrants([Grant(role: "New", permissions: [.read])], of: "Item"), .addRole("New"))
                    == "done")
            #expect(await answer(composite("text", "year")) == "done")
            #expect(try await database.require(.showSchema).schema().types["Item"]?.compositeIndexes.count == 1)
            #expect(await answer(.removeField("year", in: "Item")) == "done")
            #expect(try await database.require(.showSchema).schema().types["Item"]?.compositeIndexes.isEmpty == true)
        },
        .database("how a number is spelled stays, and saves keep to its values") { database in
            try await database.edit(
                .addType(
                    RecordType(
                        name: "Item",
                        fields: [
                            "n": FieldDefinition(type: FieldType(.double, number: NumberPreference.none)),
                            "i": FieldDefinition(type: FieldType(.int64, number: .int64)),
                        ])))
            try await database.save("a", ["n": .double(1.5), "i": .int64(2)])
            #expect(
                try await database.require(.showSchema).schema().types["Item"]?.fields["n"]?.type.number
                    == NumberPreference.none)
            #expect(try await database.require(.showSchema).schema().types["Item"]?.fields["i"]?.type.number == .int64)
            // The same values, with another spelling of the type.
            let schema = try await database.edit(
                .addType(RecordType(name: "Item", fields: ["i": FieldDefinition(type: .int64)])))
            #expect(schema.types["Item"]?.fields["i"]?.type == .int64)
            let found = try await database.fetch([RecordID(recordName: "a")], desiredKeys: nil).first?.get().fields
                .decoded()
            #expect(found?.map(\.value) == [.int64(2), .double(1.5)])
        },
    ]

    private static let anyGo = [Query.Filter("go", .greaterThan, FieldInput(.int64(0)))]
}
