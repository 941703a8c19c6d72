import RecordStore
import Records
import Testing

/// The index finds the subscriptions that a comparison of every subscription with every record finds.
@Suite struct SubscriptionIndexTests {
    private static let types: [(field: Name, type: FieldType)] = [
        ("s", .string), ("i", .int64), ("d", .double), ("t", .timestamp), ("b", .bytes), ("r", .reference),
        ("l", .list(.string)),
    ]

    private static var schema: Schema {
        get throws {
            var type = RecordType(
                name: "T",
                systemIndexes: [.recordID: .queryable, .createdBy: .queryable, .createTime: [.queryable, .sortable]])
            for (name, fieldType) in types {
                type.fields[name] = FieldDefinition(type: fieldType, indexes: fieldType.allowedIndexes)
            }
            return Schema(types: [type])
        }
    }

    /// Values that are equal although they are written differently, and different although they look alike.
    private static let values: [(field: Name, values: [FieldValue])] = [
        ("s", [.string(""), .string("a"), .string("é"), .string("e\u{301}"), .string("nul\u{0}")]),
        ("i", [.int64(0), .int64(1), .int64(.min)]),
        ("d", [.double(0), .double(-0.0), .double(1)]),
        ("t", [.timestamp(Timestamp(milliseconds: 0)), .timestamp(Timestamp(milliseconds: 1))]),
        ("b", [.bytes([]), .bytes([0]), .bytes([0, 1])]),
        (
            "r",
            [
                .reference(Reference(recordName: "a")),
                .reference(Reference(recordName: "a", zoneID: ZoneID(zoneName: "Y"))),
                .reference(Reference(recordName: "a", zoneID: ZoneID(zoneName: "Z"))),
                .reference(Reference(recordName: "b")),
            ]
        ),
    ]

    private static func record(_ name: Name, _ fields: [Field]) -> StoredRecord {
        let signature = Signature(timestamp: Timestamp(milliseconds: 1), userRecordName: "_u", deviceID: "")
        return StoredRecord(
            recordID: RecordID(recordName: name), recordType: "T", recordChangeTag: "1", created: signature,
            modified: signature, fields: FieldsText(fields))
    }

    private static var queries: [Query] {
        var queries = [
            Query(recordType: "T"),
            Query(
                recordType: "T",
                filters: [.init("___recordID", .equals, FieldInput(.reference(Reference(recordName: "n1"))))]),
        ]
        for (field, values) in values {
            for value in values {
                for comparator in [Records.Comparator.equals, .notEquals] {
                    queries.append(Query(recordType: "T", filters: [.init(field, comparator, FieldInput(value))]))
                }
                queries.append(
                    Query(
                        recordType: "T",
                        filters: [
                            .init(field, .equals, FieldInput(value)),
                            .init("i", .greaterThanOrEquals, FieldInput(.int64(1))),
                        ]))
            }
            if let type = values[0].type?.valueType {
                for comparator in [Records.Comparator.in, .notIn] {
                    queries.append(
                        Query(
                            recordType: "T",
                            filters: [.init(field, comparator, FieldInput(.list(Array(values.prefix(2)), of: type)))]))
                }
            }
        }
        queries.append(Query(recordType: "T", filters: [.init("l", .listContains, FieldInput(.string("a")))]))
        return queries
    }

    private static func change(_ record: StoredRecord, isKnown: Bool = true) throws -> CommittedChange {
        let entry = RecordJournalEntry(
            kind: isKnown ? .created : .deleted, position: 5, recordChangeTag: "5", recordType: "T",
            signature: record.modified, requestID: nil,
            fields: record.fields, parent: nil)
        let zone = CommittedChange(
            position: 5, zoneID: ZoneID(zoneName: ZoneID.defaultZoneName, ownerRecordName: ZoneID.publicOwner),
            owner: nil, guests: [])
        return try #require(CommittedChange.all(of: record, [entry], after: 1, in: zone).first)
    }

