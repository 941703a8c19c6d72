internal import Records

/// A chat app with several years of data: rooms in several zones, messages with reactions, edits
/// and deletions, a deleted zone, a purged zone, and a public database with announcements.
struct ChatDemo {
    /// A room, with its number of messages.
    struct Room {
        let name: Name
        let title: String
        let topic: String
        let zone: Name
        let members: [Name]
        let texts: [String]
        let first: Timestamp
        let last: Timestamp
        /// Below the limit of 750 DELETE_SELF references to one room.
        let messages: Int
        /// The time when the room was deleted with all its messages.
        var closed: Timestamp?
    }

    let people: DemoData.People

    static let devices = ["iPhone-7C21", "Mac-03F9", "iPad-51AA"]
    static let zones: [Name] = ["Chats", "Family", "Book Club"]
    static let end = Timestamp(2026, 10, 30, 18)

    static let rooms = [
        Room(
            name: "Room/general", title: "General", topic: "Everything that has no room of its own", zone: "Chats",
            members: ["Person/ada", "Person/grace", "Person/mary", "Person/alan"], texts: DemoText.work,
            first: Timestamp(2019, 3, 2, 9),
            last: end, messages: 520),
        Room(
            name: "Room/sync", title: "Sync", topic: "Tokens, zones and other riddles", zone: "Chats",
            members: ["Person/ada", "Person/grace", "Person/alan"], texts: DemoText.work,
            first: Timestamp(2020, 6, 15, 10),
            last: Timestamp(2026, 10, 28, 16), messages: 380),
        Room(
            name: "Room/lunch", title: "Lunch 🍜", topic: "12:30", zone: "Chats",
            members: ["Person/ada", "Person/grace", "Person/mary"],
            texts: DemoText.lunch, first: Timestamp(2019, 9, 1, 11), last: Timestamp(2026, 10, 29, 12), messages: 320),
        Room(
            name: "Room/drafts", title: "Drafts", topic: "To be deleted", zone: "Chats", members: ["Person/ada"],
            texts: DemoText.work,
            first: Timestamp(2021, 1, 10, 8), last: Timestamp(2021, 5, 3, 20), messages: 60,
            closed: Timestamp(2021, 5, 9, 21)),
        Room(
            name: "Room/family", title: "Family", topic: "🏡", zone: "Family",
            members: ["Person/ada", "Person/byron", "Person/annabella"],
            texts: DemoText.family, first: Timestamp(2019, 12, 24, 17), last: Timestamp(2026, 10, 30, 8), messages: 430),
        Room(
            name: "Room/holidays", title: "Holidays", topic: "Where to?", zone: "Family",
            members: ["Person/ada", "Person/annabella"],
            texts: DemoText.family, first: Timestamp(2022, 2, 1, 19), last: Timestamp(2026, 8, 20, 21), messages: 170),
        Room(
            name: "Room/books", title: "Books", topic: "One book a month", zone: "Book Club",
            members: ["Person/ada", "Person/mary"],
            texts: DemoText.books, first: Timestamp(2020, 1, 7, 20), last: Timestamp(2026, 10, 12, 22), messages: 340),
    ]

    static let members: [(name: Name, fields: [Name: FieldValue])] = [
        person(
            "ada", "Ada Lovelace", ["Ada", "Countess"], born: Timestamp(1985, 12, 10), home: (51.5237, -0.1586),
            numbers: [7, 42]),
        person(
            "grace", "Grace Hopper", ["Amazing Grace"], born: Timestamp(1986, 12, 9), home: (40.7486, -73.9857),
            numbers: [9, 1947]),
        person("mary", "Mary Shelley", ["M."], born: Timestamp(1997, 8, 30), home: (46.2044, 6.1432), numbers: [1818]),
        person("alan", "Alan Turing", [], born: Timestamp(1992, 6, 23), home: (51.9977, -0.7407), numbers: [0, 1]),
        person(
            "byron", "George Gordon Byron", ["Papa"], born: Timestamp(1958, 1, 22), home: (52.9951, -1.1989),
            numbers: []),
        person(
            "annabella", "Anne Isabella Milbanke", ["Maman", "Annabella"], born: Timestamp(1962, 5, 17),
            home: (54.8606, -1.3502), numbers: [3]),
    ]

    private static func person(
        _ key: String, _ name: String, _ nicknames: [String], born: Timestamp, home: (Double, Double), numbers: [Int64]
    ) -> (name: Name, fields: [Name: FieldValue]) {
        (
            Name("Person/\(key)"),
            [
                "name": .string(name), "nicknames": .strings(nicknames), "birthday": .timestamp(born),
                "home": .place(home.0, home.1),
                "luckyNumbers": .list(numbers.map { .int64($0) }, of: .int64),
                "score": .double(Double(name.utf8.count) / 4),
            ]
        )
    }

