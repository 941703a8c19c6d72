internal import RecordStore
internal import Records
internal import Testing

/// Storage totals by zone and type. For engines that keep them.
public enum StorageScenarios {
    public static let all: [AssetScenarios.Story] = [
        .init("a database's storage is the size of its records, by zone and type") { engine, clock in
            let database = try await engine.withZone()
            for (name, type) in [("a", "Item"), ("b", "Item"), ("o", "Other")] as [(Name, Name)] {
                try await database.save(
                    name, type: type, in: notes, ["text": .string(String(repeating: name.string, count: 40))])
            }
            try await database.save("c", ["text": .string("short")])
            // Longer and shorter than before.
            try await database.save("a", in: notes, ["text": .string(String(repeating: "long", count: 400))])
            try await database.save("b", in: notes, ["text": .string("short")])
            try await database.save("gone", in: notes, ["text": .string("gone")])
            try await database.delete("gone", in: notes)
            let asset = try await engine.upload(1, for: "file", at: clock.now())
            try await database.save("file", in: notes, ["file": .asset(asset)])
            let (a, b, file) = (
                try await bytes("a", database), try await bytes("b", database), try await bytes("file", database)
            )
            let (o, c) = (try await bytes("o", database), try await bytes("c", database, in: .default))
            let storage = try await database.require(.measureStorage).storage(limit: 10)
            #expect(storage.zones.map(\.zoneID.zoneName) == [notes.zoneName, ZoneID.defaultZoneName])
            let items = RecordTotals(records: 3, bytes: a + b + file, assetBytes: 10)
            #expect(storage.zones.first?.types == ["Item": items, "Other": RecordTotals(records: 1, bytes: o)])
            #expect(storage.zones.last?.types == ["Item": RecordTotals(records: 1, bytes: c)])
            let first = try await database.require(.measureStorage).storage(limit: 1)
            #expect(first.zones == Array(storage.zones.prefix(1)) && first.others == 1)
            #expect(first.othersTotal == RecordTotals(records: 1, bytes: c))
            // A save that removes the file from the record.
            try await database.save("file", as: .forceReplace, in: notes)
            let left = try await database.require(.measureStorage).storage(limit: 1).zones.first?.types["Item"]
            #expect(left == RecordTotals(records: 3, bytes: try await a + b + bytes("file", database)))
        },
        .init("an engine's storage has the totals of all users, and only the largest types and zones") {
            engine, clock in
            let database = try await engine.withZone()
            #expect(try await engine.require(.measureStores).storage(limit: 10).isEmpty)
            try await database.save("a", in: notes, ["text": .string(String(repeating: "a", count: 400))])
            let others = try await engine.full(.private, as: grace)
            for result in try await others.modifyZones([.create(notes)]) { _ = try result.get() }
            try await others.save("b", in: notes, ["text": .string("b")])
            try await others.save("o", type: "Other")
            let world = try await engine.full(.public)
            try await world.save("w", type: "World", ["text": .string("w")])
            let (a, b, o) = (
                try await bytes("a", database), try await bytes("b", others), try await bytes("o", others, in: .default)
            )
            let stores = try await engine.require(.measureStores).storage(limit: 10)
            #expect(stores.map(\.scope) == [.private, .public] && stores.allSatisfy { $0.environment == .development })
            let (items, other) = (RecordTotals(records: 2, bytes: a + b), RecordTotals(records: 1, bytes: o))
            #expect(stores.first?.total == items + other && stores.first?.types == ["Item": items, "Other": other])
            #expect(stores.first?.zones == [notes.zoneName: items, ZoneID.defaultZoneName: other])
            #expect(stores.last?.types.keys.sorted() == ["World"])
            let largest = try await engine.require(.measureStores).storage(limit: 1).first
            #expect(
                largest?.total == items + other && largest?.types == ["Item": items]
                    && largest?.zones == [notes.zoneName: items])
        },
        .init("removed values, and deleted types and zones, are no longer counted") { engine, clock in
            let database = try await engine.withZone()
            let asset = try await engine.upload(1, for: "a", at: clock.now())
            try await database.save(
                "a", in: notes, ["file": .asset(asset), "text": .string("text"), "number": .int64(1)])
            try await database.save("o", type: "Other", in: notes, ["text": .string("text")])
            try await database.save("d", ["text": .string("text")])
            try await database.edit(
                .removeField("file", in: "Item"), .removeField("text", in: "Item"), .removeType("Other"))
            let (a, d) = (try await bytes("a", database), try await bytes("d", database, in: .default))
            let zones = try await database.require(.measureStorage).storage(limit: 10).zones
            #expect(
                zones.map(\.types) == [
                    ["Item": RecordTotals(records: 1, bytes: a)], ["Item": RecordTotals(records: 1, bytes: d)],
                ])
            for result in try await database.modifyZones([.delete(notes)]) { _ = try result.get() }
            #expect(
                try await database.require(.measureStorage).storage(limit: 10).zones.map(\.zoneID.zoneName) == [
                    ZoneID.defaultZoneName
                ])
        },
    ]

    /// The size of a record's stored fields in bytes.
    private static func bytes(_ name: Name, _ database: any RecordDatabase, in zoneID: ZoneID = notes) async throws
        -> Int64
    {
        Int64(
            try await database.fetch([RecordID(recordName: name, zoneID: zoneID)], desiredKeys: nil)[0].get().fields
                .bytes.count)
    }
}
