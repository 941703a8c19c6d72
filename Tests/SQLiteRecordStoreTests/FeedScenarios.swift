import JSON
import RecordStore
import Records
import Testing

enum FeedScenarios {
    static let all: [ScenarioTests.Scenario] = [
        .init("a first pull brings what lives, in the order of the latest change") { engine, _ in
            let database = try await engine.withZone()
            for name in ["a", "b", "c"] as [Name] { try await database.save(name, in: notes) }
            try await database.delete("b", in: notes)
            try await database.save("a", in: notes)
            let first = try await database.pull(notes)
            #expect(first.changes.map(\.record.recordID.recordName) == ["c", "a"])
            #expect(first.changes.allSatisfy { $0.kind == .created })
            #expect(try await database.pull(notes, since: first.token).changes.isEmpty)
        },
        .init("a pull since a token brings each record once, in its latest state, deletions included") { engine, _ in
            let database = try await engine.withZone()
            for name in ["kept", "edited", "gone", "reborn"] as [Name] { try await database.save(name, in: notes) }
            let token = try await database.pull(notes).token
            try await database.save("edited", in: notes, ["a": .int64(1)])
            try await database.save("edited", in: notes, ["a": .int64(2)])
            try await database.save("new", in: notes)
            try await database.delete("gone", in: notes)
            try await database.delete("reborn", in: notes)
            try await database.save("reborn", in: notes)
            try await database.save("brief", in: notes)
            try await database.delete("brief", in: notes)
            for pageSize in [1, 2, 200] {
                let changes = try await database.pull(notes, since: token, pageSize: pageSize).changes
                #expect(changes.map(\.record.recordID.recordName) == ["edited", "new", "gone", "reborn", "brief"])
                #expect(changes.map(\.kind) == [.modified, .created, .deleted, .recreated, .deleted])
                #expect(try changes[0].record.fields.values(of: ["a"]) == ["a": .int64(2)])
            }
        },
        .init("the pages of a first pull remember where it began: later deletions come, earlier ones don't") { engine, _ in
            let database = try await engine.withZone()
            for name in ["early", "a", "b", "c"] as [Name] { try await database.save(name, in: notes) }
            try await database.delete("early", in: notes)
            let page = try await database.zoneChanges(ZoneChangesRequest(notes, limit: PageLimit(records: 1)))
            #expect(page.moreComing && page.changes.map(\.record.recordID.recordName) == ["a"])
            try await database.delete("a", in: notes)
            try await database.save("d", in: notes)
            let rest = try await database.pull(notes, since: page.syncToken, pageSize: 1).changes
            #expect(rest.map(\.record.recordID.recordName) == ["b", "c", "a", "d"])
            #expect(rest.map(\.kind) == [.created, .created, .deleted, .created])
        },
        .init("tokens are not consumed, and the same place gives the same token") { engine, _ in
            let database = try await engine.withZone()
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
        .init("reverse goes from new to old and ends where it began") { engine, _ in
            let database = try await engine.withZone()
            for name in ["a", "b", "c", "d"] as [Name] { try await database.save(name, in: notes) }
            try await database.delete("b", in: notes)
            let forward = try await database.pull(notes).token
            let reverse = try await database.pull(notes, pageSize: 1, reverse: true)
            #expect(reverse.changes.map(\.record.recordID.recordName) == ["d", "c", "a"])
            #expect(reverse.token == forward)
        },
        .init("types can be chosen, deletions can't be hidden") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("item", type: "Item", in: notes)
            try await database.save("gone", type: "Other", in: notes)
            let token = try await database.pull(notes).token
            try await database.save("other", type: "Other", in: notes)
            try await database.delete("gone", in: notes)
            try await database.save("item", type: "Item", in: notes)
            let page = try await database.zoneChanges(ZoneChangesRequest(notes, since: token, desiredKeys: [], desiredRecordTypes: ["Item"]))
            #expect(page.changes.map(\.record.recordID.recordName) == ["gone", "item"])
            #expect(page.changes.allSatisfy { $0.record.fields == .empty })
        },
        .init("a database pull names the zones in which something happened") { engine, _ in
            let database = try await engine.withZone()
            let other = ZoneID(zoneName: "Other")
            _ = try await database.modifyZones([.create(other)])
            try await database.save("in the default zone")
            let all = try await database.databaseChanges(DatabaseChangesRequest())
            #expect(all.changes.map(\.zoneID.zoneName) == ["Notes", "Other"])
            #expect(try await database.currentToken() == all.syncToken)
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
            #expect(try await database.databaseChanges(DatabaseChangesRequest()).changes.map(\.zoneID.zoneName) == ["Notes"])
            let older = try await database.databaseChanges(DatabaseChangesRequest(includesGoneZones: true))
            #expect(older.changes.map(\.kind) == [.changed, .deleted])
        },
        .init("a zone that came and went twice is told once") { engine, _ in
            let database = try await engine.full(.private)
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

enum TokenScenarios {
    static let all: [ScenarioTests.Scenario] = [
        .init("a token that is not this feed's is unknown") { engine, _ in
            let database = try await engine.withZone()
            let other = ZoneID(zoneName: "Other")
            _ = try await database.modifyZones([.create(other)])
            try await database.save("r", in: notes)
            let zoneToken = try await database.pull(notes).token
            let databaseToken = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            let half = ChangeToken(text: String(zoneToken.text.prefix(24)))
            var flipped = zoneToken.bytes
            flipped[15] ^= 1
            for token in [half, ChangeToken(text: "garbage"), ChangeToken(bytes: []), ChangeToken(bytes: flipped), databaseToken] {
                let refused3 = await refusal { _ = try await database.pull(notes, since: token) }
                #expect(refused3 == TokenOffice.foreign)
            }
            let refused4 = await refusal { _ = try await database.pull(other, since: zoneToken) }
            #expect(refused4 == TokenOffice.foreign)
            let refused5 = await refusal { _ = try await database.databaseChanges(DatabaseChangesRequest(since: zoneToken)) }
            #expect(refused5 == TokenOffice.foreign)
            // The same zone, seen by another user through the shared database.
            try await database.share(notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly))
            let shared = try await engine.full(.shared, as: grace)
            let seen = ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)
            let refused6 = await refusal { _ = try await shared.pull(seen, since: zoneToken) }
            #expect(refused6 == TokenOffice.foreign)
            // Another container's store.
            let elsewhere = try await engine.full(.private, as: ada, .production)
            _ = try await elsewhere.modifyZones([.create(notes)])
            let refused7 = await refusal { _ = try await elsewhere.pull(notes, since: zoneToken) }
            #expect(refused7 == TokenOffice.foreign)
        },
        .init("a zone made anew expires the tokens of the old one") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes)
            let token = try await database.pull(notes).token
            _ = try await database.modifyZones([.delete(notes)])
            let refused8 = await refusal { _ = try await database.pull(notes, since: token) }
            #expect(refused8 == .zoneNotFound)
            _ = try await database.modifyZones([.create(notes)])
            let refused9 = await refusal { _ = try await database.pull(notes, since: token) }
            #expect(refused9 == TokenOffice.expired)
            #expect(try await database.pull(notes).changes.isEmpty)
            #expect(try await database.names(in: notes, of: ["r"]).isEmpty)
        },
        .init("a token explained says what it is") { engine, clock in
            let database = try await engine.withZone()
            for name in ["a", "b", "c"] as [Name] {
                clock.advance()
                try await database.save(name, in: notes)
            }
            let moment = clock.now()
            let token = try await database.pull(notes).token
            clock.advance()
            try await database.save("a", in: notes)
            try await database.delete("b", in: notes)
            let explained = try await database.explain(token)
            #expect(explained.subject == .zone(ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)))
            #expect(explained.standing == .good && explained.changesAfter == 2 && explained.moment == moment)
            #expect(explained.userRecordName == ada.userRecordName && explained.progress == .complete)
            let page = try await database.zoneChanges(ZoneChangesRequest(notes, since: token, limit: PageLimit(records: 1)))
            #expect(try await database.explain(page.syncToken).progress == .pull(since: explained.position))
            let foreign = try await engine.full(.private, as: grace).explain(token)
            if case .foreign = foreign.standing {} else { #expect(Bool(false), "grace can't use ada's token") }
            let refused10 = await refusal { _ = try await database.explain(ChangeToken(text: "nonsense")) }
            #expect(refused10 == TokenOffice.foreign)
            let feed = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            #expect(try await database.explain(feed).subject == .database)
        },
    ]
}

