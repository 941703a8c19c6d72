internal import JSON
internal import RecordStore
internal import Records
internal import Testing

/// The subscriptions that changes fire.
enum FiringScenarios {
    private static let everything = Set(Subscription.Event.allCases)

    private static func query(
        _ id: Name, _ filters: [Query.Filter] = [], firesOn: Set<Subscription.Event> = everything, in zoneID: ZoneID? = nil
    ) -> SubscriptionOperation {
        let subject = Subscription.RecordSubject(Query(recordType: "Item", filters: filters), firesOn: firesOn, zoneID: zoneID)
        return .save(Subscription(id, to: .query(subject)))
    }

    private static func price(_ comparator: Records.Comparator, _ price: Int64) -> Query.Filter {
        Query.Filter("price", comparator, FieldInput(.int64(price)))
    }

    private static func subscribe(_ operations: [SubscriptionOperation], in database: any RecordDatabase) async throws {
        for result in try await database.modifySubscriptions(operations) { _ = try result.get() }
    }

    /// Makes a change.
    /// - Returns: for each change, `create r: a b` or `zone: a`.
    private static func fired(in database: any RecordDatabase, by change: () async throws -> Void) async throws -> [String] {
        let before = try await database.firings(after: nil)
        #expect(before.firings.isEmpty)
        try await change()
        let page = try await database.firings(after: before.position)
        #expect(!page.moreComing)
        #expect(try await database.firings(after: page.position) == FiringPage(position: page.position))
        return page.firings.map { firing in
            let subject = firing.change.record.map { "\($0.event.rawValue) \($0.record.recordID.recordName)" } ?? "zone"
            return "\(subject): \(firing.subscriptions.map(\.subscription.subscriptionID.string).joined(separator: " "))"
        }
    }