    @Test func indexAgreesWithComparison() throws {
        let schema = try Self.schema
        let queries = Self.queries
        let subscriptions = queries.enumerated().map { number, query in
            OwnedSubscription(
                user: "_u", scope: .public, position: 1, isHeldToRoles: false,
                subscription: Subscription(
                    Name("\(number)"), to: .query(Subscription.RecordSubject(query, firesOn: [.create, .delete]))))
        }
        let index = SubscriptionIndex(subscriptions, in: schema)
        var records = [
            Self.record("n1", []), Self.record("n2", [Field(name: "l", value: .list([.string("a")], of: .string))]),
        ]
        for (field, values) in Self.values {
            for value in values {
                for more in [0, 1] as [Int64] {
                    records.append(
                        Self.record(
                            "n1",
                            [Field(name: field, value: value)]
                                + (field == "i" ? [] : [Field(name: "i", value: .int64(more))])))
                }
            }
        }
        var matched = 0
        for record in records {
            let expected = try queries.enumerated().filter { _, query in
                let resolved = try ResolvedQuery(query, in: schema)
                return resolved.matches(try QueriedRecord(record, for: resolved))
            }.map { "\($0.offset)" }
            let found = index.subscriptions(firedBy: try Self.change(record)).map(\.subscription.subscriptionID.string)
            #expect(Set(found) == Set(expected) && found.count == expected.count, "\(record.fields)")
            // Each of the others has a reason, and it is a filter.
            let change = try Self.change(record)
            let misses = subscriptions.filter { SubscriptionMiss(of: $0, by: change, in: schema) != nil }
            #expect(misses.count == subscriptions.count - found.count)
            matched += found.count
        }
        #expect(matched > records.count)
        // Nobody knows how the record was.
        let unknown = index.subscriptions(firedBy: try Self.change(Self.record("n1", []), isKnown: false))
        #expect(unknown.count == queries.count)
        // Nor how a damaged one is. It keeps no other from being told.
        var damaged = Self.record("n1", [])
        damaged.fields = FieldsText(bytes: Array("{\"s\":".utf8))
        #expect(index.subscriptions(firedBy: try Self.change(damaged)).count == queries.count)
    }

    @Test func subscriptionsOfOtherPlacesAreNotFired() throws {
        let subject = Subscription.Subject.query(Subscription.RecordSubject(Query(recordType: "T"), firesOn: [.create]))
        func owned(_ user: Name, _ scope: DatabaseScope, after position: Int64 = 1, _ subject: Subscription.Subject)
            -> OwnedSubscription
        {
            OwnedSubscription(
                user: user, scope: scope, position: position, isHeldToRoles: false,
                subscription: Subscription("\(user)", to: subject))
        }
        let zone = ZoneID(zoneName: "Z", ownerRecordName: "_a")
        let index = SubscriptionIndex(
            [
                owned("_a", .private, subject), owned("_b", .private, subject), owned("_c", .public, subject),
                owned("_d", .public, after: 5, subject),
                owned("_e", .shared, .database(recordType: nil)),
                owned("_f", .shared, .database(recordType: nil)),
                owned("_g", .private, .zone(zone, recordType: nil)),
            ], in: try Self.schema)
        var change = try Self.change(Self.record("n", []))
        /// The subscribers who are told. All others have a reason.
        func fired() throws -> [Name] {
            let fired = index.subscriptions(firedBy: change)
            let schema = try Self.schema
            #expect(index.all.filter { SubscriptionMiss(of: $0, by: change, in: schema) == nil } == fired)
            return fired.map(\.user)
        }
        #expect(try fired() == ["_c"])
        (change.owner, change.zoneID, change.guests) = ("_a", zone, ["_e"])
        #expect(try fired() == ["_a", "_e"])
        change.record = nil
        #expect(try fired() == ["_e"])
        // A change that only a guest sees is neither the owner's nor public.
        change = try Self.change(Self.record("n", []))
        (change.zoneID, change.guests) = (zone, ["_f"])
        #expect(try fired() == ["_f"])
        change.guests = []
        #expect(try fired() == [])
    }
}
