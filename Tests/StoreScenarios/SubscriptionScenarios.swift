internal import RecordStore
internal import Records
internal import Testing

/// Subscriptions: the kinds of each database, their rules, and their end.
enum SubscriptionScenarios {
    private static let everything: Set<Subscription.Event> = [.create, .update, .delete]

    private static func query(
        _ id: Name, _ query: Query = Query(recordType: "Item"), firesOn: Set<Subscription.Event> = everything,
        in zoneID: ZoneID? = nil
    ) -> Subscription {
        Subscription(id, to: .query(Subscription.RecordSubject(query, firesOn: firesOn, zoneID: zoneID)))
    }

    private static func priced(_ id: Name, _ price: Int64) -> Subscription {
        query(id, Query(recordType: "Item", filters: [.init("price", .equals, FieldInput(.int64(price)))]))
    }

    /// The error of each operation; `nil` for successful ones.
    private static func errors(_ operations: [SubscriptionOperation], in database: any RecordDatabase) async throws
        -> [RecordError?]
    {
        try await database.require(.keepSubscriptions).modifySubscriptions(operations).map { result in
            if case .failure(let error) = result { error } else { nil }
        }
    }

    static let all: [Scenario] = [
        .init("each database has its kinds of subscriptions") { engine, _ in
            let owner = try await engine.withZone()
            try await owner.save("r", in: notes)
            let kinds = [
                query("q"), Subscription("z", to: .zone(notes, recordType: nil)),
                Subscription("d", to: .database(recordType: nil)),
            ]
            let expected: [(scope: DatabaseScope, admits: [Bool])] = [
                (.public, [true, false, false]), (.private, [true, true, true]), (.shared, [false, false, true]),
            ]
            for (scope, admits) in expected {
                let database = try await engine.full(scope)
                let errors = try await errors(kinds.map { .save($0) }, in: database)
                #expect(errors.map { $0 == nil } == admits, "\(scope)")
                #expect(errors.allSatisfy { $0 == nil || $0?.code == .badRequest })
                let ids = zip(kinds, admits).filter(\.1).map(\.0.subscriptionID).sorted()
                #expect(try await database.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ids)
                // Those of another user are others.
                #expect(try await engine.full(scope, as: grace).require(.keepSubscriptions).subscriptions().isEmpty)
            }
        },
        .zone("a subscription is kept as it was saved, with the zone's owner, and replaced under its id") { database in
            try await database.save("r", in: notes, ["price": .int64(1), "room": .string("a")])
            let filter = Query.Filter("room", .in, FieldInput(.list([.string("a"), .string("b")], of: .string)))
            var info = NotificationInfo()
            (info.alertLocalizationKey, info.alertLocalizationArgs, info.additionalFields) = (
                "K", ["room"], ["price", "unknown"]
            )
            (info.soundName, info.collapseIDKey, info.shouldBadge, info.shouldSendMutableContent) = (
                "default", "c", true, true
            )
            var subscription = Subscription(
                "q",
                to: .query(
                    Subscription.RecordSubject(
                        Query(recordType: "Item", filters: [filter], sorts: [.init("price", ascending: false)]),
                        firesOn: [.delete], firesOnce: true,
                        zoneID: notes)), notificationInfo: info)
            guard
                case .save(let saved) = try await database.require(.keepSubscriptions).modifySubscriptions([
                    .save(subscription)
                ])[0].get()
            else {
                throw RecordError(.internalError, "not a save")
            }
            #expect(saved.zoneID == ZoneID(zoneName: "Notes", ownerRecordName: ada.userRecordName))
            #expect(saved.notificationInfo == info)
            #expect(try await database.require(.keepSubscriptions).subscriptions() == [saved])
            guard case .query(let subject) = saved.subject else { throw RecordError(.internalError, "not a query") }
            #expect(
                subject.query.filters == [filter] && subject.query.sorts.map(\.ascending) == [false]
                    && subject.firesOn == [.delete] && subject.firesOnce)
            subscription = Subscription("q", to: .database(recordType: "Item"))
            #expect(try await errors([.save(subscription)], in: database) == [nil])
            #expect(try await database.require(.keepSubscriptions).subscriptions() == [subscription])
            #expect(
                try await errors([.delete("q"), .delete("q")], in: database) == [
                    nil, RecordError(.notFound, "Subscription not found"),
                ])
            #expect(try await database.require(.keepSubscriptions).subscriptions().isEmpty)
        },
        .zone("a subscription must make sense") { database in
            try await database.save(
                "r", in: notes, ["price": .int64(1), "secret": .bytes([1]), "tags": .list([.string("a")], of: .string)])
            try await database.edit(.setIndexes([], of: .custom("price"), in: "Item"))
            var many = NotificationInfo(), heavy = NotificationInfo(), collapsing = NotificationInfo()
            (many.additionalFields, heavy.additionalFields, collapsing.collapseIDKey) = (
                ["a", "b", "c", "d"], ["tags"], "c"
            )
            let refused: [(Subscription, String)] = [
                (query(""), "Invalid subscriptionID: it is empty"),
                (
                    query("q", firesOn: []),
                    "BadRequestException: Unexpected input. Expected 'firesOn' to have at least one of create, update, delete"
                ),
                (query("q", Query(recordType: "Nothing")), "Did not find record type: Nothing"),
                (query("q", Query(recordType: Schema.usersType)), "Can't query system types"),
                (priced("q", 1), "Field 'price' is not marked queryable"),
                (query("q", in: ZoneID(zoneName: "Gone")), "Zone does not exist"),
                (
                    Subscription("q", to: query("q").subject, notificationInfo: many),
                    "Too many additionalFields: 4, and the limit is 3; fetch the record instead"
                ),
                (
                    Subscription("q", to: query("q").subject, notificationInfo: heavy),
                    "A notification can't carry the field 'tags' of type STRING_LIST"
                ),
                (
                    Subscription("z", to: .zone(.default, recordType: nil)),
                    "syncToken operations supported only in SyncZone"
                ),
                (Subscription("z", to: .zone(ZoneID(zoneName: "Gone"), recordType: nil)), "Zone does not exist"),
                (
                    Subscription("d", to: .database(recordType: nil), notificationInfo: collapsing),
                    "cannot add collapseId to this subscription type"
                ),
                (
                    Subscription("z", to: .zone(notes, recordType: nil), notificationInfo: collapsing),
                    "cannot add collapseId to this subscription type"
                ),
            ]
            var long = NotificationInfo(), argued = NotificationInfo(), named = NotificationInfo()
            (long.alertBody, argued.titleLocalizationArgs) = (
                String(repeating: "x", count: SubscriptionRules.textLimit + 1), Array(repeating: "a", count: 11)
            )
            named.alertLocalizationArgs = [Name(String(repeating: "n", count: 256))]
            let numbers = FieldInput(.list((0..<5000).map { .int64($0) }, of: .int64))
            let large = Query(recordType: "Item", filters: [Query.Filter("price", .in, numbers)])
            for (subscription, reason) in [
                (
                    Subscription("q", to: query("q").subject, notificationInfo: long),
                    "'alertBody' has 1001 bytes, and the limit is 1000"
                ),
                (
                    Subscription("q", to: query("q").subject, notificationInfo: argued),
                    "'titleLocalizationArgs' has 11 names, and the limit is 10"
                ),
                (
                    Subscription("q", to: query("q").subject, notificationInfo: named),
                    "The name of a field in 'notificationInfo' has 256 bytes, and the limit is 255"
                ),
            ] {
                #expect(try await errors([.save(subscription)], in: database).map { $0?.reason } == [reason])
            }
            #expect(
                try await errors([.save(query("q", large))], in: database).map {
                    $0?.reason.hasSuffix("and the limit is 16384")
                } == [true])
            for (subscription, reason) in refused {
                #expect(try await errors([.save(subscription)], in: database).map { $0?.reason } == [reason])
            }
            #expect(try await database.require(.keepSubscriptions).subscriptions().isEmpty)
            // Neither a filter nor an index is needed.
            #expect(try await errors([.save(query("q"))], in: database) == [nil])
        },
        .init("a second subscription to the same query and events is refused, with CloudKit's text") { engine, _ in
            let database = try await engine.withZone()
            try await database.save("r", in: notes, ["price": .int64(1)])
            let operations: [SubscriptionOperation] = [
                .save(priced("a", 1)), .save(priced("b", 1)), .save(priced("b", 2)),
                .save(query("c", firesOn: [.create])), .save(query("d", firesOn: [.update])),
                .save(query("e", firesOn: [.create])), .save(query("e", firesOn: [.create], in: notes)),
                .save(priced("a", 1)),
            ]
            let duplicate = RecordError(.internalError, "could not find subscription we just created")
            #expect(try await errors(operations, in: database) == [nil, duplicate, nil, nil, nil, duplicate, nil, nil])
            // Uniqueness is per user.
            let other = try await engine.full(.private, as: grace)
            #expect(try await errors([.save(priced("b", 1))], in: other) == [nil])
        },
        .zone("subscriptions to a zone end with it, and all end with a reset") { database in
            try await database.save("r", in: notes)
            _ = try await database.modifyZones([.create(ZoneID(zoneName: "Other"))])
            let operations: [SubscriptionOperation] = [
                .save(query("q")), .save(query("in notes", in: notes)),
                .save(Subscription("z", to: .zone(notes, recordType: nil))),
                .save(Subscription("other", to: .zone(ZoneID(zoneName: "Other"), recordType: nil))),
            ]
            #expect(try await errors(operations, in: database) == [nil, nil, nil, nil])
            _ = try await database.modifyZones([.delete(notes), .create(notes)])
            #expect(
                try await database.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ["other", "q"])
            try await database.require(.purgeZones).purge(ZoneID(zoneName: "Other"))
            #expect(try await database.require(.keepSubscriptions).subscriptions().map(\.subscriptionID) == ["q"])
            _ = try await database.require(.editSchema).reset(to: .initial)
            #expect(try await database.require(.keepSubscriptions).subscriptions().isEmpty)
        },
    ]
}
