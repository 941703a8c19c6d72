internal import RecordStore
internal import Records
internal import Testing

/// The validity of change tokens.
enum TokenScenarios {
    static let all: [Scenario] = [
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
            for token in [
                half, ChangeToken(text: "garbage"), ChangeToken(bytes: []), ChangeToken(bytes: flipped), databaseToken,
            ] {
                let refused3 = await refusal { _ = try await database.pull(notes, since: token) }
                #expect(refused3 == TokenCodec.foreign)
            }
            let refused4 = await refusal { _ = try await database.pull(other, since: zoneToken) }
            #expect(refused4 == TokenCodec.foreign)
            let refused5 = await refusal {
                _ = try await database.databaseChanges(DatabaseChangesRequest(since: zoneToken))
            }
            #expect(refused5 == TokenCodec.foreign)
            // The same zone, seen by another user through the shared database.
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
            let shared = try await engine.full(.shared, as: grace)
            let seen = ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)
            let refused6 = await refusal { _ = try await shared.pull(seen, since: zoneToken) }
            #expect(refused6 == TokenCodec.foreign)
            // Another container's store.
            let elsewhere = try await engine.full(.private, as: ada, .production)
            _ = try await elsewhere.modifyZones([.create(notes)])
            let refused7 = await refusal { _ = try await elsewhere.pull(notes, since: zoneToken) }
            #expect(refused7 == TokenCodec.foreign)
        },
        .zone("creating a deleted zone again expires its old tokens") { database in
            try await database.save("r", in: notes)
            let token = try await database.pull(notes).token
            _ = try await database.modifyZones([.delete(notes)])
            let refused8 = await refusal { _ = try await database.pull(notes, since: token) }
            #expect(refused8 == .zoneNotFound)
            _ = try await database.modifyZones([.create(notes)])
            let refused9 = await refusal { _ = try await database.pull(notes, since: token) }
            #expect(refused9 == TokenCodec.expired)
            #expect(try await database.pull(notes).changes.isEmpty)
            #expect(try await database.names(in: notes, of: ["r"]).isEmpty)
        },
        .init("a token explanation has its kind, position and validity") { engine, clock in
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
            let explained = try await database.require(.explainTokens).explain(token)
            #expect(explained.subject == .zone(ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)))
            #expect(explained.validity == .good && explained.changesAfter == 2 && explained.moment == moment)
            #expect(explained.userRecordName == ada.userRecordName && explained.progress == .complete)
            let page = try await database.zoneChanges(
                ZoneChangesRequest(notes, since: token, limit: PageLimit(records: 1)))
            #expect(
                try await database.require(.explainTokens).explain(page.syncToken).progress
                    == .pull(since: explained.position))
            let foreign = try await engine.full(.private, as: grace).require(.explainTokens).explain(token)
            if case .foreign = foreign.validity {} else { #expect(Bool(false), "grace can't use ada's token") }
            let refused10 = await refusal {
                _ = try await database.require(.explainTokens).explain(ChangeToken(text: "nonsense"))
            }
            #expect(refused10 == TokenCodec.foreign)
            let feed = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            #expect(try await database.require(.explainTokens).explain(feed).subject == .database)
        },
    ]
}
