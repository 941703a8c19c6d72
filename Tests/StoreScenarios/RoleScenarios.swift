internal import RecordStore
internal import Records
internal import Testing

/// Access by the roles of types in the public database: every caller, every operation, every set of grants.
public enum RoleScenarios {
    public static let all: [AssetScenarios.Story] = matrix + owned + stories

    // MARK: The public database

    private static let matrix: [AssetScenarios.Story] = RoleCaller.allCases.map { who in
        .init("the public database, \(who.rawValue), every grant and every operation") { engine, clock in
            let stage = try await RoleStage(engine, clock)
            var cells = 0
            for (index, grants) in RoleGrants.all.enumerated() {
                let type: Name = "T\(index)"
                let creators = try await stage.prepare(type, grants, prefix: "\(index)")
                for operation in RoleOperation.allCases {
                    let expected = RoleOutcome.expected(who, operation, grants, creators: creators)
                    let found = try await stage.outcome(of: operation, as: who.caller, type: type, prefix: "\(index)")
                    #expect(
                        found == expected, "\(who.rawValue) does \(operation.rawValue) where there is \(grants.name)")
                    cells += 1
                }
            }
            #expect(cells == 22 * 16)
        }
    }

    // MARK: Databases with an owner

    private static let owned: [AssetScenarios.Story] = [
        .init("grants do not apply to private databases and shared zones") { engine, clock in
            let stage = try await RoleStage(engine, clock)
            let owner = Caller(userRecordName: ada.userRecordName, access: .signedIn)
            let guest = Caller(userRecordName: grace.userRecordName, access: .signedIn)
            let mine = try await engine.full(.private, as: owner)
            for result in try await mine.modifyZones([.create(notes)]) { _ = try result.get() }
            let theirs = ZoneID(zoneName: notes.zoneName, ownerRecordName: owner.userRecordName)
            for (index, grants) in RoleGrants.all.enumerated() {
                let type: Name = "P\(index)"
                let added = RecordType(name: type, systemIndexes: [.recordID: .queryable], grants: grants.grants)
                try await mine.edit(.addType(added))
                let rows:
                    [(
                        prefix: String, scope: DatabaseScope, zone: ZoneID, caller: Caller,
                        permission: ZoneParticipant.Permission?
                    )] = [
                        ("own", .private, .default, owner, nil), ("zone", .private, notes, owner, nil),
                        ("reader", .shared, theirs, guest, .readOnly), ("writer", .shared, theirs, guest, .readWrite),
                    ]
                for row in rows {
                    let prefix = "\(row.prefix)\(index)"
                    if let permission = row.permission {
                        try await mine.share(
                            notes, with: ZoneParticipant(userRecordName: guest.userRecordName, permission: permission),
                            on: engine)
                    }
                    let names = try await stage.fill(
                        type, prefix: prefix, .private, row.zone.isDefault ? .default : notes)
                    for operation in RoleOperation.allCases {
                        let found = try await stage.outcome(
                            of: operation, as: row.caller, type: type, prefix: prefix, row.scope, row.zone)
                        let isChange = operation != .query && operation != .lookup
                        let expected: RoleOutcome =
                            if row.permission == .readOnly, isChange {
                                .denied("WRITE operation not permitted")
                            } else if operation == .query { .found(names) } else if operation == .createTaken {
                                .denied("record to insert already exists")
                            } else { .done }
                        #expect(
                            found == expected, "\(operation.rawValue) in \(row.prefix) where there is \(grants.name)")
                    }
                    try await stage.empty(type, prefix: prefix, .private, row.zone.isDefault ? .default : notes)
                }
            }
        },
        .init("nobody without a name has a private or a shared database") { engine, _ in
            for scope in [DatabaseScope.private, .shared] {
                let refused = await refusal {
                    _ = try await engine.database(address(scope), as: RoleCaller.anonymous.caller)
                }
                #expect(refused == RecordError(.authenticationRequired, "request needs authorization"))
            }
            _ = try await engine.database(address(.public), as: RoleCaller.anonymous.caller)
            guard engine.can(.knowUsers) else { return }
            let isKnown = try await engine.require(.knowUsers).knows(
                RoleCaller.anonymous.caller.userRecordName, in: address(.public).container, .development)
            #expect(!isKnown)
        },
    ]

    // MARK: Stories

    private static let editors = Caller(userRecordName: mary.userRecordName, access: .signedIn)
    private static let signedIn = Caller(userRecordName: grace.userRecordName, access: .signedIn)

    private static let stories: [AssetScenarios.Story] = [
        .init("a batch executes the allowed operations and refuses the others individually") { engine, clock in
            let stage = try await RoleStage(engine, clock)
            _ = try await stage.prepare("Item", RoleGrants.defaults, prefix: "x")
            let database = try await engine.database(address(.public), as: signedIn)
            let batch = [
                RecordOperation(.create, recordName: "new", recordType: "Item"),
                RecordOperation(.forceUpdate, recordName: "x-there", recordType: "Item"),
                RecordOperation(.forceDelete, recordName: "x-there2"),
                RecordOperation(.create, recordName: "fresh", recordType: "Fresh"),
            ]
            let outcomes = try await database.modify(ModifyRequest(batch))
            #expect(outcomes.map { $0.roleOutcome } == [.done, .denied("WRITE operation not permitted"), .done, .done])
            #expect(try await database.names(of: ["new", "x-there", "fresh"]) == ["new", "x-there", "fresh"])
        },
        .init("where only creators read, every page is the caller's own and the last one has no marker") {
            engine, clock in
            for isIndexed in [false, true] {
                let type: Name = isIndexed ? "Indexed" : "Plain"
                let editing = try await engine.full(.public)
                var indexes: [SystemField: Indexes] = [.recordID: [.queryable, .sortable], .modTime: .sortable]
                if isIndexed { indexes[.createdBy] = .queryable }
                try await editing.edit(
                    .addType(
                        RecordType(
                            name: type,
                            fields: ["n": FieldDefinition(type: FieldType(.int64), indexes: [.queryable, .sortable])],
                            systemIndexes: indexes, grants: [Grant(role: "_creator", permissions: [.read])])))
                var own: [Name] = []
                for number in 0..<90 {
                    let isOwn = number % 3 == 0
                    let name: Name = "\(type)\(number < 10 ? "0" : "")\(number)"
                    if isOwn { own.append(name) }
                    try await engine.full(.public, as: isOwn ? grace : ada).save(
                        name, type: type, ["n": .int64(Int64(number % 7))])
                    clock.advance(1)
                }
                let database = try await engine.full(.public, as: signedIn)
                let queries = [
                    Query(recordType: type), Query(recordType: type, sorts: [Query.Sort("n", ascending: false)]),
                    Query(recordType: type, sorts: [Query.Sort("modifiedTimestamp")]),
                    Query(
                        recordType: type, filters: [Query.Filter("n", .lessThan, FieldInput(.int64(7)))],
                        sorts: [Query.Sort("recordName")]),
                ]
                for query in queries {
                    let inOne = try await database.all(query).map(\.recordID.recordName)
                    #expect(inOne.sorted() == own)
                    for size in [1, 7, 29, 30, 31] {
                        #expect(try await database.all(query, pageSize: size).map(\.recordID.recordName) == inOne)
                    }
                    let exact = try await database.query(QueryRequest(query, limit: PageLimit(records: own.count)))
                    #expect(exact.continuationMarker == nil)
                    let explained = try await database.require(.explainQueries).explain(QueryRequest(query))
                    #expect(explained.recordsReturned == own.count)
                }
                // A continuation marker of another user cannot be used.
                let first = try await database.query(
                    QueryRequest(Query(recordType: type), limit: PageLimit(records: 5)))
                let stranger = try await engine.full(
                    .public, as: Caller(userRecordName: ada.userRecordName, access: .signedIn))
                let refused = await refusal {
                    _ = try await stranger.query(
                        QueryRequest(Query(recordType: type), continuationMarker: first.continuationMarker))
                }
                #expect(refused?.code == .badRequest)
            }
        },
        .init("a save does not reveal unreadable records") { engine, clock in
            let stage = try await RoleStage(engine, clock)
            _ = try await stage.prepare(
                "Item", RoleGrants(name: "", grants: [Grant(role: "_icloud", permissions: [.write, .create])]),
                prefix: "x")
            let database = try await engine.full(.public, as: signedIn)
            let saved = try await database.save("x-there", ["note": .string("mine")])
            #expect(try saved.fields.decoded().map(\.name) == ["note"])
            let whole = try await engine.full(.public).fetch([RecordID(recordName: "x-there")], desiredKeys: nil)[0]
                .get()
            #expect(try whole.fields.decoded().map(\.name) == ["n", "note"])
        },
        .init("a deletion cascades to records of other users") { engine, clock in
            let stage = try await RoleStage(engine, clock)
            _ = try await stage.prepare("Item", RoleGrants.defaults, prefix: "x")
            let link: [Name: FieldValue] = ["link": .reference(Reference(recordName: "x-there", action: .deleteSelf))]
            try await engine.full(.public, as: signedIn).save("child", link)
            let creator = Caller(userRecordName: ada.userRecordName, access: .signedIn)
            try await engine.full(.public, as: creator).delete("x-there")
            #expect(try await engine.full(.public).names(of: ["child", "x-there"]).isEmpty)
        },
        .init("a role is given and taken with the user's record, from the next request on") { engine, clock in
            let stage = try await RoleStage(engine, clock)
            _ = try await stage.prepare(
                "Item", RoleGrants(name: "", grants: [Grant(role: "Editors", permissions: [.read])]), prefix: "x")
            let database = try await engine.full(.public, as: editors)
            let owner = try await engine.full(.public)
            #expect(try await database.names(of: ["x-there"]) == ["x-there"])
            for (roles, isIn) in [
                ([Int64](), false), ([1, 2, CustomRole.number(of: "Editors")], true),
                ([CustomRole.number(of: "editors")], false),
            ] {
                try await owner.save(
                    editors.userRecordName, type: "Users", ["roles": .list(roles.map { .int64($0) }, of: .int64)])
                #expect(try await database.names(of: ["x-there"]) == (isIn ? ["x-there"] : []))
            }
        },
        .init("numbers of roles come from their names alone") { _, _ in
            #expect(CustomRole.number(of: "Editors") == 0xBB_1D_61_98_60)
            #expect(CustomRole.number(of: "Readers") != CustomRole.number(of: "readers"))
        },
        .init("a user's record is created on request, and only for known users") { engine, clock in
            let database = try await engine.full(.public, as: signedIn)
            let names = [signedIn.userRecordName, editors.userRecordName, "_ffffffffffffffffffffffffffffffff"].map {
                RecordID(recordName: $0)
            }
            _ = try await engine.full(.private, as: editors)
            // In an existing container, because reading creates none.
            _ = try await engine.withZone()
            clock.advance()
            let found = try await database.fetch(names, desiredKeys: nil)
            let own = try found[0].get()
            #expect(
                own.recordType == "Users" && own.created.userRecordName == signedIn.userRecordName
                    && own.created.timestamp == clock.now())
            #expect(try own.fields.decoded().isEmpty)
            #expect(try found[1].get().created.userRecordName == editors.userRecordName)
            #expect(found[2] == .failure(.recordNotFound))
            // The record is only created once.
            clock.advance()
            #expect(try await database.fetch(names, desiredKeys: nil) == found)
            // Other databases have no such record.
            #expect(try await engine.full(.private, as: signedIn).names(of: [signedIn.userRecordName]).isEmpty)
        },
        .init("a user's record is its user's to fill, and its roles are the owner's to set") { engine, _ in
            let database = try await engine.full(.public, as: signedIn)
            let name = signedIn.userRecordName
            let saved = try await database.save(name, type: "Users", ["nick": .string("Grace")])
            #expect(saved.created.userRecordName == name)
            let roles: FieldValue = .list([.int64(5)], of: .int64)
            let closed = await refusal { try await database.save(name, type: "Users", ["roles": roles]) }
            #expect(closed?.code == .accessDenied && closed?.reason.contains("'roles'") == true)
            try await engine.full(.public, as: ada).save(name, type: "Users", ["roles": roles])
            // A client may send all fields back that it received, or leave the roles out.
            try await database.save(name, type: "Users", ["nick": .string("G"), "roles": roles])
            let replaced = try await database.save(name, as: .forceReplace, type: "Users", ["nick": .string("Gr")])
            #expect(try replaced.fields.values(of: ["roles", "nick"]) == ["roles": roles, "nick": .string("Gr")])
            let cleared = RecordOperation(
                .forceUpdate, recordName: name, recordType: "Users", fields: ["roles": .cleared])
            #expect(try await database.outcomes([cleared]) == [.accessDenied])
            let other = try await engine.full(.public, as: editors)
            try await engine.full(.public).edit(
                .setGrants([Grant(role: "_world", permissions: [.read, .create, .write])], of: "Users"))
            let refused = await refusal { try await other.save(name, type: "Users", ["nick": .string("x")]) }
            #expect(refused == RecordError(.accessDenied, "WRITE operation not permitted"))
            #expect(try await other.fetch([RecordID(recordName: name)], desiredKeys: nil)[0].get() == replaced)
        },
        .init("nobody makes, deletes or takes the place of a user's record") { engine, _ in
            let name = signedIn.userRecordName
            for caller in [signedIn, editors, ada] {
                let database = try await engine.full(.public, as: caller)
                let batches: [(RecordOperation, ServerErrorCode)] = [
                    (RecordOperation(.create, recordName: "u", recordType: "Users"), .accessDenied),
                    (RecordOperation(.forceUpdate, recordName: "u", recordType: "Users"), .accessDenied),
                    (RecordOperation(.create, recordName: name, recordType: "Users"), .accessDenied),
                    (
                        RecordOperation(.create, recordName: "_ffffffffffffffffffffffffffffffff", recordType: "Item"),
                        .badRequest
                    ),
                    (
                        RecordOperation(
                            .forceUpdate, recordName: "_ffffffffffffffffffffffffffffffff", recordType: "Users"),
                        .accessDenied
                    ),
                ]
                for (operation, code) in batches {
                    #expect(try await database.outcomes([operation]) == [code], "\(operation)")
                }
                _ = try await database.fetch([RecordID(recordName: name)], desiredKeys: nil)[0].get()
                let taken = try await database.outcomes([
                    RecordOperation(.forceUpdate, recordName: name, recordType: "Item")
                ])
                #expect(taken == [caller == editors ? .accessDenied : .badRequest])
                #expect(
                    try await database.outcomes([RecordOperation(.forceDelete, recordName: name)]) == [.accessDenied])
            }
            // In a private database the name is an ordinary one, and the type is not available.
            let own = try await engine.full(.private, as: signedIn)
            #expect(try await own.outcomes([RecordOperation(.create, recordName: name, recordType: "Item")]) == [nil])
            #expect(
                try await own.outcomes([RecordOperation(.create, recordName: "u", recordType: "Users")]) == [
                    .accessDenied
                ])
        },
        .init("deleting a record does not cascade to a user's record") { engine, _ in
            let database = try await engine.full(.public, as: signedIn)
            try await database.save("home")
            let link: [Name: FieldValue] = ["home": .reference(Reference(recordName: "home", action: .deleteSelf))]
            try await database.save(signedIn.userRecordName, type: "Users", link)
            try await database.delete("home")
            #expect(try await database.names(of: ["home", signedIn.userRecordName]) == [signedIn.userRecordName])
        },
        .init("an export restores a user's record, and a client can't create one") { engine, clock in
            let name: Name = "_ffffffffffffffffffffffffffffffff"
            let then = Signature(timestamp: clock.now(), userRecordName: name, deviceID: "iCloud")
            let operation = RecordOperation(
                .forceReplace, recordName: name, recordType: "Users",
                fields: ["roles": FieldInput(.list([.int64(7)], of: .int64))],
                provenance: Provenance(created: then, modified: then))
            let (client, owner) = (try await engine.full(.public, as: signedIn), try await engine.full(.public))
            #expect(try await client.outcomes([operation]) == [.accessDenied])
            #expect(try await owner.outcomes([operation]) == [nil])
            #expect(try await engine.full(.private).outcomes([operation]) == [.accessDenied])
        },
        .init("a user has a picture: the slot and the save are for the own record") { engine, clock in
            let name = signedIn.userRecordName
            _ = try await engine.full(.public, as: signedIn)
            let asset = try await engine.upload(
                1, for: name, field: "picture", type: "Users", in: .default, .public, as: signedIn, at: clock.now())
            try await engine.full(.public, as: signedIn).save(name, type: "Users", ["picture": .asset(asset)])
            let refused = await refusal {
                _ = try await engine.upload(
                    1, for: name, field: "picture", type: "Users", in: .default, .public, as: editors, at: clock.now())
            }
            #expect(refused == RecordError(.accessDenied, "WRITE operation not permitted"))
        },
    ]
}
