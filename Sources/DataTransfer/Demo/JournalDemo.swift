internal import Records

/// A journal app in the format of NSPersistentCloudKitContainer: one zone, types and fields with the prefix `CD_`,
/// to-one relationships as record names in strings, many-to-many relationships as `CDMR` records, UUIDs as names. Saves
/// created the schema, so recordName has no index and queries without a filter are refused, as in all such containers.
struct JournalDemo {
    let people: DemoData.People

    private static let zoneID = ZoneID(zoneName: "com.apple.coredata.cloudkit.zone")
    private static let devices = ["4F8A1C", "B07D93"]

    private static let days = [
        "Walked along the canal. Ice on the locks.", "Wrote the first page of the notes on the engine; tore it up.",
        "Wind from the west, 11 m/s.",
        "Finished the table of numbers. One was wrong, the seventh.", "Café with G. She talks faster than I think ☕️",
        "雪。静かな一日。",
        "Nothing happened, thoroughly.", "The swallows are back.",
        "Read about tides. The moon is heavier than it looks 🌕",
        "Rehearsal. The second violin was us.", "Gewitter am Abend, der Strom war weg.",
        "Long train ride, long thoughts, short entry.",
    ]

    var story: DemoStory {
        var random = DemoRandom(seed: 1843)
        let start = Timestamp(2022, 1, 1, 7)
        var events = [DemoEvent.zones([.create(Self.zoneID)], as: people.developer, at: start)]
        let journals = [(random.uuid(), "Diary", "#C0392B"), (random.uuid(), "Observations", "#2980B9")]
        let tags = ["weather", "people", "work", "travel", "食べ物"].map { (random.uuid(), $0) }
        let shelf: [RecordOperation] =
            journals.map {
                .put(
                    "CD_Journal", $0.0,
                    ["CD_entityName": .string("Journal"), "CD_name": .string($0.1), "CD_colorHex": .string($0.2)])
            }
            + tags.map { .put("CD_Tag", $0.0, ["CD_entityName": .string("Tag"), "CD_name": .string($0.1)]) }
        events.append(save(shelf, at: start))
        var entries: [Name] = []
        // The mirroring delegate uploads accumulated changes together. Here, each batch covers one month.
        for month in 0..<58 {
            let moment = start.adding(days: month * 30 + 29)
            var batch: [RecordOperation] = []
            var photos: [DemoAttachment] = []
            for day in 0..<4 {
                let created = start.adding(days: month * 30 + day * 7, minutes: random.number(below: 700))
                let entry = random.uuid()
                entries.append(entry)
                batch.append(.put("CD_Entry", entry, fields(of: created, in: random.pick(journals).0, &random)))
                // Core Data stores external binary data in an asset field beside the attribute.
                if month % 12 == 5, day == 1 {
                    photos.append(
                        .one(.picture("photo-\(month)", as: month == 5 ? "Noon" : nil), "CD_photo_ckAsset", of: entry))
                }
                for tag in tags where random.isTrue(oneIn: 4) {
                    batch.append(
                        .put(
                            "CDMR", random.uuid(),
                            [
                                "CD_entityNames": .string("Entry:Tag"), "CD_recordNames": .string("\(entry):\(tag.0)"),
                                "CD_relationships": .string("tags:entries"),
                            ]))
                }
            }
            events.append(save(batch, with: photos, at: moment, on: month))
        }
        let end = start.adding(days: 58 * 30)
        let reread: [RecordOperation] = entries.enumerated().filter { $0.offset % 19 == 5 }.map { index, name in
            .change(
                "CD_Entry", name,
                ["CD_modifiedAt": .timestamp(end), "CD_title": .string("Entry \(index + 1), read again")])
        }
        events.append(save(reread, at: end, on: 1))
        events.append(
            save(
                entries.enumerated().filter { $0.offset % 27 == 13 }.map { .remove($0.element) },
                at: end.adding(days: 2)))
        events.append(drawing(in: journals[1].0, at: end.adding(days: 3), &random))
        let settings: [Name: PropertyValue] = [
            "hasData": .bool(true), "lastJournal": .string("Observations"), "fontSize": .double(1.2),
            "lastBackup": .date(end),
            "reminder": .dictionary(["hour": .integer(20), "days": .array([.string("Saturday"), .string("Sunday")])]),
        ]
        events.append(.setKeys(settings, of: people.developer, at: end.adding(days: 4)))
        return DemoStory(container: "iCloud.com.example.Journal", types: [], events: events)
    }

    private func fields(of created: Timestamp, in journal: Name, _ random: inout DemoRandom) -> [Name: FieldValue] {
        let text = random.pick(Self.days)
        var fields: [Name: FieldValue] = [
            "CD_entityName": .string("Entry"), "CD_title": .string(String(text.prefix { $0 != "." && $0 != "。" })),
            "CD_body": .string(text),
            "CD_createdAt": .timestamp(created), "CD_modifiedAt": .timestamp(created),
            "CD_mood": .int64(Int64(random.number(in: 1...5))),
            "CD_journal": .string(journal.string), "CD_uuid": .string(random.uuid().string),
        ]
        if random.isTrue(oneIn: 3) {
            fields["CD_latitude"] = .double(48.2 + random.fraction() / 10)
            fields["CD_longitude"] = .double(16.3 + random.fraction() / 10)
        }
        if random.isTrue(oneIn: 5) { fields["CD_thumbnail"] = .bytes(random.bytes(128)) }
        return fields
    }

    /// An entry with an SVG image whose scripts must not run when the server delivers it.
    private func drawing(in journal: Name, at moment: Timestamp, _ random: inout DemoRandom) -> DemoEvent {
        var fields = fields(of: moment, in: journal, &random)
        fields["CD_title"] = .string("An SVG with a script inside")
        fields["CD_body"] = .string(
            "The drawing holds a script and an onload. Look at it in any way you like: nothing happens.")
        let name: Name = "SVG-WITH-A-SCRIPT-INSIDE"
        return save(
            [.put("CD_Entry", name, fields)], with: [.one(.drawingWithScript, "CD_drawing_ckAsset", of: name)],
            at: moment)
    }

    private func save(
        _ operations: [RecordOperation], with attachments: [DemoAttachment] = [], at moment: Timestamp, on turn: Int = 0
    ) -> DemoEvent {
        .save(
            operations, with: attachments, in: Self.zoneID, as: people.developer, on: Self.devices[turn % 2], at: moment
        )
    }
}
