internal import RecordStore
internal import Records
internal import Testing

/// Saving, changing and deleting records, one by one and in batches.
enum SaveScenarios {
    static let all: [Scenario] = [
        .database("create fails when the name exists") { database in
            try await database.save("r", as: .create)
            let error = await refusal { try await database.save("r", as: .create) }
            #expect(error == RecordError(.conflict, "record to insert already exists"))
        },
        .database("create without a name makes one") { database in
            let saved = try await database.modify(ModifyRequest([RecordOperation(.create, recordType: "Item")]))
            guard case .saved(let record) = try saved[0].get() else { return #expect(Bool(false)) }
            #expect(record.recordID.recordName.utf8.count == 36)
        },
        .database("update merges, replace clears, and both want the current tag") { database in
            let first = try await database.save("r", ["a": .int64(1), "b": .int64(2)])
            let second = try await database.save("r", as: .update, tag: first.recordChangeTag, ["b": .int64(3)])
            #expect(try second.fields.values(of: ["a", "b"]) == ["a": .int64(1), "b": .int64(3)])
            let stale = await refusal {
                try await database.save("r", as: .update, tag: first.recordChangeTag, ["a": .int64(9)])
            }
            #expect(stale == RecordError(.conflict, "client oplock error updating record"))
            let third = try await database.save("r", as: .replace, tag: second.recordChangeTag, ["c": .int64(4)])
            #expect(try third.fields.values(of: ["a", "b", "c"]) == ["c": .int64(4)])
            #expect(third.created == first.created)
            let gone = await refusal { try await database.save("x", as: .update, tag: "1") }
            #expect(gone == RecordError(.notFound, "recordChangeTag specified, but record not found"))
            let untagged = await refusal { try await database.save("r", as: .update, ["a": .int64(9)]) }
            #expect(untagged?.code == .badRequest)
        },
        .database("the force operations create, merge or replace whatever the tag") { database in
            try await database.save("r", as: .forceUpdate, ["a": .int64(1)])
            let merged = try await database.save("r", as: .forceUpdate, tag: "zz", ["b": .int64(2)])
            #expect(try merged.fields.decoded().map(\.name) == ["a", "b"])
            let replaced = try await database.save("r", as: .forceReplace, ["c": .int64(3)])
            #expect(try replaced.fields.decoded().map(\.name) == ["c"])
            try await database.delete("r")
            try await database.delete("r")
            #expect(try await database.names(of: ["r"]).isEmpty)
        },
        .database("null clears a field") { database in
            try await database.save("r", ["a": .int64(1), "b": .int64(2)])
            let operation = RecordOperation(.forceUpdate, recordName: "r", recordType: "Item", fields: ["a": .cleared])
            _ = try await database.modify(ModifyRequest([operation]))
            let found = try await database.fetch([RecordID(recordName: "r")], desiredKeys: nil)
            #expect(try found[0].get().fields.decoded().map(\.name) == ["b"])
        },
        .zone("an atomic batch in a custom zone is all or nothing") { database in
            try await database.save("taken", in: notes)
            let batch = [
                RecordOperation(.create, recordName: "a", recordType: "Item"),
                RecordOperation(.create, recordName: "taken", recordType: "Item"),
                RecordOperation(.forceDelete, recordName: "c"),
            ]
            let before = try await database.pull(notes).token
            #expect(try await database.outcomes(batch, in: notes) == [.atomicError, .conflict, .atomicError])
            #expect(try await database.names(in: notes, of: ["a", "taken"]) == ["taken"])
            #expect(try await database.pull(notes).token == before)
            #expect(try await database.outcomes(batch, in: notes, atomic: false) == [nil, .conflict, nil])
            #expect(try await database.names(in: notes, of: ["a", "taken"]) == ["a", "taken"])
        },
        .database("the default zone applies what it can") { database in
            try await database.save("taken")
            let batch = [
                RecordOperation(.create, recordName: "taken", recordType: "Item"),
                RecordOperation(.create, recordName: "a", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch) == [.conflict, nil])
        },
        .init("requests beyond the limits are refused whole") { engine, _ in
            let database = try await engine.full(.private)
            let many = (0...200).map { RecordOperation(.create, recordName: Name("r\($0)"), recordType: "Item") }
            let refused1 = await refusal { _ = try await database.outcomes(many) }
            #expect(refused1?.code == .badRequest)
            let twice = [
                RecordOperation(.forceUpdate, recordName: "r", recordType: "Item"),
                RecordOperation(.forceDelete, recordName: "r"),
            ]
            let refused2 = await refusal { _ = try await database.outcomes(twice) }
            #expect(refused2?.code == .badRequest)
            let large = RecordOperation(
                .create, recordName: "large", recordType: "Item",
                fields: ["text": FieldInput(.string(String(repeating: "x", count: 1 << 20)))])
            #expect(try await database.outcomes([large]) == [.badRequest])
            #expect(try await database.require(.countRecords).counts(in: .default).total == 0)
        },
        .init("names that can't be are refused") { engine, _ in
            let database = try await engine.full(.private)
            let long = Name(String(repeating: "n", count: 256))
            for name in ["", "a\u{0}b", "a\nb", long] as [Name] {
                let refused3 = await refusal { try await database.save(name) }
                #expect(refused3?.code == .badRequest)
            }
            for type in ["", "1x", "a b", "_x"] as [Name] {
                let refused4 = await refusal { try await database.save("r", type: type) }
                #expect(refused4?.code == .badRequest)
            }
            for field in ["", "___x", "a-b", "9"] as [Name] {
                let refused5 = await refusal { try await database.save("r", [field: .int64(1)]) }
                #expect(refused5?.code == .badRequest)
            }
        },
        .database("a record keeps its type") { database in
            try await database.save("r", type: "Item")
            let refused6 = await refusal { try await database.save("r", type: "Other") }
            #expect(refused6?.code == .badRequest)
        },
        .zone("a name is not cut at a NUL") { database in
            try await database.save("a", in: notes)
            let link: [Name: FieldValue] = ["link": .reference(Reference(recordName: "a\u{0}b", action: .deleteSelf))]
            let reference = await refusal { try await database.save("child", in: notes, link) }
            #expect(reference?.code == .badRequest)
            let parent = await refusal { try await database.save("child", in: notes, parent: .record("a\u{0}")) }
            #expect(parent?.code == .badRequest)
            #expect(try await database.names(in: notes, of: ["a\u{0}x"]).isEmpty)
            let zone = try await database.fetchZones([ZoneID(zoneName: "Notes\u{0}x")])[0]
            #expect(zone == .failure(.zoneNotFound))
        },
        .database("a default zone of somebody else is not this one") { database in
            try await database.save("r")
            let foreign = ZoneID(zoneName: "_defaultZone", ownerRecordName: "_other")
            let saved = await refusal { try await database.save("r", in: foreign) }
            #expect(saved == .zoneNotFound)
            #expect(try await database.fetchZones([foreign])[0] == .failure(.zoneNotFound))
            #expect(
                try await database.fetch([RecordID(recordName: "r", zoneID: foreign)], desiredKeys: nil)[0]
                    == .failure(.zoneNotFound))
        },
        .init("an operation that fails takes no other along where the batch is not atomic") { engine, _ in
            let database = try await engine.withZone()
            let links = FieldValue.list(
                [
                    .reference(Reference(recordName: "missing", action: .validate)),
                    .reference(Reference(recordName: "t", zoneID: ZoneID(zoneName: "Elsewhere"), action: .deleteSelf)),
                ], of: .reference)
            let batch = [
                RecordOperation(.create, recordName: "bad", recordType: "Item", fields: ["links": FieldInput(links)]),
                RecordOperation(.create, recordName: "good", recordType: "Item"),
            ]
            #expect(try await database.outcomes(batch, in: notes, atomic: false) == [.badRequest, nil])
        },
        .database("composed and decomposed names are different records") { database in
            try await database.save("\u{e9}", ["a": .int64(1)])
            try await database.save("e\u{301}", ["a": .int64(2)])
            let found = try await database.fetch(
                [RecordID(recordName: "\u{e9}"), RecordID(recordName: "e\u{301}")], desiredKeys: nil)
            #expect(try found.map { try $0.get().fields.values(of: ["a"])["a"] } == [.int64(1), .int64(2)])
        },
        .init("users have databases of their own") { engine, _ in
            try await engine.full(.private, as: ada).save("r", ["whose": .string("ada")])
            #expect(try await engine.full(.private, as: grace).names(of: ["r"]).isEmpty)
            try await engine.full(.public, as: ada).save("p")
            let seen = try await engine.full(.public, as: grace).fetch([RecordID(recordName: "p")], desiredKeys: nil)[0]
                .get()
            #expect(seen.created.userRecordName == ada.userRecordName && seen.created.deviceID == "iPhone")
        },
    ]
}
