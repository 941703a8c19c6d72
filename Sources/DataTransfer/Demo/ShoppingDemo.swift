internal import RecordStore
internal import Records

/// Shopping lists that are shared, each by the record of the list, and a zone that is shared as a whole. The shared
/// database has zones of several owners, two of them with the same name, and a zone that is no longer shared.
struct ShoppingDemo {
    let people: DemoData.People

    private static let things: [(title: String, unit: String, price: Double, aisle: Int64)] = [
        ("Milk", "l", 1.19, 4), ("Crème fraîche", "g", 0.99, 4), ("Sourdough bread", "pc", 4.2, 1),
        ("Äpfel", "kg", 2.49, 2),
        ("Coffee ☕️", "g", 7.99, 6), ("豆腐", "g", 1.89, 3), ("Olive oil", "ml", 8.49, 6),
        ("Washing powder", "kg", 5.79, 9),
        ("Jalapeños", "pc", 0.39, 2), ("Rice", "kg", 2.29, 5), ("Stamps", "pc", 0.85, 0),
        ("Batteries AA", "pc", 0.75, 9),
    ]

    var story: DemoStory {
        let household = ZoneID(zoneName: "Household")
        let fondue = ZoneID(zoneName: "Käsefondue 🫕")
        let camping = ZoneID(zoneName: "Camping")
        let zones =
            zone(
                household, of: people.developer, lists: ["Weekly", "Hardware store"], at: Timestamp(2024, 1, 8, 10),
                seed: 1)
            + zone(household, of: people.ada, lists: ["Flat", "Cleaning"], at: Timestamp(2024, 2, 3, 18), seed: 2)
            + zone(fondue, of: people.grace, lists: ["Fondue"], at: Timestamp(2025, 12, 28, 11), seed: 3)
            + zone(camping, of: people.grace, lists: ["Tent"], at: Timestamp(2025, 7, 1, 8), seed: 4)
        return DemoStory(
            container: "iCloud.com.example.Shopping", types: Self.types,
            events: zones + weeklyList(in: household) + otherShares(household, fondue, camping)
                + shoppingTogether(in: household.zoneName))
    }

    /// The developer shares a list with Ada and Grace. An item is removed from the list and added again, one item was
    /// never part of it, and Grace removes herself from the share.
    private func weeklyList(in household: ZoneID) -> [DemoEvent] {
        let share: Name = "Share/Weekly"
        func save(_ operation: RecordOperation, at moment: Timestamp) -> DemoEvent {
            .save([operation], in: household, as: people.developer, on: "iPhone-1", at: moment)
        }
        func item(_ title: String, price: Double, at moment: Timestamp) -> [Name: FieldValue] {
            [
                "title": .string(title), "quantity": .double(1), "unit": .string("pc"), "price": .double(price),
                "aisle": .int64(9), "isDone": .int64(0),
                "list": .link("List/Weekly", .deleteSelf), "addedAt": .timestamp(moment),
            ]
        }
        let advent = Timestamp(2025, 12, 19, 9)
        let birthday = Timestamp(2026, 10, 21, 9)
        return [
            save(
                .share(
                    "List/Weekly", titled: "Weekly", as: share, with: [people.ada: .readWrite, people.grace: .readOnly]),
                at: Timestamp(2024, 1, 9)),
            .accept(share, in: household, of: people.developer, as: people.ada, at: Timestamp(2024, 1, 9, 18)),
            .accept(share, in: household, of: people.developer, as: people.grace, at: Timestamp(2024, 1, 10)),
            save(
                .put("Item", "Weekly-candles", parent: "List/Weekly", item("Candles", price: 3.49, at: advent)),
                at: advent),
            save(
                .change(
                    "Item", "Weekly-candles", parent: "List/Hardware store",
                    ["list": .link("List/Hardware store", .deleteSelf)]), at: advent.adding(days: 1)),
            save(
                .change("Item", "Weekly-candles", parent: "List/Weekly", ["list": .link("List/Weekly", .deleteSelf)]),
                at: advent.adding(days: 2)),
            // A common mistake: the item refers to the list but has no parent, so Ada never sees it.
            save(.put("Item", "Weekly-cake", item("Birthday cake 🎂", price: 18, at: birthday)), at: birthday),
            .save(
                [.remove(share)], in: ZoneID(zoneName: household.zoneName, ownerRecordName: people.developer),
                of: .shared, as: people.grace, on: "iPhone-3",
                at: birthday.adding(days: 1)),
        ]
    }

    private func otherShares(_ household: ZoneID, _ fondue: ZoneID, _ camping: ZoneID) -> [DemoEvent] {
        let cheese = Timestamp(2025, 12, 28, 14)
        return [
            .save(
                [
                    .share("List/Flat", titled: "Flat", as: "Share/Flat", with: [people.developer: .readWrite]),
                    // Grace has not accepted.
                    .share("List/Cleaning", titled: "Cleaning", as: "Share/Cleaning", with: [people.grace: .readWrite]),
                ], in: household, as: people.ada, on: "iPhone-2", at: Timestamp(2024, 2, 4)),
            .accept("Share/Flat", in: household, of: people.ada, as: people.developer, at: Timestamp(2024, 2, 4, 13)),
            .save(
                [.share("List/Tent", titled: "Tent", as: "Share/Tent", with: [people.developer: .readWrite])],
                in: camping, as: people.grace, on: "iPhone-4",
                at: Timestamp(2025, 7, 2)),
            .accept("Share/Tent", in: camping, of: people.grace, as: people.developer, at: Timestamp(2025, 7, 2, 13)),
            .save(
                [.remove("Share/Tent")], in: camping, as: people.grace, on: "iPhone-4", at: Timestamp(2025, 8, 15, 20)),
            .save(
                [
                    .share(
                        nil, titled: "Fondue", as: Share.zoneWideName,
                        with: [people.developer: .readOnly, people.ada: .readWrite])
                ], in: fondue,
                as: people.grace, on: "iPhone-3", at: cheese),
            .accept(
                Share.zoneWideName, in: fondue, of: people.grace, as: people.developer, at: cheese.adding(minutes: 2)),
            .accept(Share.zoneWideName, in: fondue, of: people.grace, as: people.ada, at: cheese.adding(minutes: 5)),
        ]
    }

