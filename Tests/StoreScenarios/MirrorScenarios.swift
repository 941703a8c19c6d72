internal import RecordStore
internal import Records
internal import Testing

/// A mirror of another container, and the edits made in it.
enum MirrorScenarios {
    static let all: [Scenario] = [
        .zone("a mirror shows names, change tags, users and times of the origin") { mirror in
            let record = version("r", "tag1", ["text": .string("a")], by: grace)
            let outcome = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(record))], marks: ["zone": "token1"]))
            #expect(outcome.saved == 1 && outcome.conflicts.isEmpty)
            let stored = try await fetch("r", mirror)
            #expect(
                stored?.recordChangeTag == "tag1" && stored?.created == record.created
                    && stored?.modified == record.modified)
            #expect(try stored?.fields.decoded() == record.fields.decoded())
            let change = try #require(try await mirror.pull(notes).changes.first)
            #expect(change.record?.recordChangeTag == "tag1")
            #expect(
                try await mirror.require(.listRecords).list(RecordListRequest(notes)).records.map(\.recordChangeTag)
                    == ["tag1"])
            #expect(try await mirror.require(.mirrorRecords).mirrorMarks() == ["zone": "token1"])
            #expect(try await mirror.require(.showSchema).schema().types["Item"]?.fields["text"]?.type == .string)
            let found = try await mirror.all(Query(recordType: "Item", sorts: [.init("recordName")]), in: .zone(notes))
            #expect(found.map(\.recordID.recordName) == ["r"])
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).isEmpty)
        },
        .zone("the journal of a mirror has the change tags of the origin") { mirror in
            for tag in ["tag1", "tag2"] {
                _ = try await mirror.require(.mirrorRecords).mirror(
                    MirrorBatch(notes, changes: [.init(.saved(version("r", tag, ["text": .string(tag)])))]))
            }
            let entries = try await mirror.require(.keepJournal).journal(
                RecordJournalRequest(RecordID(recordName: "r", zoneID: notes))
            )
            .entries
            #expect(entries.map(\.recordChangeTag) == ["tag2", "tag1"])
        },
        .zone("news that come twice change nothing the second time") { mirror in
            let batch = MirrorBatch(
                notes,
                changes: [
                    .init(.saved(version("a", "1"))), .init(.saved(version("b", "2"))),
                    .init(.deleted(RecordID(recordName: "c", zoneID: notes))),
                ],
                marks: ["zone": "token"])
            _ = try await mirror.require(.mirrorRecords).mirror(batch)
            let token = try await mirror.pull(notes).token
            let again = try await mirror.require(.mirrorRecords).mirror(batch)
            #expect(again.saved == 0 && again.deleted == 0 && again.unchanged == 3)
            #expect(try await mirror.pull(notes, since: token).changes.isEmpty)
        },
        .zone("deletions in the origin reach the mirror, and a name can come back as another type") { mirror in
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(version("a", "1"))), .init(.saved(version("b", "2")))]))
            let outcome = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(
                    notes,
                    changes: [
                        .init(.deleted(RecordID(recordName: "a", zoneID: notes))),
                        .init(.saved(version("b", "3", type: "Other"))),
                    ]))
            #expect(outcome.deleted == 1 && outcome.saved == 1)
            let (a, b) = (try await fetch("a", mirror), try await fetch("b", mirror))
            #expect(a == nil && b?.recordType == "Other" && b?.recordChangeTag == "3")
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).isEmpty)
        },
        .zone("a zone with records of its own does not become a mirror") { database in
            try await database.save("own", in: notes)
            let refused = await refusal {
                _ = try await database.require(.mirrorRecords).mirror(
                    MirrorBatch(notes, changes: [.init(.saved(version("r", "1")))], marks: ["m": "1"]))
            }
            #expect(refused?.code == .conflict)
            let missing = try await fetch("r", database)
            #expect(try await database.require(.mirrorRecords).mirrorMarks().isEmpty)
            #expect(missing == nil)
            try await database.save("own", in: notes, ["text": .string("again")])
            #expect(try await database.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).isEmpty)
        },
        .zone("changes in a mirror are edits with the version that they were made on") { mirror in
            let (a, b) = (version("a", "1", ["text": .string("a")]), version("b", "2"))
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(a)), .init(.saved(b))]))
            try await mirror.delete("b", in: notes)
            try await mirror.save("a", as: .update, in: notes, tag: "1", ["text": .string("mine")])
            try await mirror.save("a", in: notes, ["text": .string("mine again")])
            try await mirror.save("new", in: notes, ["text": .string("new")])
            let edits = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
            #expect(
                edits.map(\.recordID.recordName) == ["b", "a", "new"],
                "in the order of their first changes, each record once")
            #expect(
                edits.map { $0.base?.recordChangeTag } == ["2", "1", nil]
                    && edits.map { $0.mine == nil } == [true, false, false])
            #expect(try edits[1].mine?.fields.values(of: ["text"]) == ["text": .string("mine again")])
            #expect(try edits[1].base?.fields.values(of: ["text"]) == ["text": .string("a")])
            #expect(edits[1].base?.modified == a.modified)
            #expect(edits[1].position > edits[1].since && edits.allSatisfy { $0.theirs == nil && $0.sent == nil })
            #expect(try await mirror.require(.mirrorRecords).unsentEdits(since: edits[0].since, limit: 1) == [edits[1]])
            // The origin never heard of it.
            try await mirror.delete("new", in: notes)
            #expect(
                try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).map(\.recordID.recordName)
                    == ["b", "a"])
        },
        .zone("the origin's own version of an edited record is no conflict, a later one is") { mirror in
            let base = version("a", "1", ["text": .string("a")])
            _ = try await mirror.require(.mirrorRecords).mirror(MirrorBatch(notes, changes: [.init(.saved(base))]))
            try await mirror.save("a", in: notes, ["text": .string("mine")])
            let same = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(base))]))
            #expect(same.conflicts.isEmpty && same.unchanged == 1)
            let theirs = version("a", "2", ["text": .string("theirs")])
            let later = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(theirs))]))
            #expect(later.conflicts.map(\.recordName) == ["a"])
            let edit = try #require(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).first)
            #expect(edit.base?.recordChangeTag == "1" && edit.theirs?.record?.recordChangeTag == "2")
            #expect(try edit.mine?.fields.values(of: ["text"]) == ["text": .string("mine")])
            #expect(try await fetch("a", mirror)?.fields.values(of: ["text"]) == ["text": .string("mine")])
        },
        .init("a conflict ends with one of the versions") { engine, _ in
            for settlement in ConflictSettlement.allCases {
                let mirror = try await engine.full(.private, as: settlement == .mine ? ada : grace)
                for result in try await mirror.modifyZones([.create(notes)]) { _ = try result.get() }
                _ = try await mirror.require(.mirrorRecords).mirror(
                    MirrorBatch(notes, changes: [.init(.saved(version("a", "1")))]))
                try await mirror.save("a", in: notes, ["text": .string("mine")])
                let recordID = RecordID(recordName: "a", zoneID: notes)
                #expect(
                    await refusal { try await mirror.require(.mirrorRecords).settle(recordID, keeping: settlement) }?
                        .code == .notFound)
                // Two stores may give the same tag to different versions.
                let tag = try #require(try await fetch("a", mirror)?.recordChangeTag)
                _ = try await mirror.require(.mirrorRecords).mirror(
                    MirrorBatch(notes, changes: [.init(.saved(version("a", tag, ["text": .string("theirs")])))]))
                let versions = ConflictVersions(
                    of: try #require(try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10).first))
                for other in [
                    ConflictVersions(mine: versions.mine, theirs: "0"),
                    ConflictVersions(mine: nil, theirs: versions.theirs),
                ] {
                    #expect(
                        await refusal {
                            try await mirror.require(.mirrorRecords).settle(recordID, keeping: settlement, of: other)
                        }?.code
                            == .conflict)
                }
                try await mirror.require(.mirrorRecords).settle(recordID, keeping: settlement, of: versions)
                let edits = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
                let record = try await fetch("a", mirror)
                switch settlement {
                case .theirs: #expect(edits.isEmpty && record?.recordChangeTag == tag)
                case .mine: #expect(edits.map { $0.base?.recordChangeTag } == [tag] && edits.first?.theirs == nil)
                }
                let text: FieldValue = .string(settlement.rawValue)
                #expect(try record?.fields.values(of: ["text"]) == ["text": text])
            }
        },
        .zone("an accepted edit is done, and one that was changed on its way stays") { mirror in
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(version("a", "1"))), .init(.saved(version("b", "2")))]))
            for name in ["a", "b"] as [Name] { try await mirror.save(name, in: notes, ["text": .string("mine")]) }
            let sent = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
            try await mirror.save("b", in: notes, ["text": .string("later")])
            let tag = try #require(sent[0].mine?.recordChangeTag)
            let answers = zip(sent, [tag, "4"]).map { edit, tag in
                MirrorBatch.Change(
                    .saved(version(edit.recordID.recordName, tag, ["text": .string("mine")], by: grace)),
                    accepted: edit.position)
            }
            let outcome = try await mirror.require(.mirrorRecords).mirror(MirrorBatch(notes, changes: answers))
            #expect(outcome.sent == 1 && outcome.conflicts.isEmpty)
            let arrived = try await fetch("a", mirror)
            #expect(arrived?.recordChangeTag == tag && arrived?.modified == answers[0].version.record?.modified)
            let left = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
            #expect(left.map(\.recordID.recordName) == ["b"] && left[0].base?.recordChangeTag == "4")
            #expect(try left[0].mine?.fields.values(of: ["text"]) == ["text": .string("later")])
        },
        .zone("an edit whose answer was lost is recognized, even if the record was edited again") { mirror in
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(version("a", "1"))), .init(.saved(version("b", "2")))]))
            for name in ["a", "b", "new"] as [Name] {
                try await mirror.save(name, in: notes, ["text": .string("mine")])
            }
            let edits = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
            // It changes after the request was made, and before it is sent.
            try await mirror.save("b", in: notes, ["text": .string("later")])
            _ = try await mirror.require(.mirrorRecords).mirror(MirrorBatch(notes, sending: edits.map(\.version)))
            try await mirror.delete("new", in: notes)
            let found = [("a", "3"), ("b", "4"), ("new", "5")].map {
                MirrorBatch.Change(.saved(version(Name($0.0), $0.1, ["text": .string("mine")])))
            }
            let outcome = try await mirror.require(.mirrorRecords).mirror(MirrorBatch(notes, changes: found))
            #expect(outcome.sent == 1 && outcome.conflicts.isEmpty)
            let left = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
            #expect(
                left.map(\.recordID.recordName) == ["b", "new"] && left.map { $0.base?.recordChangeTag } == ["4", "5"])
            #expect(left.map { $0.mine == nil } == [false, true] && left.allSatisfy { $0.sent == nil })
        },
        .zone("records that the origin no longer has are those whose names were not given") { mirror in
            let changes = ["a", "b", "c", "d"].map {
                MirrorBatch.Change(.saved(version(Name($0), $0, type: $0 == "d" ? "Other" : "Item")))
            }
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: changes, originNames: ["b"]))
            try await mirror.save("c", in: notes, ["text": .string("mine")])
            #expect(
                try await mirror.require(.mirrorRecords).namesMissingInOrigin(
                    in: notes, recordType: nil, after: nil, limit: 10)
                    == ["a", "d"])
            #expect(
                try await mirror.require(.mirrorRecords).namesMissingInOrigin(
                    in: notes, recordType: "Item", after: nil, limit: 10)
                    == ["a"])
            #expect(
                try await mirror.require(.mirrorRecords).namesMissingInOrigin(
                    in: notes, recordType: nil, after: "a", limit: 10)
                    == ["d"])
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, originNames: ["a"], clearsOriginNames: true))
            #expect(
                try await mirror.require(.mirrorRecords).namesMissingInOrigin(
                    in: notes, recordType: nil, after: nil, limit: 10)
                    == ["b", "d"])
        },
        .zone("deletions by a cascade in a mirror are edits too") { mirror in
            let child = version(
                "child", "2", ["owner": .reference(Reference(recordName: "owner", action: .deleteSelf))])
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(child)), .init(.saved(version("owner", "1")))]))
            try await mirror.delete("owner", in: notes)
            let edits = try await mirror.require(.mirrorRecords).unsentEdits(since: nil, limit: 10)
            #expect(
                Set(edits.map(\.recordID.recordName)) == ["owner", "child"]
                    && edits.allSatisfy { $0.mine == nil && $0.base != nil })
        },
        .init("encrypted fields of a public database are taken, and counted once") { engine, _ in
            for scope in [DatabaseScope.public, .private] {
                let mirror = try await engine.full(scope)
                let zoneID = scope == .public ? ZoneID.default : notes
                if scope == .private { _ = try await mirror.modifyZones([.create(notes)]) }
                var secret = version("secret", "1")
                secret.fields = FieldsText([Field(name: "key", value: .string("x"), isEncrypted: true)])
                let batch = MirrorBatch(
                    zoneID,
                    changes: [.init(.saved(secret)), .init(.saved(version("open", "1", ["text": .string("a")])))])
                let (outcome, again) = (
                    try await mirror.require(.mirrorRecords).mirror(batch),
                    try await mirror.require(.mirrorRecords).mirror(batch)
                )
                #expect(outcome.saved == 2 && outcome.encryptedInPublic == (scope == .public ? 1 : 0))
                #expect(again.unchanged == 2 && again.encryptedInPublic == 0)
            }
        },
        .zone("a field of another type than in the schema is named") { mirror in
            _ = try await mirror.require(.mirrorRecords).mirror(
                MirrorBatch(notes, changes: [.init(.saved(version("a", "1", ["text": .string("a")])))]))
            let refused = await refusal {
                _ = try await mirror.require(.mirrorRecords).mirror(
                    MirrorBatch(notes, changes: [.init(.saved(version("b", "2", ["text": .int64(1)])))]))
            }
            #expect(refused?.code == .badRequest && refused?.reason.contains("'text'") == true)
        },
    ]

    private static func fetch(_ name: Name, _ database: any RecordDatabase) async throws -> StoredRecord? {
        try? await database.fetch([RecordID(recordName: name, zoneID: notes)], desiredKeys: nil)[0].get()
    }

    /// A version in the origin.
    private static func version(
        _ name: Name, _ tag: String, type: Name = "Item", _ fields: [Name: FieldValue] = [:], by caller: Caller = ada
    ) -> StoredRecord {
        func signature(_ milliseconds: Int64) -> Signature {
            Signature(
                timestamp: Timestamp(milliseconds: milliseconds), userRecordName: caller.userRecordName,
                deviceID: caller.deviceID)
        }
        return StoredRecord(
            recordID: RecordID(recordName: name, zoneID: notes), recordType: type, recordChangeTag: tag,
            created: signature(1000), modified: signature(2000),
            fields: FieldsText(fields.map { Field(name: $0.key, value: $0.value) }))
    }
}
