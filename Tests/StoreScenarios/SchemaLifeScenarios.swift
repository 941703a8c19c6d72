internal import RecordStore
internal import Records
internal import Testing

/// Deployment, reset and history.
enum SchemaLifeScenarios {
    static let all: [Scenario] = [
        .init("the history has every change with its user, latest first, in pages") { engine, clock in
            let database = try await engine.full(.private)
            let start = try await database.require(.showSchema).schemaHistory(before: nil, limit: 99).count
            try await database.save("a", ["text": .string("x")])
            clock.advance(1000)
            _ = try await engine.full(.private, as: grace).require(.editSchema).edit(
                [.setIndexes([], of: .custom("text"), in: "Item")], because: .schemaImport)
            try await database.edit(.addRole("Editor"))
            // Nothing changed, so the history has no new entry.
            try await database.edit(.addRole("Editor"))
            try await database.save("b", ["text": .string("x")])
            let all = try await database.require(.showSchema).schemaHistory(before: nil, limit: 99)
            #expect(all.count == start + 3)
            #expect(all.map(\.reason).prefix(3) == [.edit, .schemaImport, .save])
            #expect(
                all.map(\.userRecordName).prefix(3) == [ada.userRecordName, grace.userRecordName, ada.userRecordName])
            #expect(all[0].timestamp == clock.now() && all[2].timestamp < all[1].timestamp)
            #expect(all.map(\.number) == all.map(\.number).sorted(by: >))
            for entry in all.prefix(3) { #expect(!entry.changes.isEmpty) }
            #expect(all[2].changes.contains { $0.contains("Item") })
            #expect(try await database.require(.showSchema).schemaHistory(before: nil, limit: 1) == [all[0]])
            #expect(
                try await database.require(.showSchema).schemaHistory(before: all[0].number, limit: 2) == [
                    all[1], all[2],
                ])
        },
        .zone("a batch that fails leaves no history") { database in
            let entries = try await database.require(.showSchema).schemaHistory(before: nil, limit: 99).count
            let batch = [
                RecordOperation(.create, recordName: "a", recordType: "Brand", fields: ["new": FieldInput(.int64(1))]),
                RecordOperation(.update, recordName: "b", recordType: "Brand", recordChangeTag: "x"),
            ]
            #expect(try await database.outcomes(batch, in: notes) == [.atomicError, .notFound])
            #expect(try await database.require(.showSchema).schemaHistory(before: nil, limit: 99).count == entries)
        },
        .init("production takes composite indexes and nothing else") { engine, _ in
            let development = try await engine.full(.private)
            let production = try await engine.full(.private, as: ada, .production)
            let fields: [Name: FieldDefinition] = [
                "author": FieldDefinition(type: .string, indexes: .queryable),
                "year": FieldDefinition(type: .int64, indexes: .sortable),
            ]
            try await development.edit(.addType(RecordType(name: "Book", fields: fields)))
            _ = try await production.require(.deploySchema).deploy(
                try await development.require(.showSchema).schema(), waitingForIndexes: true)
            let composite = CompositeIndex(filter: .custom("author"), sort: .custom("year"))
            #expect(
                try await production.edit(.addCompositeIndex(composite, in: "Book")).types[
                    "Book"]?.compositeIndexes
                    == [composite])
            for number in 0..<20 {
                try await production.save(
                    "b\(number)" as Name, type: "Book",
                    ["author": .string("a\(number % 3)"), "year": .int64(Int64(number))])
            }
            let query = Query(
                recordType: "Book", filters: [Query.Filter("author", .equals, FieldInput(.string("a1")))],
                sorts: [Query.Sort("year", ascending: false)])
            #expect(
                try await production.all(query, pageSize: 2).map(\.recordID.recordName) == [
                    "b19", "b16", "b13", "b10", "b7", "b4", "b1",
                ])
            let both: [SchemaEdit] = [
                .removeCompositeIndex(composite, in: "Book"), .setIndexes([], of: .custom("year"), in: "Book"),
            ]
            let refused = await refusal { _ = try await production.require(.editSchema).edit(both) }
            #expect(refused?.code == .accessDenied)
            #expect(
                try await production.edit(.removeCompositeIndex(composite, in: "Book")).types[
                    "Book"]?
                    .compositeIndexes.isEmpty == true)
        },
        .init("deploying adds, changes indexes and grants, and never removes") { engine, _ in
            let development = try await engine.full(.private)
            let production = try await engine.full(.private, as: ada, .production)
            try await development.edit(
                .addRole("Editor"),
                .addType(
                    RecordType(
                        name: "Item",
                        fields: [
                            "a": FieldDefinition(type: .string, indexes: .queryable),
                            "b": FieldDefinition(type: .int64),
                        ])), .addCompositeIndex(CompositeIndex(filter: .custom("a"), sort: .custom("b")), in: "Item"))
            let refused = await refusal {
                _ = try await development.require(.deploySchema).deploy(
                    try await development.require(.showSchema).schema(), waitingForIndexes: true)
            }
            #expect(refused?.code == .badRequest)
            var schema = try await production.require(.deploySchema).deploy(
                try await development.require(.showSchema).schema(), waitingForIndexes: true)
            #expect(schema.types["Item"]?.fields["a"]?.indexes == .queryable)
            #expect(schema.types["Item"]?.compositeIndexes.isEmpty == true)
            #expect(schema.roles == ["Editor"])
            try await production.save("r", ["a": .string("x"), "b": .int64(1)])
            // Indexes may be dropped, roles are kept, and existing types may grow.
            try await development.edit(
                .setIndexes([], of: .custom("a"), in: "Item"), .setIndexes(.sortable, of: .custom("b"), in: "Item"),
                .removeRole("Editor"), .setGrants([Grant(role: "_world", permissions: [.read])], of: "Item"),
                .addType(
                    RecordType(
                        name: "Item", fields: ["c": FieldDefinition(type: .double)],
                        systemIndexes: [.recordID: .queryable])))
            schema = try await production.require(.deploySchema).deploy(
                try await development.require(.showSchema).schema(), waitingForIndexes: true)
            #expect(schema.types["Item"]?.fields["a"]?.indexes == [])
            #expect(schema.types["Item"]?.fields["c"]?.type == .double)
            #expect(schema.types["Item"]?.grants == [Grant(role: "_world", permissions: [.read])])
            #expect(schema.roles == ["Editor"])
            #expect(try await production.all(Query(recordType: "Item", sorts: [Query.Sort("b")])).count == 1)
            #expect(
                try await production.require(.showSchema).schemaHistory(before: nil, limit: 1).first?.reason
                    == .deployment)
            for edit in [SchemaEdit.removeField("a", in: "Item"), .removeType("Item")] {
                try await development.edit(edit)
                let refused = await refusal {
                    _ = try await production.require(.deploySchema).deploy(
                        try await development.require(.showSchema).schema(), waitingForIndexes: true)
                }
                #expect(refused?.code == .badRequest)
                #expect(try await production.require(.showSchema).schema() == schema)
            }
            #expect(try await production.names(of: ["r"]) == ["r"])
        },
        .init("a reset takes everything out, and feeds tell of a purge") { engine, _ in
            let database = try await engine.withZone()
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
            try await database.save("a", in: notes, ["text": .string("x")])
            try await database.save("b", ["text": .string("x")])
            try await engine.full(.public).save("p", ["text": .string("x")])
            let shared = try await engine.full(.shared, as: grace)
            let (own, others) = (
                try await database.require(.tellCurrentToken).currentToken(),
                try await shared.require(.tellCurrentToken).currentToken()
            )
            let zoneToken = try await database.pull(notes).token
            let production = Schema(
                types: [
                    RecordType(
                        name: "Book",
                        fields: [
                            "author": FieldDefinition(type: .string, indexes: .queryable),
                            "year": FieldDefinition(type: .int64),
                        ],
                        compositeIndexes: [CompositeIndex(filter: .custom("author"), sort: .custom("year"))])
                ], roles: ["Editor"])
            let refused = await refusal {
                _ = try await engine.full(.private, as: ada, .production).require(.editSchema).reset(to: production)
            }
            #expect(refused?.code == .accessDenied)
            let schema = try await database.require(.editSchema).reset(to: production)
            #expect(schema.types.keys.sorted() == ["Book", "Users"])
            #expect(schema.types["Book"] == production.types["Book"])
            #expect(schema.roles == ["Editor"])
            #expect(try await database.require(.showSchema).schema() == schema)
            #expect(try await database.zones().map(\.zoneID.zoneName) == [ZoneID.defaultZoneName])
            #expect(try await database.names(of: ["b"]).isEmpty)
            #expect(try await engine.full(.public).names(of: ["p"]).isEmpty)
            for (database, token) in [(database, own), (shared, others)] {
                let page = try await database.databaseChanges(
                    DatabaseChangesRequest(since: token, includesGoneZones: true, limit: 9))
                #expect(page.changes.map(\.kind) == [.purged])
                #expect(page.changes.map(\.zoneID.zoneName) == ["Notes"])
            }
            #expect(try await shared.zones().isEmpty)
            // A zone of the same name is a new zone.
            for result in try await database.modifyZones([.create(notes)]) { _ = try result.get() }
            let expired = await refusal { _ = try await database.pull(notes, since: zoneToken) }
            #expect(expired?.code == .badRequest)
            #expect(try await database.participants(of: notes).isEmpty)
            try await database.save("a", in: notes, ["text": .int64(1)])
            #expect(try await database.pull(notes).changes.map(\.kind) == [.created])
            let entry = try #require(
                try await database.require(.showSchema).schemaHistory(before: nil, limit: 9).first {
                    $0.reason == .reset
                })
            #expect(entry.changes.count > 1)
            #expect(entry.userRecordName == ada.userRecordName)
        },
    ]
}