    static let all: [Scenario] = [
        .init("a query subscription fires for records as they became, and for deletions as they were") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["price": .int64(1)])
            try await subscribe(
                [
                    query("all"), query("cheap", [price(.lessThan, 5)]), query("is 7", [price(.equals, 7)]), query("new", firesOn: [.create]),
                    query("gone 7", [price(.equals, 7)], firesOn: [.delete]), query("default", firesOn: [.create, .delete], in: .default),
                    query("not 7", [price(.notEquals, 7)], firesOn: [.update]),
                    query("some", [Query.Filter("price", .in, FieldInput(.list([.int64(7), .int64(8)], of: .int64)))]),
                ], in: database)
            let table: [(price: Int64?, fired: String)] = [
                (1, "create x: all cheap new"), (7, "update x: all is 7 some"), (9, "update x: all not 7"), (7, "update x: all is 7 some"),
                (nil, "delete x: all gone 7 is 7 some"), (nil, ""), (8, "create x: all new some"),
            ]
            for (price, expected) in table {
                let found = try await fired(in: database) {
                    if let price { try await database.save("x", in: notes, ["price": .int64(price)]) } else { try await database.delete("x", in: notes) }
                }
                #expect(found == (expected.isEmpty ? [] : [expected]))
            }
            let elsewhere = try await fired(in: database) { try await database.save("d", ["price": .int64(6)]) }
            #expect(elsewhere == ["create d: all default new"])
        },
        .init("every change between two looks is told, each with the record of its time") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["price": .int64(1)])
            try await subscribe([query("is 7", [price(.equals, 7)]), query("any")], in: database)
            let found = try await fired(in: database) {
                for price in [7, 8] as [Int64] { try await database.save("a", in: notes, ["price": .int64(price)]) }
                try await database.save("b", in: notes, ["price": .int64(7)])
                try await database.delete("a", in: notes)
                try await database.save("a", in: notes, ["price": .int64(7)])
            }
            #expect(found == ["create a: any is 7", "update a: any", "create b: any is 7", "delete a: any", "create a: any is 7"])
        },
        .init("a subscription is about later changes, and about those of its own database") { engine, _ in
            let database = try await engine.withZone()
            let found = try await fired(in: database) {
                try await database.save("before", in: notes)
                try await subscribe([query("q")], in: database)
                try await database.save("after", in: notes)
                try await engine.full(.public).save("public", ["price": .int64(7)])
                try await subscribe([query("p", [price(.equals, 7)])], in: engine.full(.public, as: grace))
                try await engine.full(.public).save("public")
                try await engine.full(.private, as: grace).save("hers")
            }
            #expect(found == ["create after: q", "update public: p"])
        },
        .init("zone and database subscriptions fire for their custom zones and types") { engine, _ in
            let database = try await engine.withZone()
            let other = ZoneID(zoneName: "Other")
            try await subscribe(
                [
                    .save(Subscription("db", to: .database(recordType: nil))), .save(Subscription("items", to: .database(recordType: "Item"))),
                    .save(Subscription("notes", to: .zone(notes, recordType: nil))), .save(Subscription("pages", to: .zone(notes, recordType: "Page"))),
                ], in: database)
            #expect(try await fired(in: database) { try await database.save("r", in: notes) } == ["create r: db items notes"])
            #expect(try await fired(in: database) { try await database.save("p", type: "Page", in: notes) } == ["create p: db notes pages"])
            #expect(try await fired(in: database) { try await database.save("d") } == [])
            #expect(try await fired(in: database) { _ = try await database.modifyZones([.create(other)]) } == ["zone: db"])
            #expect(try await fired(in: database) { try await database.save("o", in: other) } == ["create o: db items"])
            #expect(try await fired(in: database) { _ = try await database.modifyZones([.delete(notes)]) } == ["zone: db"])
        },
        .init("guests are told of shared zones, and of nothing else") { engine, _ in
            let database = try await engine.withZone()
            let shared = try await engine.full(.shared, as: grace)
            try await subscribe([.save(Subscription("guest", to: .database(recordType: nil)))], in: shared)
            #expect(try await fired(in: database) { try await database.save("r", in: notes) } == [])
            try await database.share(notes, with: ZoneParticipant(userRecordName: grace.userRecordName, permission: .readOnly))
            #expect(try await fired(in: database) { try await database.save("r", in: notes) } == ["update r: guest"])
            try await database.stopSharing(notes, with: grace.userRecordName)
            #expect(try await fired(in: database) { try await database.save("r", in: notes) } == [])
        },
        .init("nobody is told of records that roles keep from him") { engine, _ in
            let owner = try await engine.full(.public)
            try await owner.save("r", ["price": .int64(7)])
            _ = try await owner.edit([.setGrants([Grant(role: "_creator", permissions: [.read, .write]), Grant(role: "_icloud", permissions: [.create])], of: "Item")])
            var (reader, creator) = (grace, mary)
            (reader.access, creator.access) = (.signedIn, .signedIn)
            for caller in [reader, creator, ada] { try await subscribe([query(caller.userRecordName)], in: engine.full(.public, as: caller)) }
            let found = try await fired(in: owner) {
                for kind in [RecordOperation.Kind.create, .forceUpdate] { try await engine.full(.public, as: creator).save("x", as: kind, ["price": .int64(7)]) }
            }
            let told = [creator, ada].map(\.userRecordName.string).sorted().joined(separator: " ")
            #expect(found == ["create x: \(told)", "update x: \(told)"])
        },
        .init("a query whose field is gone fires no more") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["price": .int64(1), "other": .int64(1)])
            try await subscribe([query("q", [price(.greaterThan, 0)])], in: database)
            #expect(try await fired(in: database) { try await database.save("r", in: notes, ["price": .int64(2)]) } == ["update r: q"])
            _ = try await database.edit([.removeField("price", in: "Item")])
            #expect(try await fired(in: database) { try await database.save("r", in: notes, ["other": .int64(2)]) } == [])
        },
    ]
}