    private func zone(_ zoneID: ZoneID, of owner: Name, lists: [String], at moment: Timestamp, seed: UInt64)
        -> [DemoEvent]
    {
        var random = DemoRandom(seed: seed)
        var events = [DemoEvent.zones([.create(zoneID)], as: owner, at: moment)]
        for title in lists {
            let list = Name("List/\(title)")
            var attachments: [DemoAttachment] = []
            var operations: [RecordOperation] = [
                .put(
                    "ShoppingList", list,
                    ["title": .string(title), "openedAt": .timestamp(moment), "isArchived": .int64(0)])
            ]
            for (index, thing) in Self.things.enumerated() where random.number(below: 4) > 0 {
                // Items that occur on several lists have the same picture.
                if index % 4 == 2 {
                    attachments.append(
                        .one(.picture(thing.title), "photo", of: Name("\(title)-\(index + 1)")))
                }
                operations.append(
                    .put(
                        "Item", Name("\(title)-\(index + 1)"), parent: list,
                        [
                            "title": .string(thing.title), "quantity": .double(Double(random.number(in: 1...8)) / 2),
                            "unit": .string(thing.unit),
                            "price": .double(thing.price), "aisle": .int64(thing.aisle), "isDone": .int64(0),
                            "list": .link(list, .deleteSelf),
                            "addedAt": .timestamp(moment.adding(minutes: index)), "barcode": .bytes(random.bytes(13)),
                            "labels": .strings(index % 3 == 0 ? ["organic", "local"] : []),
                        ]))
            }
            if title == "Weekly" { attachments.append(.list([.prices, .settings], "receipts", of: list)) }
            events.append(
                .save(
                    operations, with: attachments, in: zoneID, as: owner, on: "iPhone-\(seed)",
                    at: moment.adding(minutes: 20)))
        }
        return events
    }

    /// Participants check off items and add others. Each record names its author.
    private func shoppingTogether(in zoneName: Name) -> [DemoEvent] {
        let own = ZoneID(zoneName: zoneName)
        let flat = ZoneID(zoneName: zoneName, ownerRecordName: people.ada)
        let home = ZoneID(zoneName: zoneName, ownerRecordName: people.developer)
        let weeks = (0..<6).flatMap { week -> [DemoEvent] in
            let moment = Timestamp(2026, 9, 4, 17).adding(days: week * 7)
            let flowers = RecordOperation.put(
                "Item", Name("Flat-extra-\(week)"), parent: "List/Flat",
                [
                    "title": .string("Flowers 🌷"), "quantity": .double(1), "unit": .string("bunch"),
                    "price": .double(9.5), "aisle": .int64(0),
                    "isDone": .int64(0), "list": .link("List/Flat", .deleteSelf), "addedAt": .timestamp(moment),
                ])
            return [
                .save([flowers], in: flat, of: .shared, as: people.developer, on: "iPhone-7C21", at: moment),
                .save(
                    [.change("Item", Name("Flat-extra-\(week)"), ["isDone": .int64(1)])], in: own, as: people.ada,
                    on: "iPhone-2",
                    at: moment.adding(hours: 3)),
                .save(
                    [
                        .change(
                            "ShoppingList", "List/Weekly",
                            ["title": .string("Weekly \(week + 1)"), "openedAt": .timestamp(moment)])
                    ], in: home,
                    of: .shared, as: people.ada, on: "iPhone-2", at: moment.adding(hours: 4)),
            ]
        }
        return weeks + [
            .save(
                [.remove("Flat-extra-0"), .remove("Flat-extra-1")], in: flat, of: .shared, as: people.developer,
                on: "Mac-03F9",
                at: Timestamp(2026, 10, 20, 9))
        ]
    }

    private static let types = [
        RecordType(
            name: "ShoppingList",
            fields: [
                "title": FieldDefinition(type: .string, indexes: [.queryable, .sortable]),
                "openedAt": FieldDefinition(type: .timestamp, indexes: [.queryable, .sortable]),
                "isArchived": FieldDefinition(type: .int64, indexes: .queryable),
                "receipts": FieldDefinition(type: .list(.asset)),
            ], systemIndexes: [.recordID: .queryable]),
        RecordType(
            name: "Item",
            fields: [
                "title": FieldDefinition(type: .string, indexes: [.queryable, .sortable, .searchable]),
                "quantity": FieldDefinition(type: .double), "unit": FieldDefinition(type: .string),
                "price": FieldDefinition(type: .double, indexes: [.queryable, .sortable]),
                "aisle": FieldDefinition(type: .int64, indexes: [.queryable, .sortable]),
                "isDone": FieldDefinition(type: .int64, indexes: .queryable),
                "list": FieldDefinition(type: .reference, indexes: .queryable),
                "addedAt": FieldDefinition(type: .timestamp, indexes: .sortable),
                "barcode": FieldDefinition(type: .bytes),
                "labels": FieldDefinition(type: .list(.string), indexes: .queryable),
                "photo": FieldDefinition(type: .asset),
            ], systemIndexes: [.recordID: .queryable, .modifiedBy: .queryable]),
    ]
}