enum ZoneScenarios {
    static let all: [ScenarioTests.Scenario] = [
        .init("zones come and go") { engine, _ in
            let database = try await engine.withZone()
            let listed = try await database.zones()
            #expect(listed.map(\.zoneID.zoneName) == ["_defaultZone", "Notes"])
            #expect(listed.map(\.atomic) == [false, true])
            #expect(listed[1].zoneID.ownerRecordName == ada.userRecordName)
            // Creating it again changes nothing.
            #expect(try await database.modifyZones([.create(notes)])[0].get() == listed[1])
            let results = try await database.modifyZones([
                .delete(notes), .delete(notes), .create(ZoneID(zoneName: "")), .create(ZoneID(zoneName: "_x")), .delete(.default),
                .create(ZoneID(zoneName: "Z", ownerRecordName: "_someone")),
            ])
            let codes = results.map { result in if case .failure(let error) = result { error.code } else { nil as ServerErrorCode? } }
            #expect(codes == [nil, .zoneNotFound, .badRequest, .badRequest, .badRequest, .accessDenied])
            let refused11 = await refusal { try await database.save("r", in: notes) }
            #expect(refused11 == .zoneNotFound)
            #expect(try await database.fetch([RecordID(recordName: "r", zoneID: notes)], desiredKeys: nil)[0] == .failure(.zoneNotFound))
        },
        .init("the public database has the default zone only") { engine, _ in
            let database = try await engine.full(.public)
            #expect(try await database.zones().map(\.zoneID) == [ZoneID(zoneName: "_defaultZone", ownerRecordName: "_defaultOwner")])
            let result = try await database.modifyZones([.create(notes)])[0]
            #expect(throws: RecordError.self) { try result.get() }
        },
        .init("a purge is told as such") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes)
            let token = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            try await database.purge(notes)
            #expect(try await database.databaseChanges(DatabaseChangesRequest(since: token)).changes.map(\.kind) == [.purged])
            let refused12 = await refusal { try await database.purge(notes) }
            #expect(refused12 == .zoneNotFound)
        },
        .init("a shared zone appears under its owner, and goes again") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["a": .int64(1)])
            let shared = try await engine.full(.shared, as: grace)
            let empty = try await shared.databaseChanges(DatabaseChangesRequest())
            #expect(empty.changes.isEmpty)
            try await database.share(notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly))
            let seen = ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)
            #expect(try await shared.zones().map(\.zoneID) == [seen])
            let appeared = try await shared.databaseChanges(DatabaseChangesRequest(since: empty.syncToken))
            #expect(appeared.changes.map(\.kind) == [.changed])
            #expect(try await shared.pull(seen).changes.map(\.record.recordID.recordName) == ["r"])
            let refused13 = await refusal { try await shared.save("mine", in: seen) }
            #expect(refused13 == RecordError(.accessDenied, "WRITE operation not permitted"))
            try await database.share(notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readWrite))
            let saved = try await shared.save("mine", in: seen)
            #expect(saved.modified.userRecordName == grace.userRecordName && saved.recordID.zoneID == seen)
            #expect(try await database.names(in: notes, of: ["mine"]) == ["mine"])
            let before = try await shared.databaseChanges(DatabaseChangesRequest())
            try await database.save("r", in: notes)
            #expect(try await shared.databaseChanges(DatabaseChangesRequest(since: before.syncToken)).changes.count == 1)
            try await database.stopSharing(notes, with: grace.userRecordName)
            let stopped = try await shared.databaseChanges(DatabaseChangesRequest(since: before.syncToken))
            #expect(stopped.changes.map(\.kind) == [.deleted] && stopped.changes.map(\.zoneID) == [seen])
            let refused14 = await refusal { _ = try await shared.pull(seen) }
            #expect(refused14 == .zoneNotFound)
            let refused15 = await refusal { try await database.stopSharing(notes, with: grace.userRecordName) }
            #expect(refused15 == ZoneRules.notShared)
        },
        .init("zones of one name and several owners live side by side") { engine, _ in
            let database = try await engine.withZone()
            let other = try await engine.full(.private, as: Caller(userRecordName: "_mary"))
            _ = try await other.modifyZones([.create(notes)])
            try await database.save("r", in: notes, ["whose": .string("ada")])
            try await other.save("r", in: notes, ["whose": .string("mary")])
            for owner in [database, other] {
                try await owner.share(notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly))
            }
            let shared = try await engine.full(.shared, as: grace)
            let found = try await shared.fetch(
                ["_ada", "_mary"].map { RecordID(recordName: "r", zoneID: ZoneID(zoneName: "Notes", ownerRecordName: $0)) }, desiredKeys: nil)
            #expect(try found.map { try $0.get().fields.values(of: ["whose"])["whose"] } == [.string("ada"), .string("mary")])
            let refused16 = await refusal { _ = try await shared.pull(notes) }
            #expect(refused16?.code == .zoneNotFound)
        },
    ]
}
