import RecordStore
import Records
import Testing

/// The reasons why a change does not fire a subscription.
@Suite struct SubscriptionMissTests {
    private static let zone = ZoneID(zoneName: "Z", ownerRecordName: "_a")
    private static let other = ZoneID(zoneName: "Y", ownerRecordName: "_a")
    private static let cheap = Query.Filter("price", .lessThan, FieldInput(.int64(5)))
    private static let named = Query.Filter("name", .equals, FieldInput(.string("milk")))

    private static var schema: Schema {
        var type = RecordType(name: "Item", systemIndexes: [.recordID: .queryable])
        type.fields["price"] = FieldDefinition(type: .int64, indexes: [.queryable, .sortable])
        type.fields["name"] = FieldDefinition(type: .string, indexes: .queryable)
        return Schema(types: [type, RecordType(name: "Page")])
    }

    /// The creation of an item with a price of 7 at position 5.
    private static func change(in zoneID: ZoneID = zone, of type: Name = "Item") throws -> CommittedChange {
        let signature = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_a", deviceID: "")
        let record = StoredRecord(
            recordID: RecordID(recordName: "r"), recordType: type, recordChangeTag: "5", created: signature,
            modified: signature,
            fields: FieldsText([Field(name: "price", value: .int64(7))]))
        let entry = RecordJournalEntry(
            kind: .created, position: 5, recordChangeTag: "5", recordType: type, signature: signature, requestID: nil,
            fields: record.fields, parent: nil)
        return try #require(
            CommittedChange.all(
                of: record, [entry], after: 4, in: CommittedChange(position: 5, zoneID: zoneID, owner: "_a", guests: [])
            ).first)
    }

    private static func query(
        _ filters: Query.Filter..., type: Name = "Item", firesOn: Set<Subscription.Event> = [.create],
        in zoneID: ZoneID? = nil
    ) -> Subscription.Subject {
        .query(Subscription.RecordSubject(Query(recordType: type, filters: filters), firesOn: firesOn, zoneID: zoneID))
    }

    @Test func theFirstReasonIsGiven() throws {
        let expensive = Query.Filter("price", .greaterThan, FieldInput(.int64(5)))
        let table: [(Subscription.Subject, SubscriptionMiss?)] = [
            (Self.query(), nil), (Self.query(expensive), nil), (Self.query(in: Self.zone), nil),
            (.zone(Self.zone, recordType: nil), nil),
            (.database(recordType: nil), nil), (.database(recordType: "Item"), nil),
            (Self.query(Self.cheap), .filter(Self.cheap, .int64(7))),
            (Self.query(expensive, Self.named), .filter(Self.named, nil)),
            (Self.query(firesOn: [.update, .delete]), .otherEvents([.update, .delete])),
            (Self.query(type: "Page"), .otherType("Page")),
            (Self.query(in: Self.other), .otherZone(Self.other)),
            (.zone(Self.other, recordType: nil), .otherZone(Self.other)),
            (.zone(Self.zone, recordType: "Page"), .otherType("Page")),
            (.database(recordType: "Page"), .otherType("Page")),
        ]
        for (subject, miss) in table {
            let owned = OwnedSubscription(
                user: "_a", scope: .private, position: 4, isHeldToRoles: false,
                subscription: Subscription("s", to: subject))
            #expect(try SubscriptionMiss(of: owned, by: Self.change(), in: Self.schema) == miss)
            var stranger = owned
            stranger.user = "_b"
            #expect(try SubscriptionMiss(of: stranger, by: Self.change(), in: Self.schema) == .otherDatabase)
        }
    }

    @Test func timeZonesAndMissingFieldsAreReasonsToo() throws {
        var owned = OwnedSubscription(
            user: "_a", scope: .private, position: 5, isHeldToRoles: false,
            subscription: Subscription("s", to: Self.query()))
        func miss(_ change: CommittedChange) -> SubscriptionMiss? {
            SubscriptionMiss(of: owned, by: change, in: Self.schema)
        }
        #expect(try miss(Self.change()) == .tooEarly)
        (owned.position, owned.lastPosition) = (1, 3)
        #expect(try miss(Self.change()) == .firedBefore(3))
        owned.lastPosition = 5
        #expect(try miss(Self.change()) == nil)
        owned.subscription.subject = .database(recordType: nil)
        #expect(
            try miss(Self.change(in: ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: "_a"))) == .defaultZone)
        var zoneChange = try Self.change()
        zoneChange.record = nil
        #expect(miss(zoneChange) == nil)
        owned.subscription.subject = .zone(Self.zone, recordType: nil)
        #expect(miss(zoneChange) == .notOfRecords)
        owned.subscription.subject = Self.query(Query.Filter("gone", .equals, FieldInput(.int64(1))))
        guard case .brokenQuery(let reason)? = try miss(Self.change()) else {
            Issue.record("no broken query")
            return
        }
        #expect(reason.contains("gone"))
    }
}
