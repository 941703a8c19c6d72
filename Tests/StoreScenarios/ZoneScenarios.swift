internal import RecordStore
internal import Records
internal import Testing

/// Creating, deleting, purging and sharing zones.
enum ZoneScenarios {
    static let all: [Scenario] = [
        .zone("zones come and go") { database in
            let listed = try await database.zones()
            #expect(listed.map(\.zoneID.zoneName) == ["_defaultZone", "Notes"])
            #expect(listed.map(\.atomic) == [false, true])
            #expect(listed[1].zoneID.ownerRecordName == ada.userRecordName)
            // Creating it again changes nothing.
            #expect(try await database.modifyZones([.create(notes)])[0].get() == listed[1])
            let results = try await database.modifyZones([
                .delete(notes), .delete(notes), .create(ZoneID(zoneName: "")), .create(ZoneID(zoneName: "_x")),
                .delete(.default),
                .create(ZoneID(zoneName: "Z", ownerRecordName: "_someone")),
            ])
            let codes = results.map { result in
                if case .failure(let error) = result { error.code } else { nil as ServerErrorCode? }
            }
            #expect(codes == [nil, .zoneNotFound, .badRequest, .badRequest, .badRequest, .accessDenied])
            let refused11 = await refusal { try await database.save("r", in: notes) }
            #expect(refused11 == .zoneNotFound)
            #expect(
                try await database.fetch([RecordID(recordName: "r", zoneID: notes)], desiredKeys: nil)[0]
                    == .failure(.zoneNotFound))
        },
        .init("the public database has the default zone only") { engine, _ in
            let database = try await engine.full(.public)
            #expect(
                try await database.zones().map(\.zoneID) == [
                    ZoneID(zoneName: "_defaultZone", ownerRecordName: "_defaultOwner")
                ])
            let result = try await database.modifyZones([.create(notes)])[0]
            #expect(throws: RecordError.self) { try result.get() }
        },
        .zone("a purge is reported as a purge") { database in
            try await database.save("r", in: notes)
            let token = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            try await database.require(.purgeZones).purge(notes)
            #expect(
                try await database.databaseChanges(DatabaseChangesRequest(since: token)).changes.map(\.kind) == [
                    .purged
                ])
            let refused12 = await refusal { try await database.require(.purgeZones).purge(notes) }
            #expect(refused12 == .zoneNotFound)
        },
        .init("a shared zone appears under its owner, and disappears when it is unshared") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["a": .int64(1)])
            let shared = try await engine.full(.shared, as: grace)
            let empty = try await shared.databaseChanges(DatabaseChangesRequest())
            #expect(empty.changes.isEmpty)
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
            let seen = ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName)
            #expect(try await shared.zones().map(\.zoneID) == [seen])
            let appeared = try await shared.databaseChanges(DatabaseChangesRequest(since: empty.syncToken))
            #expect(appeared.changes.map(\.kind) == [.changed])
            #expect(try await shared.pull(seen).changes.map(\.recordID.recordName) == ["r", Share.zoneWideName])
            let refused13 = await refusal { try await shared.save("mine", in: seen) }
            #expect(refused13 == RecordError(.accessDenied, "WRITE operation not permitted"))
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readWrite), on: engine)
            let saved = try await shared.save("mine", in: seen)
            #expect(saved.modified.userRecordName == grace.userRecordName && saved.recordID.zoneID == seen)
            #expect(try await database.names(in: notes, of: ["mine"]) == ["mine"])
            let before = try await shared.databaseChanges(DatabaseChangesRequest())
            try await database.save("r", in: notes)
            #expect(
                try await shared.databaseChanges(DatabaseChangesRequest(since: before.syncToken)).changes.count == 1)
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
            let other = try await engine.full(.private, as: mary)
            _ = try await other.modifyZones([.create(notes)])
            try await database.save("r", in: notes, ["whose": .string("ada")])
            try await other.save("r", in: notes, ["whose": .string("mary")])
            for owner in [database, other] {
                try await owner.share(
                    notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly),
                    on: engine)
            }
            let shared = try await engine.full(.shared, as: grace)
            let found = try await shared.fetch(
                [ada, mary].map {
                    RecordID(recordName: "r", zoneID: ZoneID(zoneName: "Notes", ownerRecordName: $0.userRecordName))
                }, desiredKeys: nil)
            #expect(
                try found.map { try $0.get().fields.values(of: ["whose"])["whose"] } == [
                    .string("ada"), .string("mary"),
                ])
            let refused16 = await refusal { _ = try await shared.pull(notes) }
            #expect(refused16?.code == .zoneNotFound)
        },
    ]
}
