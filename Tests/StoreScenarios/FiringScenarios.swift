internal import RecordStore
internal import Records
internal import Testing

/// The subscriptions that changes fire.
enum FiringScenarios {
    private static let everything = Set(Subscription.Event.allCases)

    private static func query(
        _ id: Name, _ filters: [Query.Filter] = [], firesOn: Set<Subscription.Event> = everything,
        in zoneID: ZoneID? = nil
    ) -> SubscriptionOperation {
        let subject = Subscription.RecordSubject(
            Query(recordType: "Item", filters: filters), firesOn: firesOn, zoneID: zoneID)
        return .save(Subscription(id, to: .query(subject)))
    }

    private static func price(_ comparator: Records.Comparator, _ price: Int64) -> Query.Filter {
        Query.Filter("price", comparator, FieldInput(.int64(price)))
    }

    private static func subscribe(_ operations: [SubscriptionOperation], in database: any RecordDatabase) async throws {
        for result in try await database.require(.keepSubscriptions).modifySubscriptions(operations) {
            _ = try result.get()
        }
    }

    /// Makes a change.
    /// - Returns: for each change, `create r: a b` or `zone: a`.
    private static func fired(in database: any RecordDatabase, by change: () async throws -> Void) async throws
        -> [String]
    {
        let before = try await database.require(.fireSubscriptions).firings(after: nil)
        #expect(before.firings.isEmpty)
        try await change()
        let page = try await database.require(.fireSubscriptions).firings(after: before.position)
        #expect(!page.moreComing)
        #expect(
            try await database.require(.fireSubscriptions).firings(after: page.position)
                == FiringPage(position: page.position))
        return page.firings.map { firing in
            let subject = firing.change.record.map { "\($0.event.rawValue) \($0.record.recordID.recordName)" } ?? "zone"
            return
                "\(subject): \(firing.subscriptions.map(\.subscription.subscriptionID.string).joined(separator: " "))"
        }
    }

    static let all: [Scenario] = [
        .zone("a query subscription fires for records as they became, and for deletions as they were") { database in
            try await database.save("r", in: notes, ["price": .int64(1)])
            try await subscribe(
                [
                    query("all"), query("cheap", [price(.lessThan, 5)]), query("is 7", [price(.equals, 7)]),
                    query("new", firesOn: [.create]),
                    query("gone 7", [price(.equals, 7)], firesOn: [.delete]),
                    query("default", firesOn: [.create, .delete], in: .default),
                    query("not 7", [price(.notEquals, 7)], firesOn: [.update]),
                    query("some", [Query.Filter("price", .in, FieldInput(.list([.int64(7), .int64(8)], of: .int64)))]),
                ], in: database)
            let table: [(price: Int64?, fired: String)] = [
                (1, "create x: all cheap new"), (7, "update x: all is 7 some"), (9, "update x: all not 7"),
                (7, "update x: all is 7 some"),
                (nil, "delete x: all gone 7 is 7 some"), (nil, ""), (8, "create x: all new some"),
            ]
            for (price, expected) in table {
                let found = try await fired(in: database) {
                    if let price {
                        try await database.save("x", in: notes, ["price": .int64(price)])
                    } else {
                        try await database.delete("x", in: notes)
                    }
                }
                #expect(found == (expected.isEmpty ? [] : [expected]))
            }
            let elsewhere = try await fired(in: database) { try await database.save("d", ["price": .int64(6)]) }
            #expect(elsewhere == ["create d: all default new"])
        },
        .zone("every change between two looks is told, each with the record of its time") { database in
            try await database.save("r", in: notes, ["price": .int64(1)])
            try await subscribe([query("is 7", [price(.equals, 7)]), query("any")], in: database)
            let found = try await fired(in: database) {
                for price in [7, 8] as [Int64] { try await database.save("a", in: notes, ["price": .int64(price)]) }
                try await database.save("b", in: notes, ["price": .int64(7)])
                try await database.delete("a", in: notes)
                try await database.save("a", in: notes, ["price": .int64(7)])
            }
            #expect(
                found == [
                    "create a: any is 7", "update a: any", "create b: any is 7", "delete a: any", "create a: any is 7",
                ])
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
        .zone("a subscription that is saved again as it is still tells of the changes before") { database in
            try await database.save("r", in: notes)
            try await subscribe([query("same"), query("other", firesOn: [.update])], in: database)
            let found = try await fired(in: database) {
                try await database.save("untold", in: notes)
                try await subscribe([query("same"), query("other", firesOn: [.create])], in: database)
            }
            #expect(found == ["create untold: same"])
        },
        .zone("zone and database subscriptions fire for their custom zones and types") { database in
            let other = ZoneID(zoneName: "Other")
            try await subscribe(
                [
                    .save(Subscription("db", to: .database(recordType: nil))),
                    .save(Subscription("items", to: .database(recordType: "Item"))),
                    .save(Subscription("notes", to: .zone(notes, recordType: nil))),
                    .save(Subscription("pages", to: .zone(notes, recordType: "Page"))),
                ], in: database)
            #expect(
                try await fired(in: database) { try await database.save("r", in: notes) } == [
                    "create r: db items notes"
                ])
            #expect(
                try await fired(in: database) { try await database.save("p", type: "Page", in: notes) } == [
                    "create p: db notes pages"
                ])
            #expect(try await fired(in: database) { try await database.save("d") } == [])
            #expect(
                try await fired(in: database) { _ = try await database.modifyZones([.create(other)]) } == ["zone: db"])
            #expect(try await fired(in: database) { try await database.save("o", in: other) } == ["create o: db items"])
            #expect(
                try await fired(in: database) { _ = try await database.modifyZones([.delete(notes)]) } == ["zone: db"])
        },
        .sharing("a guest is told of a zone that is shared, as long as it is, and when it comes and goes") { stage in
            let database = stage.owner
            try await subscribe([.save(Subscription("guest", to: .database(recordType: nil)))], in: stage.shared(grace))
            try await subscribe(
                [.save(Subscription("items", to: .database(recordType: "Item")))], in: stage.shared(grace))
            #expect(try await fired(in: database) { try await database.save("milk", in: notes) } == [])
            var zoneShare = ShareInput()
            zoneShare.participants = [SharingStage.invitation(grace)]
            let share = try await stage.save(Share.zoneWideName, .create, tag: nil, zoneShare)
            #expect(
                try await fired(in: database) { try await stage.accept(share, as: grace) }.filter {
                    $0.hasPrefix("zone")
                } == ["zone: guest"])
            #expect(
                try await fired(in: database) { try await database.save("milk", in: notes) } == [
                    "update milk: guest items"
                ])
            let left = try await fired(in: database) {
                try await database.save("bread", in: notes)
                try await database.delete(Share.zoneWideName, in: notes)
                try await database.save("brand", in: notes)
            }
            // The change before the end was still for the guest, the one after it is not.
            #expect(left.contains("update bread: guest items") && left.contains("zone: guest"))
            #expect(!left.contains { $0.contains("brand") })
        },
        .sharing("a guest is told of the hierarchies that are shared, and of nothing else") { stage in
            let database = stage.owner
            for guest in [grace, mary] {
                try await subscribe(
                    [.save(Subscription(guest.userRecordName, to: .database(recordType: nil)))], in: stage.shared(guest)
                )
            }
            try await subscribe(
                [.save(Subscription("owner", to: .database(recordType: nil))), query("all")], in: database)
            let (graces, marys) = ("\(grace.userRecordName)", "\(mary.userRecordName)")
            let share = try await stage.share(with: [SharingStage.invitation(grace), SharingStage.invitation(mary)])
            #expect(
                try await fired(in: database) { try await stage.accept(share, as: grace) }.contains {
                    $0.hasSuffix(graces)
                })
            func told(_ change: () async throws -> Void) async throws -> Set<String> {
                Set(try await fired(in: database, by: change))
            }
            // The owner is told once, and each guest by the copy that this one sees.
            #expect(
                try await told { try await database.save("milk", in: notes) } == [
                    "update milk: all owner", "update milk: \(graces)",
                ])
            #expect(try await told { try await database.save("diary", in: notes) } == ["update diary: all owner"])
            try await stage.accept(share, as: mary)
            #expect(
                try await told { try await database.save("milk", in: notes) } == [
                    "update milk: all owner", "update milk: \(graces)", "update milk: \(marys)",
                ])
            // A record that leaves the hierarchy is deleted for guests, and one that enters it is new.
            #expect(
                try await told { try await database.save("bread", in: notes, parent: .cleared) } == [
                    "update bread: all owner", "delete bread: \(graces)", "delete bread: \(marys)",
                ])
            #expect(
                try await told { try await database.save("bread", in: notes, parent: .record("list")) } == [
                    "update bread: all owner", "create bread: \(graces)", "create bread: \(marys)",
                ])
            // A guest's change is the owner's and the other guest's too. It has the guest's signature everywhere.
            let before = try await database.require(.fireSubscriptions).firings(after: nil).position
            try await stage.shared(grace).save("milk", in: SharingStage.seen)
            let firings = try await database.require(.fireSubscriptions).firings(after: before).firings
            #expect(
                firings.count == 3
                    && firings.allSatisfy { $0.change.record?.signature.userRecordName == grace.userRecordName })
            #expect(
                try await told { try await stage.shared(grace).delete("share", in: SharingStage.seen) }.contains(
                    "zone: \(graces)"))
            #expect(
                try await told { try await database.save("milk", in: notes) } == [
                    "update milk: all owner", "update milk: \(marys)",
                ])
            #expect(
                try await told { _ = try await database.modifyZones([.delete(notes)]) } == [
                    "zone: owner", "zone: \(marys)",
                ])
        },
        .init("a subscription that fires once is about the change that fired it, and no more") { engine, clock in
            let database = try await engine.withZone()
            try await database.save("r", in: notes)
            let subject = Subscription.RecordSubject(Query(recordType: "Item"), firesOn: everything, firesOnce: true)
            let once = SubscriptionOperation.save(Subscription("once", to: .query(subject)))
            try await subscribe([once], in: database)
            let begin = try await database.require(.fireSubscriptions).firings(after: nil).position
            try await database.save("a", in: notes)
            let firing = try #require(
                try await database.require(.fireSubscriptions).firings(after: begin).firings.first)
            let owned = try #require(firing.subscriptions.first)
            try await database.require(.fireSubscriptions).noteFired([owned], at: firing.change.position)
            try await database.save("b", in: notes)
            func names() async throws -> [Name?] {
                try await database.require(.fireSubscriptions).firings(after: begin).firings.map {
                    $0.change.record?.record.recordID.recordName
                }
            }
            #expect(try await names() == ["a"])
            #expect(try await database.require(.keepSubscriptions).subscriptions().isEmpty)
            // Saved again, it is another one, which the earlier one's end does not touch.
            try await subscribe([once], in: database)
            try await database.require(.fireSubscriptions).noteFired([owned], at: firing.change.position)
            try await database.save("c", in: notes)
            #expect(try await names() == ["c"])
            #expect(try await database.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ["once"])
        },
        .init("nobody is told of records that roles keep from him") { engine, _ in
            let owner = try await engine.full(.public)
            try await owner.save("r", ["price": .int64(7)])
            try await owner.edit(
                .setGrants(
                    [
                        Grant(role: "_creator", permissions: [.read, .write]),
                        Grant(role: "_icloud", permissions: [.create]),
                    ], of: "Item"))
            var (reader, creator) = (grace, mary)
            (reader.access, creator.access) = (.signedIn, .signedIn)
            for caller in [reader, creator, ada] {
                try await subscribe([query(caller.userRecordName)], in: engine.full(.public, as: caller))
            }
            let found = try await fired(in: owner) {
                for kind in [RecordOperation.Kind.create, .forceUpdate] {
                    try await engine.full(.public, as: creator).save("x", as: kind, ["price": .int64(7)])
                }
            }
            let told = [creator, ada].map(\.userRecordName.string).sorted().joined(separator: " ")
            #expect(found == ["create x: \(told)", "update x: \(told)"])
            // Asked with less access, it is so for those who subscribed with more, too.
            let before = try await owner.require(.fireSubscriptions).firings(after: nil).position
            try await engine.full(.public, as: creator).save("x", as: .forceUpdate, ["price": .int64(8)])
            let page = try await engine.full(.public, as: reader).require(.fireSubscriptions).firings(after: before)
            #expect(page.firings.map { $0.subscriptions.map(\.user) } == [[creator.userRecordName]])
        },
        .zone("a query whose field is gone fires no more") { database in
            try await database.save("r", in: notes, ["price": .int64(1), "other": .int64(1)])
            try await subscribe([query("q", [price(.greaterThan, 0)])], in: database)
            #expect(
                try await fired(in: database) { try await database.save("r", in: notes, ["price": .int64(2)]) } == [
                    "update r: q"
                ])
            try await database.edit(.removeField("price", in: "Item"))
            #expect(
                try await fired(in: database) { try await database.save("r", in: notes, ["other": .int64(2)]) } == [])
        },
        .init("the latest changes tell which of them would have fired a subscription") { engine, _ in
            let stage = try await SharingStage(on: engine)
            let database = stage.owner
            let share = try await stage.share(with: [SharingStage.invitation(grace)])
            try await stage.accept(share, as: grace)
            for price in [1, 7, 9] as [Int64] { try await database.save("x", in: notes, ["price": .int64(price)]) }
            try await database.save("d", ["price": .int64(7)])
            try await database.delete("x", in: notes)
            try await engine.full(.public).save("public", ["price": .int64(7)])
            func latest(_ operation: SubscriptionOperation, _ limit: Int, in database: any RecordDatabase = database)
                async throws -> [String]
            {
                guard case .save(let subscription) = operation else { return [] }
                return try await database.require(.fireSubscriptions).latestFirings(of: subscription, limit: limit).map
                { firing in
                    let subject =
                        firing.change.record.map { "\($0.event.rawValue) \($0.record.recordID.recordName)" } ?? "zone"
                    return firing.subscriptions.isEmpty ? subject : "\(subject)!"
                }
            }
            #expect(
                try await latest(query("7", [price(.equals, 7)]), 5) == [
                    "delete x", "create d!", "update x", "update x!", "create x",
                ])
            #expect(try await latest(query("new", firesOn: [.create]), 2) == ["delete x", "create d!"])
            #expect(
                try await latest(.save(Subscription("db", to: .database(recordType: nil))), 3) == [
                    "delete x!", "create d", "update x!",
                ])
            // Nothing was saved, and others have their own changes.
            #expect(try await database.require(.keepSubscriptions).subscriptions().isEmpty)
            #expect(try await database.require(.fireSubscriptions).ownedSubscriptions().isEmpty)
            #expect(
                try await latest(query("p", [price(.equals, 7)]), 200, in: engine.full(.public)) == ["create public!"])
            #expect(try await latest(query("p"), 200, in: engine.full(.private, as: mary)) == [])
            try await database.save("milk", in: notes)
            let guests = try await latest(
                .save(Subscription("g", to: .database(recordType: nil))), 200, in: stage.shared(grace))
            #expect(guests.first == "update milk!" && !guests.contains { $0.contains(" x") })
        },
        .init("the subscriptions of all users are listed") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes)
            try await subscribe([query("b"), .save(Subscription("a", to: .database(recordType: nil)))], in: database)
            try await subscribe(
                [.save(Subscription("g", to: .database(recordType: nil)))], in: engine.full(.shared, as: grace))
            for reader in [database, try await engine.full(.public, as: mary)] {
                let found = try await reader.require(.fireSubscriptions).ownedSubscriptions().map {
                    "\($0.user) \($0.scope.rawValue) \($0.subscription.subscriptionID)"
                }
                let expected = [(ada, "private a"), (ada, "private b"), (grace, "shared g")].map {
                    "\($0.0.userRecordName) \($0.1)"
                }
                #expect(found == expected.sorted())
            }
        },
        .init("nobody subscribes without a name") { engine, _ in
            let database = try await engine.full(.public, as: Caller(userRecordName: "", access: .anonymous))
            #expect(
                await refusal { _ = try await database.require(.keepSubscriptions).subscriptions() }?.code
                    == .authenticationRequired)
            #expect(
                await refusal { _ = try await database.require(.keepSubscriptions).modifySubscriptions([]) }?.code
                    == .authenticationRequired)
        },
    ]
}
