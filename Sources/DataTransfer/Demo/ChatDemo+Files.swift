internal import JSON
internal import Records

extension ChatDemo {
    /// Messages with files of many types.
    static let filesSent: [(name: Name, room: Name, author: Name, text: String, attachments: [@Sendable (Name) -> DemoAttachment])] = [
        (
            "Message/pictures", "Room/family", "Person/annabella", "Three pictures from the holidays",
            [{ .list([.landscape("Morning", seed: 4), .landscape("Noon", seed: 5), .landscape("Evening", seed: 6)], "attachments", of: $0) }]
        ),
        (
            "Message/night", "Room/holidays", "Person/ada", "And one from the night train",
            [{ .list([.landscape("Night", seed: 7)], "attachments", of: $0) }]
        ),
        ("Message/melody", "Room/general", "Person/mary", "Guess what we rehearse", [{ .one(.melody, "voice", of: $0) }]),
        ("Message/log", "Room/sync", "Person/grace", "The log of the day, 76,000 lines", [{ .list([.syncLog], "attachments", of: $0) }]),
        (
            "Message/backup", "Room/sync", "Person/alan", "The backup, encrypted: nothing makes it smaller",
            [{ .list([.backup], "attachments", of: $0) }]
        ),
        (
            "Message/papers", "Room/general", "Person/ada", "All the papers: settings, preferences, prices, a walk and the leaflet",
            [{ .list([.settings, .textPreferences, .binaryPreferences, .prices, .walk, .leaflet], "attachments", of: $0) }]
        ),
        (
            "Message/note", "Room/books", "Person/mary", "A voice note with a picture of the shelf",
            [{ .one(.melody, "voice", of: $0) }, { .list([.pattern("Shelf", seed: 31)], "attachments", of: $0) }]
        ),
    ]
}
