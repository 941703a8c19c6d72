internal import RecordStore
internal import Records
internal import Testing

/// The change feeds of zones and databases.
enum FeedScenarios {
    static let all: [Scenario] = [
        .zone("a first pull returns the existing records, in the order of the latest change") { database in
            for name in ["a", "b", "c"] as [Name] { try await database.save(name, in: notes) }
            try await database.delete("b", in: notes)
            try await database.save("a", in: notes)
            let first = try await database.pull(notes)
            #expect(first.changes.map(\.recordID.recordName) == ["c", "a"])
            #expect(first.changes.allSatisfy { $0.kind == .created })
            #expect(try await database.pull(notes, since: first.token).changes.isEmpty)
        },
        .zone("a pull since a token brings each record once, in its latest state, deletions included") { database in
            for name in ["kept", "edited", "gone", "reborn"] as [Name] { try await database.save(name, in: notes) }
            let token = try await database.pull(notes).token
            try await database.save("edited", in: notes, ["a": .int64(1)])
            try await database.save("edited", in: notes, ["a": .int64(2)])
            try await database.save("new", in: notes)
            try await database.delete("gone", in: notes)
            try await database.delete("reborn", in: notes)
            // Another save does not hide from the client that its record had gone.
            for _ in 1...2 { try await database.save("reborn", in: notes) }
            try await database.save("brief", in: notes)
            try await database.delete("brief", in: notes)
            for pageSize in [1, 2, 200] {
                let changes = try await database.pull(notes, since: token, pageSize: pageSize).changes
                #expect(changes.map(\.recordID.recordName) == ["edited", "new", "gone", "reborn", "brief"])
                #expect(changes.map(\.kind) == [.modified, .created, .deleted, .recreated, .deleted])
                #expect(try changes[0].record?.fields.values(of: ["a"]) == ["a": .int64(2)])
            }
        },
        .init("the pages of a first pull remember where it began: later deletions come, earlier ones don't") {
            engine, _ in
            let database = try await engine.withZone()
            for name in ["early", "a", "b", "c"] as [Name] { try await database.save(name, in: notes) }
            try await database.delete("early", in: notes)
            let page = try await database.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 1)))
            #expect(page.moreComing && page.changes.map(\.recordID.recordName) == ["a"])
            try await database.delete("a", in: notes)
            try await database.save("d", in: notes)
            let rest = try await database.pull(notes, since: page.syncToken, pageSize: 1).changes
            #expect(rest.map(\.recordID.recordName) == ["b", "c", "a", "d"])
            #expect(rest.map(\.kind) == [.created, .created, .deleted, .created])
        },
        .zone("tokens are not consumed, and the same place gives the same token") { database in
            for number in 0..<5 { try await database.save(Name("r\(number)"), in: notes) }
            let one = try await database.pull(notes)
            let two = try await database.pull(notes, pageSize: 2)
            #expect(one.token == two.token)
            #expect(try await database.fetchZones([notes])[0].get().syncToken == one.token)
            let page = try await database.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 2)))
            let again = try await database.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 2)))
            #expect(page.syncToken == again.syncToken)
            #expect(page.syncToken.text.utf8.count == 48)
            #expect(try await database.pull(notes, since: page.syncToken).changes.count == 3)
            #expect(try await database.pull(notes, since: page.syncToken).changes.count == 3)
        },
        .zone("reverse goes from new to old and ends where it began") { database in
            for name in ["a", "b", "c", "d"] as [Name] { try await database.save(name, in: notes) }
            try await database.delete("b", in: notes)
            let forward = try await database.pull(notes).token
            let reverse = try await database.pull(notes, pageSize: 1, reverse: true)
            #expect(reverse.changes.map(\.recordID.recordName) == ["d", "c", "a"])
            #expect(reverse.token == forward)
        },
        .zone("types can be chosen, deletions can't be hidden") { database in
            try await database.save("item", type: "Item", in: notes)
            try await database.save("gone", type: "Other", in: notes)
            let token = try await database.pull(notes).token
            try await database.save("other", type: "Other", in: notes)
            try await database.delete("gone", in: notes)
            try await database.save("item", type: "Item", in: notes)
            let page = try await database.zoneChanges(
                ZoneChangesRequest(notes, since: token, desiredKeys: [], desiredRecordTypes: ["Item"]))
            #expect(page.changes.map(\.recordID.recordName) == ["gone", "item"])
            #expect(page.changes.allSatisfy { $0.record?.fields == .empty })
        },
        .zone("a database pull names the zones in which something happened") { database in
            let other = ZoneID(zoneName: "Other")
            _ = try await database.modifyZones([.create(other)])
            try await database.save("in the default zone")
            let all = try await database.databaseChanges(DatabaseChangesRequest())
            #expect(all.changes.map(\.zoneID.zoneName) == ["Notes", "Other"])
            #expect(try await database.require(.tellCurrentToken).currentToken() == all.syncToken)
            #expect(try await database.databaseChanges(DatabaseChangesRequest(since: all.syncToken)).changes.isEmpty)
            try await database.save("r", in: notes)
            _ = try await database.modifyZones([.delete(other)])
            for limit in [1, 200] {
                var token = all.syncToken
                var seen: [ZoneChange] = []
                var more = true
                while more {
                    let page = try await database.databaseChanges(DatabaseChangesRequest(since: token, limit: limit))
                    seen += page.changes
                    (token, more) = (page.syncToken, page.moreComing)
                }
                #expect(seen.map(\.zoneID.zoneName) == ["Notes", "Other"])
                #expect(seen.map(\.kind) == [.changed, .deleted])
            }
            #expect(
                try await database.databaseChanges(DatabaseChangesRequest()).changes.map(\.zoneID.zoneName) == ["Notes"]
            )
            let older = try await database.databaseChanges(DatabaseChangesRequest(includesGoneZones: true))
            #expect(older.changes.map(\.kind) == [.changed, .deleted])
        },
        .database("a zone that was created and deleted twice is listed once") { database in
            let start = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            for _ in 0..<2 { _ = try await database.modifyZones([.create(notes), .delete(notes)]) }
            let changes = try await database.databaseChanges(DatabaseChangesRequest(since: start)).changes
            #expect(changes.map(\.kind) == [.deleted])
        },
        .init("another user's saves don't move this user's token") { engine, _ in
            let database = try await engine.withZone()
            let token = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            try await engine.full(.private, as: grace).save("r")
            #expect(try await database.databaseChanges(DatabaseChangesRequest()).syncToken == token)
        },
        .init("the public database and the default zone have no feed") { engine, _ in
            let expected = RecordError(.badRequest, "syncToken operations supported only in SyncZone")
            let database = try await engine.full(.private)
            let refused1 = await refusal { _ = try await database.zoneChanges(ZoneChangesRequest(.default)) }
            #expect(refused1 == expected)
            let everyone = try await engine.full(.public)
            let refused2 = await refusal { _ = try await everyone.databaseChanges(DatabaseChangesRequest()) }
            #expect(refused2 == expected)
            #expect(try await database.zones().map(\.syncToken) == [nil])
        },
    ]
}