    var story: DemoStory {
        let zones = Self.zones.enumerated().flatMap { index, zone in
            ChatZoneDemo(user: people.developer, zoneID: ZoneID(zoneName: zone), seed: UInt64(2019 + index)).events
        }
        return DemoStory(
            container: "iCloud.com.example.Chat", types: Self.types,
            events: [
                .zones(
                    Self.zones.map { .create(ZoneID(zoneName: $0)) }, as: people.developer, at: Timestamp(2019, 3, 2, 8)
                )
            ]
                + announcements + zones + settings
                + leftBehind("Archive 2018", at: Timestamp(2019, 4, 1))
                + leftBehind("Trial", at: Timestamp(2023, 2, 11))
                + [
                    .zones(
                        [.delete(ZoneID(zoneName: "Archive 2018"))], as: people.developer,
                        at: Timestamp(2024, 1, 31, 22)),
                    .purge(ZoneID(zoneName: "Trial"), of: people.developer, at: Timestamp(2024, 5, 5, 9)),
                ])
    }

    /// A few records in the default zone, which has no feed.
    private var settings: [DemoEvent] {
        let operations: [RecordOperation] = [
            .put("Setting", "Setting/theme", ["key": .string("theme"), "text": .string("dark")]),
            .put("Setting", "Setting/fontSize", ["key": .string("fontSize"), "number": .double(13.5)]),
            .put("Setting", "Setting/lastSeen", ["key": .string("lastSeen"), "moment": .timestamp(Self.end)]),
        ]
        return [.save(operations, in: .default, as: people.developer, on: Self.devices[0], at: Self.end)]
    }

    /// A zone that is deleted later: either by a client, or by the user in the system settings, which purges it.
    private func leftBehind(_ zoneName: Name, at moment: Timestamp) -> [DemoEvent] {
        let zoneID = ZoneID(zoneName: zoneName)
        let room: Name = "Room/old"
        let messages: [RecordOperation] = (1...20).map { number in
            .put(
                "Message", Name("\(zoneName)-\(number)"), parent: room,
                [
                    "text": .string(DemoText.work[number]), "room": .link(room, .deleteSelf),
                    "sentAt": .timestamp(moment.adding(minutes: number)),
                ])
        }
        let operations =
            [.put("Room", room, ["title": .string(zoneName.string), "openedAt": .timestamp(moment)])] + messages
        return [
            .zones([.create(zoneID)], as: people.developer, at: moment),
            .save(operations, in: zoneID, as: people.developer, on: Self.devices[1], at: moment.adding(hours: 1)),
        ]
    }

    private var announcements: [DemoEvent] {
        Self.announcements.enumerated().map { index, announcement in
            let operation = RecordOperation.put(
                "Announcement", Name("Announcement/\(index + 1)"),
                [
                    "title": .string(announcement.title), "body": .string(announcement.body),
                    "publishedAt": .timestamp(announcement.moment),
                    "level": .int64(announcement.level), "tags": .strings(announcement.tags),
                ])
            return .save(
                [operation], with: Self.enclosures(of: index), in: .default, of: .public, as: people.developer,
                on: Self.devices[1], at: announcement.moment)
        }
    }

    private static func enclosures(of index: Int) -> [DemoAttachment] {
        let name = Name("Announcement/\(index + 1)")
        return switch index {
        case 1: [.one(.leaflet, "leaflet", of: name)]
        case 4: [.one(.picture("Salzkammergut"), "picture", of: name)]
        default: []
        }
    }

    private static let announcements: [(moment: Timestamp, title: String, body: String, level: Int64, tags: [String])] =
        [
            (Timestamp(2019, 3, 2), "Hello", "Chat is here. Say something.", 1, ["release"]),
            (
                Timestamp(2019, 11, 20), "Reactions", "Long-press a message. All emoji welcome, even 🫠.", 1,
                ["release", "feature"]
            ),
            (
                Timestamp(2020, 4, 1), "Zones", "Every circle has its own zone now. No, this is not a joke.", 2,
                ["feature", "sync"]
            ),
            (
                Timestamp(2021, 5, 4), "The Drafts room was closed",
                "It was deleted with all its messages, as announced.", 3, ["notice"]
            ),
            (
                Timestamp(2022, 9, 12), "Neue Sprachen", "Deutsch, français, 日本語 und العربية.", 1,
                ["release", "languages"]
            ),
            (
                Timestamp(2023, 7, 7), "Maintenance on Sunday",
                "Between 02:00 and 02:10 UTC nothing can be saved. Reading works.", 2, ["notice", "maintenance"]
            ),
            (
                Timestamp(2024, 10, 1), "Faster first sync",
                "System fields first, texts later: a new device is ready in two seconds.", 1, ["release", "sync"]
            ),
            (
                Timestamp(2026, 6, 9), "Five hundred messages",
                "The general room has more than five hundred. Congratulations to the talkative.", 1, ["fun"]
            ),
        ]
}

