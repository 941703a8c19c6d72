internal import RecordStore
internal import Records
internal import Testing

/// The journal of a record, and restoring earlier versions.
enum JournalScenarios {
    static let all: [Scenario] = [
        .init("each save and deletion of a record is remembered, the latest first") { engine, clock in
            let database = try await engine.withZone()
            try await database.save("p", in: notes)
            try await database.save("r", in: notes, ["a": .int64(1), "b": .string("x")], parent: .record("p"))
            clock.advance()
            try await database.save("r", in: notes, ["a": .int64(2)])
            clock.advance()
            try await database.delete("r", in: notes)
            clock.advance()
            let last = try await database.save("r", in: notes, ["c": .double(0.5)])
            let page = try await database.require(.keepJournal).journal(
                RecordJournalRequest(RecordID(recordName: "r", zoneID: notes)))
            let entries = page.entries
            #expect(entries.map(\.kind) == [.created, .deleted, .modified, .created] && page.before == nil)
            #expect(entries.map(\.position) == entries.map(\.position).sorted(by: >))
            #expect(entries.first?.recordChangeTag == last.recordChangeTag && entries.first?.signature == last.modified)
            #expect(
                try entries.map { try $0.fields.values(of: ["a", "b", "c"]) } == [
                    ["c": .double(0.5)], [:], ["a": .int64(2), "b": .string("x")], ["a": .int64(1), "b": .string("x")],
                ])
            #expect(entries.map(\.parent) == [nil, nil, "p", "p"])
            #expect(entries.allSatisfy { $0.recordType == "Item" && $0.signature.userRecordName == ada.userRecordName })
            #expect(Set(entries.map(\.recordChangeTag)).count == 4)
            // Each version was replaced at the time of the next one.
            let moments = entries.map(\.signature.timestamp)
            #expect(entries.map(\.replaced) == [nil] + moments.dropLast().map { $0 })
            #expect(Set(moments).count == 4)
        },
        .zone("a journal is read in pages, and of nothing it is empty") { database in
            for number in 1...7 { try await database.save("r", in: notes, ["a": .int64(Int64(number))]) }
            let recordID = RecordID(recordName: "r", zoneID: notes)
            var read: [RecordJournalEntry] = []
            var before: Int64?
            repeat {
                let page = try await database.require(.keepJournal).journal(
                    RecordJournalRequest(recordID, before: before, limit: PageLimit(records: 3)))
                #expect(page.entries.count == (read.count == 6 ? 1 : 3))
                read += page.entries
                before = page.before
            } while before != nil
            let whole = try await database.require(.keepJournal).journal(RecordJournalRequest(recordID)).entries
            #expect(read == whole && whole.count == 7)
            // A page has at least one entry, however large.
            let small = try await database.require(.keepJournal).journal(
                RecordJournalRequest(recordID, limit: PageLimit(records: 9, bytes: 1)))
            #expect(small.entries == [whole[0]] && small.before == whole[0].position)
            let beginning = try await database.require(.keepJournal).journal(
                RecordJournalRequest(recordID, before: whole[6].position))
            #expect(beginning.entries.isEmpty && beginning.before == nil)
            #expect(
                try await database.require(.keepJournal).journal(
                    RecordJournalRequest(RecordID(recordName: "never", zoneID: notes))
                ).entries
                    .isEmpty)
            #expect(
                try await database.require(.keepJournal).journal(
                    RecordJournalRequest(RecordID(recordName: "r", zoneID: .default))
                ).entries
                    .isEmpty)
            let refused = await refusal {
                _ = try await database.require(.keepJournal).journal(
                    RecordJournalRequest(RecordID(recordName: "r", zoneID: ZoneID(zoneName: "Nowhere"))))
            }
            #expect(refused == .zoneNotFound)
        },
        .zone("records deleted by a cascade, or with their type, can be restored") { database in
            try await database.save("target", in: notes)
            try await database.save(
                "child", in: notes,
                ["a": .int64(1), "link": .reference(Reference(recordName: "target", action: .deleteSelf))])
            try await database.delete("target", in: notes)
            let child = try await entries("child", database)
            #expect(child.map(\.kind) == [.deleted, .created])
            try await database.save("brand", type: "Brand", in: notes, ["title": .string("x")])
            try await database.edit(.removeType("Brand"))
            let brand = try await entries("brand", database)
            #expect(brand.map(\.kind) == [.deleted, .created] && brand.allSatisfy { $0.recordType == "Brand" })
            let record = try await database.require(.keepJournal).revert(
                RecordReversion(
                    RecordID(recordName: "brand", zoneID: notes), to: brand[1].position, recordChangeTag: nil))
            #expect(try record.fields.values(of: ["title"]) == ["title": .string("x")])
            #expect(try await database.require(.showSchema).schema().types["Brand"]?.fields["title"]?.type == .string)
        },
        .zone("a refused batch leaves no trace, and a zone that ended none either") { database in
            try await database.save("r", in: notes, ["a": .int64(1)])
            let both = [
                RecordOperation(.forceUpdate, recordName: "r", fields: ["a": FieldInput(.int64(2))]),
                RecordOperation(.create, recordName: "r2"),
            ]
            #expect(try await database.outcomes(both, in: notes) != [nil, nil])
            #expect(try await entries("r", database).map(\.kind) == [.created])
            try await database.save("r", in: notes, ["a": .int64(3)])
            _ = try await database.modifyZones([.delete(notes)])
            _ = try await database.modifyZones([.create(notes)])
            #expect(try await entries("r", database).isEmpty)
            try await database.save("r", in: notes)
            #expect(try await entries("r", database).map(\.kind) == [.created])
            try await database.require(.purgeZones).purge(notes)
            _ = try await database.modifyZones([.create(notes)])
            #expect(try await entries("r", database).isEmpty)
        },
        .init("an earlier version is restored with a new save, and only onto the expected version") { engine, clock in
            let database = try await engine.withZone()
            let recordID = RecordID(recordName: "r", zoneID: notes)
            try await database.save("p", in: notes)
            let first = try await database.save(
                "r", in: notes, ["a": .int64(1), "list": .list([], of: .string)], parent: .record("p"))
            let second = try await database.save(
                "r", as: .forceReplace, in: notes, ["b": .string("x")], parent: .cleared)
            clock.advance()
            let old = try await entries("r", database)[1]
            let stale = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: old.position, recordChangeTag: first.recordChangeTag))
            }
            #expect(stale?.code == .conflict)
            let present = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: old.position, recordChangeTag: nil))
            }
            #expect(present?.code == .conflict)
            let record = try await database.require(.keepJournal).revert(
                RecordReversion(recordID, to: old.position, recordChangeTag: second.recordChangeTag))
            #expect(record.fields == first.fields && record.parent == "p" && record.created == first.created)
            #expect(
                record.modified
                    == Signature(timestamp: clock.now(), userRecordName: ada.userRecordName, deviceID: ada.deviceID))
            // The parent has its first child again, and a new change tag.
            let changes = try await database.pull(notes).changes
            #expect(changes.map(\.recordID.recordName) == ["r", "p"] && changes.first?.record == record)
            #expect(try await entries("r", database).map(\.kind) == [.modified, .modified, .created])
            let unknown = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: 999, recordChangeTag: record.recordChangeTag))
            }
            #expect(unknown?.code == .notFound)
            let missing = RecordReversion(RecordID(recordName: "never", zoneID: notes), to: 1, recordChangeTag: nil)
            let refused = await refusal { _ = try await database.require(.keepJournal).revert(missing) }
            #expect(refused?.code == .notFound)
        },
        .zone("a deleted record is brought back by its last version, not by its deletion") { database in
            let recordID = RecordID(recordName: "r", zoneID: notes)
            let saved = try await database.save("r", in: notes, ["a": .int64(1)])
            try await database.delete("r", in: notes)
            let gone = try await entries("r", database)
            let deletion = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: gone[0].position, recordChangeTag: nil))
            }
            #expect(deletion?.code == .badRequest)
            let tagged = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: gone[1].position, recordChangeTag: saved.recordChangeTag))
            }
            #expect(tagged?.code == .notFound)
            let back = try await database.require(.keepJournal).revert(
                RecordReversion(recordID, to: gone[1].position, recordChangeTag: nil))
            #expect(back.fields == saved.fields)
            #expect(try await entries("r", database).map(\.kind) == [.created, .deleted, .created])
        },
        .zone("values of a field that was removed stay in the past") { database in
            try await database.save("r", in: notes, ["a": .int64(1), "b": .int64(2)])
            try await database.save("r", in: notes, ["a": .int64(3)])
            try await database.edit(.removeField("b", in: "Item"))
            let known = try await entries("r", database).map { try $0.fields.values(of: ["a", "b"]) }
            #expect(known == [["a": .int64(3)], ["a": .int64(1), "b": .int64(2)]])
        },
        .init("a participant sees the history of a zone; a read-only one can't restore") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["a": .int64(1)])
            let now = try await database.save("r", in: notes, ["a": .int64(2)])
            try await database.share(
                notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly), on: engine)
            let shared = try await engine.full(.shared, as: grace)
            let theirs = RecordID(
                recordName: "r", zoneID: ZoneID(zoneName: notes.zoneName, ownerRecordName: ada.userRecordName))
            let entries = try await shared.require(.keepJournal).journal(RecordJournalRequest(theirs)).entries
            #expect(entries.count == 2)
            let refused = await refusal {
                _ = try await shared.require(.keepJournal).revert(
                    RecordReversion(theirs, to: entries[1].position, recordChangeTag: now.recordChangeTag))
            }
            #expect(refused?.code == .accessDenied)
            let stranger = try await engine.full(.private, as: mary)
            let unseen = await refusal {
                _ = try await stranger.require(.keepJournal).journal(
                    RecordJournalRequest(RecordID(recordName: "r", zoneID: notes)))
            }
            #expect(unseen == .zoneNotFound)
        },
        .init("earlier versions are kept for thirty days after they were replaced") { engine, clock in
            let database = try await engine.withZone()
            let recordID = RecordID(recordName: "r", zoneID: notes)
            let day: Int64 = 86_400_000
            try await database.save("r", in: notes, ["a": .int64(1)])
            clock.advance(40 * day)
            try await database.save("r", in: notes, ["a": .int64(2)])
            clock.advance(20 * day)
            let last = try await database.save("r", in: notes, ["a": .int64(3)])
            let all = try await database.require(.keepJournal).journal(RecordJournalRequest(recordID))
            #expect(all.entries.count == 3 && all.limits == .standard)
            clock.advance(11 * day)
            let entries = try await database.require(.keepJournal).journal(RecordJournalRequest(recordID)).entries
            #expect(entries == Array(all.entries.prefix(2)))
            let refused = await refusal {
                _ = try await database.require(.keepJournal).revert(
                    RecordReversion(recordID, to: all.entries[2].position, recordChangeTag: last.recordChangeTag))
            }
            #expect(refused?.code == .notFound)
            clock.advance(365 * day)
            #expect(
                try await database.require(.keepJournal).journal(RecordJournalRequest(recordID)).entries == [
                    all.entries[0]
                ])
        },
        .zone("a hundred earlier versions of a record are kept") { database in
            for number in 0..<140 { try await database.save("r", in: notes, ["a": .int64(Int64(number))]) }
            let page = try await database.require(.keepJournal).journal(
                RecordJournalRequest(RecordID(recordName: "r", zoneID: notes), limit: PageLimit(records: 500)))
            #expect(
                try page.entries.map { try $0.fields.values(of: ["a"])["a"] }
                    == (39..<140).reversed().map { .int64(Int64($0)) })
            #expect(page.before == nil)
        },
    ]

    private static func entries(_ name: Name, _ database: any RecordDatabase) async throws -> [RecordJournalEntry] {
        try await database.require(.keepJournal).journal(
            RecordJournalRequest(RecordID(recordName: name, zoneID: notes))
        ).entries
    }
}
