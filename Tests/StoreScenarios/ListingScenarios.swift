internal import RecordStore
internal import Records
internal import Testing

/// Capabilities besides lookups, queries and feeds.
enum ListingScenarios {
    static let all: [Scenario] = [
        .zone("a zone's records are listed by name, page by page, types chosen") { database in
            for name in ["b", "a", "é", "e\u{301}", "c"] as [Name] {
                try await database.save(name, in: notes, ["a": .int64(1)])
            }
            try await database.save("other", type: "Other", in: notes)
            try await database.save("gone", in: notes)
            try await database.delete("gone", in: notes)
            for pageSize in [1, 2, 200] {
                let names = try await database.listing(notes, pageSize: pageSize).map(\.recordID.recordName)
                #expect(names == ["a", "b", "c", "e\u{301}", "other", "é"])
            }
            let items = try await database.listing(notes, types: ["Item"], pageSize: 2)
            #expect(items.map(\.recordID.recordName) == ["a", "b", "c", "e\u{301}", "é"])
            #expect(try items.allSatisfy { try $0.fields.values(of: ["a"]) == ["a": .int64(1)] })
            let refused1 = await refusal {
                _ = try await database.require(.listRecords).list(RecordListRequest(ZoneID(zoneName: "Nowhere")))
            }
            #expect(refused1 == .zoneNotFound)
        },
        .init("the participants of a zone are known") { engine, _ in
            let database = try await engine.withZone()
            #expect(try await database.participants(of: notes).isEmpty)
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: mary.userRecordName, permission: .readWrite), on: engine)
            let participants = try await database.participants(of: notes)
            #expect(
                Set(participants) == [
                    ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly),
                    ZoneParticipant(userRecordName: mary.userRecordName, permission: .readWrite),
                ])
            let refused2 = await refusal { _ = try await database.participants(of: ZoneID(zoneName: "Nowhere")) }
            #expect(refused2 == .zoneNotFound)
        },
        .zone("a zone's counts are those of its records and deletions") { database in
            for name in ["a", "b", "c"] as [Name] { try await database.save(name, in: notes) }
            try await database.save("o", type: "Other", in: notes)
            try await database.delete("a", in: notes)
            #expect(
                try await database.require(.countRecords).counts(in: notes)
                    == ZoneCounts(records: ["Item": 2, "Other": 1], deletions: 1))
        },
        .zone("records beyond the size of a response fail individually, except the first") { database in
            let names: [Name] = ["a", "b", "c"]
            for name in names {
                try await database.save(
                    name, in: notes, ["text": .string(String(repeating: "x", count: 1000)), "short": .int64(1)])
            }
            let recordIDs = (["gone"] + names).map { RecordID(recordName: $0, zoneID: notes) }
            func outcome(_ bytes: Int, _ keys: Set<Name>? = nil) async throws -> [RecordError?] {
                try await database.fetch(recordIDs, desiredKeys: keys, bytesLimit: bytes).map { result in
                    if case .failure(let error) = result { error } else { nil }
                }
            }
            let (none, one, two) = (try await outcome(0), try await outcome(2000), try await outcome(2500))
            #expect(none == [.recordNotFound, nil, .tooManyBytes, .tooManyBytes] && one == none)
            #expect(two == [.recordNotFound, nil, nil, .tooManyBytes])
            let keyed = try await outcome(2000, ["short"])
            #expect(keyed == [.recordNotFound, nil, nil, nil])
        },
        .database("a schema is read as it was edited, grants and system indexes included") { database in
            let type = RecordType(
                name: "Brand",
                fields: [
                    "secret": FieldDefinition(type: FieldType(.string, isEncrypted: true)),
                    "list": FieldDefinition(type: .list(.double), indexes: .queryable),
                    "file": FieldDefinition(type: .asset),
                    "title": FieldDefinition(type: .string, indexes: [.queryable, .sortable, .searchable]),
                ], systemIndexes: [.modTime: .sortable, .recordID: [.queryable, .sortable]],
                grants: [
                    Grant(role: "_world", permissions: [.read, .create]), Grant(role: "editors", permissions: [.write]),
                ])
            let edited = try await database.edit(.addRole("editors"), .addType(type))
            #expect(
                edited.types["Brand"]?.fields == type.fields
                    && edited.types["Brand"]?.systemIndexes == type.systemIndexes)
            #expect(Set(edited.types["Brand"]?.grants ?? []) == Set(type.grants))
            #expect(try await database.require(.showSchema).schema() == edited)
            let fewer = try await database.edit(
                .setIndexes([], of: .custom("title"), in: "Brand"),
                .setIndexes(.queryable, of: .system(.modTime), in: "Brand"))
            #expect(
                fewer.types["Brand"]?.fields["title"]?.indexes == []
                    && fewer.types["Brand"]?.systemIndexes[.modTime] == .queryable)
        },
        .init("a change has its kind and position, and a deletion its user and date") { engine, clock in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["a": .int64(1)])
            let token = try await database.pull(notes).token
            clock.advance()
            try await database.delete("r", in: notes)
            try await database.save("s", in: notes, ["text": .string("\u{0}\u{1F}\"\\é e\u{301} 💬")], parent: .cleared)
            let changes = try await database.pull(notes, since: token).changes
            #expect(changes.map(\.kind) == [.deleted, .created])
            #expect(try #require(changes[0].position) < #require(changes[1].position))
            #expect(changes[0].record?.recordType == "Item" && changes[0].record?.recordChangeTag.isEmpty == false)
            #expect(
                changes[0].record?.modified
                    == Signature(timestamp: clock.now(), userRecordName: ada.userRecordName, deviceID: "iPhone"))
            #expect(
                try changes[1].record?.fields.values(of: ["text"]) == ["text": .string("\u{0}\u{1F}\"\\é e\u{301} 💬")])
        },
        .zone("a page of changes ends where its bytes do") { database in
            for number in 0..<6 {
                try await database.save(
                    Name("r\(number)"), in: notes, ["text": .string(String(repeating: "x", count: 1000))])
            }
            let page = try await database.zoneChanges(
                ZoneChangesRequest(notes, limit: PageLimit(records: 6, bytes: 2500)))
            #expect((1...3).contains(page.changes.count) && page.moreComing)
        },
        .zone("expired tokens are refused, and stay expired; new ones are good") { database in
            try await database.save("r", in: notes)
            let zoneToken = try await database.pull(notes).token
            let databaseToken = try await database.databaseChanges(DatabaseChangesRequest()).syncToken
            try await database.require(.expireTokens).expireTokens()
            let refused3 = await refusal { _ = try await database.pull(notes, since: zoneToken) }
            #expect(refused3 == TokenCodec.expired)
            let refused4 = await refusal {
                _ = try await database.databaseChanges(DatabaseChangesRequest(since: databaseToken))
            }
            #expect(refused4 == TokenCodec.expired)
            let again = try await database.pull(notes)
            #expect(again.changes.map(\.recordID.recordName) == ["r"])
            #expect(try await database.pull(notes, since: again.token).changes.isEmpty)
        },
        .init("a commit is signalled to its followers") { engine, _ in
            let database = try await engine.withZone()
            let token = try await database.pull(notes).token
            let commits = try database.require(.signalCommits).commits()
            let follower = Task {
                for await _ in commits {
                    let changes = try await database.pull(notes, since: token).changes
                    if !changes.isEmpty { return changes.map(\.recordID.recordName) }
                }
                return []
            }
            try await engine.full(.private).save("news", in: notes)
            #expect(try await follower.value == ["news"])
        },
        .zone("a record's position is that of its latest change in the feed") { database in
            guard database.can(.positionRecords) else { return }
            for name in ["a", "b", "a"] as [Name] { try await database.save(name, in: notes) }
            let changes = try await database.pull(notes).changes
            for change in changes {
                #expect(
                    try await database.require(.positionRecords).position(of: change.recordID)?.latest
                        == change.position)
            }
            let first = try await database.require(.positionRecords).position(
                of: RecordID(recordName: "a", zoneID: notes))
            let second = try await database.require(.positionRecords).position(
                of: RecordID(recordName: "b", zoneID: notes))
            #expect(
                try #require(first).born < #require(second).born && #require(second).latest < #require(first).latest)
            #expect(second.map { $0.born == $0.latest } == true)
            try await database.delete("a", in: notes)
            #expect(
                try await database.require(.positionRecords).position(of: RecordID(recordName: "a", zoneID: notes))
                    == nil)
            #expect(
                try await database.require(.positionRecords).position(of: RecordID(recordName: "never", zoneID: notes))
                    == nil)
            try await database.save("a", in: notes)
            #expect(
                try await database.require(.positionRecords).position(of: RecordID(recordName: "a", zoneID: notes)).map
                { $0.born == $0.latest }
                    == true)
            let refused = await refusal {
                _ = try await database.require(.positionRecords).position(
                    of: RecordID(recordName: "a", zoneID: ZoneID(zoneName: "Nowhere")))
            }
            #expect(refused == .zoneNotFound)
        },
        .init("a database summary has the counts and the save dates of each zone") { engine, clock in
            let database = try await engine.withZone()
            guard database.can(.summarizeZones) else { return }
            let unused = try await database.require(.summarizeZones).summaries(limit: 10, changes: 20)
            #expect(
                unused.left == 0
                    && unused.zones.filter { !$0.zoneID.isDefault }.map(\.zoneID.zoneName) == [notes.zoneName])
            #expect(
                unused.zones.allSatisfy {
                    $0.counts.total == 0 && $0.firstSave == nil && $0.isFirstCertain && $0.lastSave == nil
                })
            let start = clock.now()
            for name in ["a", "b", "c", "d"] as [Name] {
                try await database.save(name, in: notes)
                clock.advance()
            }
            try await database.save("o", type: "Other")
            let there = try await database.require(.summarizeZones).summaries(limit: 10, changes: 20)
            #expect(there.zones.map(\.zoneID.zoneName) == [ZoneID.defaultZoneName, notes.zoneName])
            #expect(there.zones[0].counts.records == ["Other": 1] && there.zones[0].lastSave == clock.now())
            #expect(there.zones[1].counts == ZoneCounts(records: ["Item": 4], deletions: 0))
            #expect(there.zones[1].firstSave == start && there.zones[1].isFirstCertain)
            #expect(there.zones[1].lastSave == Timestamp(milliseconds: start.milliseconds + 3000))

            // The oldest record is saved again, and the latest is deleted. A few changes do not suffice for the first
            // save time; all changes do.
            try await database.save("a", in: notes)
            try await database.delete("d", in: notes)
            let few = try await database.require(.summarizeZones).summaries(limit: 10, changes: 5).zones[1]
            #expect(few.counts == ZoneCounts(records: ["Item": 3], deletions: 1) && !few.isFirstCertain)
            #expect(few.firstSave == Timestamp(milliseconds: start.milliseconds + 1000) && few.lastSave == clock.now())
            let all = try await database.require(.summarizeZones).summaries(limit: 10, changes: 8).zones[1]
            #expect(all.firstSave == start && all.isFirstCertain)
            #expect(try await database.require(.summarizeZones).earliestCreation(in: notes) == start)
            let atEnd = try await database.require(.summarizeZones).summaries(limit: 10, changes: 0).zones[1]
            #expect(atEnd.lastSave == nil)

            let one = try await database.require(.summarizeZones).summaries(limit: 1, changes: 1)
            #expect(one.zones.map(\.zoneID.zoneName) == [ZoneID.defaultZoneName] && one.left == 1)
            for result in try await database.modifyZones(
                ["Zoo", "A", "É", "E\u{301}"].map { .create(ZoneID(zoneName: $0)) })
            { _ = try result.get() }
            let most = try await database.require(.summarizeZones).summaries(limit: 4, changes: 4)
            #expect(
                most.zones.map(\.zoneID.zoneName) == [ZoneID.defaultZoneName, "A", "E\u{301}", notes.zoneName]
                    && most.left == 2)
            #expect(try await database.require(.summarizeZones).earliestCreation(in: .default) == clock.now())
            if engine.can(.knowUsers) {
                func knows(_ caller: Caller, _ environment: Records.Environment = .development) async throws -> Bool {
                    try await engine.require(.knowUsers).knows(
                        caller.userRecordName, in: database.address.container, environment)
                }
                let before = [try await knows(ada), try await knows(grace), try await knows(ada, .production)]
                _ = try await engine.full(.private, as: grace).require(.tellCurrentToken).currentToken()
                let after = [try await knows(grace), try await knows(grace, .production)]
                #expect(before == [true, false, false] && after == [true, false])
                let environments = try await engine.require(.listEnvironments).environments(
                    of: database.address.container)
                #expect(environments == [.development])
            }
            let others = try await engine.full(.private, as: grace).require(.summarizeZones).summaries(
                limit: 10, changes: 1)
            #expect(others.zones.allSatisfy { $0.counts.total == 0 })
            let refused = await refusal {
                _ = try await database.require(.summarizeZones).earliestCreation(in: ZoneID(zoneName: "Nowhere"))
            }
            #expect(refused == .zoneNotFound)
        },
    ]
}

extension RecordDatabase {
    fileprivate func listing(_ zoneID: ZoneID, types: Set<Name>? = nil, pageSize: Int) async throws -> [StoredRecord] {
        var records: [StoredRecord] = []
        var last: Name?
        repeat {
            let page = try await require(.listRecords).list(
                RecordListRequest(zoneID, after: last, recordTypes: types, limit: PageLimit(records: pageSize)))
            records += page.records
            last = page.last
        } while last != nil
        return records
    }
}