// MARK: - Files

extension ChatDemo {
    /// Messages with files of many types.
    static let filesSent:
        [(name: Name, room: Name, author: Name, text: String, attachments: [@Sendable (Name) -> DemoAttachment])] = [
            (
                "Message/pictures", "Room/family", "Person/annabella", "Three pictures from the holidays",
                [
                    {
                        .list(
                            [
                                .picture("Morning"), .picture("Noon"),
                                .picture("Evening"),
                            ], "attachments", of: $0)
                    }
                ]
            ),
            (
                "Message/night", "Room/holidays", "Person/ada", "And one from the night train",
                [{ .list([.picture("Night")], "attachments", of: $0) }]
            ),
            (
                "Message/melody", "Room/general", "Person/mary", "Guess what we rehearse",
                [{ .one(.melody, "voice", of: $0) }]
            ),
            (
                "Message/log", "Room/sync", "Person/grace", "The log of the day, 76,000 lines",
                [{ .list([.syncLog], "attachments", of: $0) }]
            ),
            (
                "Message/backup", "Room/sync", "Person/alan", "The backup, encrypted: nothing makes it smaller",
                [{ .list([.backup], "attachments", of: $0) }]
            ),
            (
                "Message/papers", "Room/general", "Person/ada",
                "All the papers: settings, preferences, prices, a walk and the leaflet",
                [
                    {
                        .list(
                            [.settings, .textPreferences, .binaryPreferences, .prices, .walk, .leaflet], "attachments",
                            of: $0)
                    }
                ]
            ),
            (
                "Message/note", "Room/books", "Person/mary", "A voice note with a picture of the shelf",
                [{ .one(.melody, "voice", of: $0) }, { .list([.picture("Shelf")], "attachments", of: $0) }]
            ),
        ]
}

// MARK: - Schema

extension ChatDemo {
    /// A well-designed schema: only fields that the app queries have indexes. `Message.author` has none, as an example
    /// of a refused query.
    static let types = [
        type(
            "Person",
            [
                "name": (.string, [.queryable, .sortable, .searchable]), "nicknames": (.list(.string), .queryable),
                "birthday": (.timestamp, [.queryable, .sortable]), "home": (.location, .queryable),
                "luckyNumbers": (.list(.int64), .queryable),
                "score": (.double, [.queryable, .sortable]), "portrait": (.asset, []),
            ], system: [.recordID: [.queryable, .sortable]]),
        type(
            "Room",
            [
                "title": (.string, [.queryable, .sortable]), "topic": (.string, .searchable),
                "openedAt": (.timestamp, [.queryable, .sortable]),
                "lastMessageAt": (.timestamp, .sortable), "messageCount": (.int64, [.queryable, .sortable]),
                "members": (.list(.reference), .queryable),
                "milestones": (.list(.timestamp), []), "meetingPoints": (.list(.location), []),
            ]),
        type(
            "Message",
            [
                "text": (.string, [.queryable, .searchable]), "room": (.reference, .queryable),
                "author": (.reference, []),
                "sentAt": (.timestamp, [.queryable, .sortable]), "editedAt": (.timestamp, .sortable),
                "size": (.int64, [.queryable, .sortable]),
                "place": (.location, .queryable), "sentiment": (.double, [.queryable, .sortable]),
                "mentions": (.list(.reference), .queryable),
                "preview": (.bytes, []), "waveform": (.list(.double), []), "keys": (.list(.bytes), []),
                "isPinned": (.int64, .queryable),
                "attachments": (.list(.asset), []), "voice": (.asset, []),
            ], system: [.recordID: .queryable, .modTime: [.queryable, .sortable]]),
        type(
            "Reaction",
            [
                "emoji": (.string, [.queryable, .sortable]), "message": (.reference, .queryable),
                "author": (.reference, .queryable),
            ]),
        type(
            "Setting",
            [
                "key": (.string, [.queryable, .sortable]), "text": (.string, []), "number": (.double, []),
                "moment": (.timestamp, []),
            ]),
        type(
            "Announcement",
            [
                "title": (.string, [.queryable, .searchable]), "body": (.string, .searchable),
                "publishedAt": (.timestamp, [.queryable, .sortable]),
                "level": (.int64, [.queryable, .sortable]), "tags": (.list(.string), .queryable),
                "leaflet": (.asset, []), "picture": (.asset, []),
            ]),
    ]

    private static func type(
        _ name: Name, _ fields: [Name: (FieldType, Indexes)], system: [SystemField: Indexes] = [.recordID: .queryable]
    ) -> RecordType {
        RecordType(
            name: name, fields: fields.mapValues { FieldDefinition(type: $0.0, indexes: $0.1) }, systemIndexes: system)
    }
}
