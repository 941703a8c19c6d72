internal import JSON
internal import Records

extension ChatDemo {
    /// A well-designed schema: only fields that the app queries have indexes. `Message.author` has none, as an example of a refused query.
    static let types = [
        type(
            "Person",
            [
                "name": (.string, [.queryable, .sortable, .searchable]), "nicknames": (.list(.string), .queryable),
                "birthday": (.timestamp, [.queryable, .sortable]), "home": (.location, .queryable), "luckyNumbers": (.list(.int64), .queryable),
                "score": (.double, [.queryable, .sortable]), "portrait": (.asset, []),
            ], system: [.recordID: [.queryable, .sortable]]),
        type(
            "Room",
            [
                "title": (.string, [.queryable, .sortable]), "topic": (.string, .searchable), "openedAt": (.timestamp, [.queryable, .sortable]),
                "lastMessageAt": (.timestamp, .sortable), "messageCount": (.int64, [.queryable, .sortable]), "members": (.list(.reference), .queryable),
                "milestones": (.list(.timestamp), []), "meetingPoints": (.list(.location), []),
            ]),
        type(
            "Message",
            [
                "text": (.string, [.queryable, .searchable]), "room": (.reference, .queryable), "author": (.reference, []),
                "sentAt": (.timestamp, [.queryable, .sortable]), "editedAt": (.timestamp, .sortable), "size": (.int64, [.queryable, .sortable]),
                "place": (.location, .queryable), "sentiment": (.double, [.queryable, .sortable]), "mentions": (.list(.reference), .queryable),
                "preview": (.bytes, []), "waveform": (.list(.double), []), "keys": (.list(.bytes), []), "isPinned": (.int64, .queryable),
                "attachments": (.list(.asset), []), "voice": (.asset, []),
            ], system: [.recordID: .queryable, .modTime: [.queryable, .sortable]]),
        type(
            "Reaction",
            ["emoji": (.string, [.queryable, .sortable]), "message": (.reference, .queryable), "author": (.reference, .queryable)]),
        type(
            "Setting",
            [
                "key": (.string, [.queryable, .sortable]), "text": (.string, []), "number": (.double, []), "moment": (.timestamp, []),
            ]),
        type(
            "Announcement",
            [
                "title": (.string, [.queryable, .searchable]), "body": (.string, .searchable), "publishedAt": (.timestamp, [.queryable, .sortable]),
                "level": (.int64, [.queryable, .sortable]), "tags": (.list(.string), .queryable), "leaflet": (.asset, []), "picture": (.asset, []),
            ]),
    ]

    private static func type(
        _ name: Name, _ fields: [Name: (FieldType, Indexes)], system: [SystemField: Indexes] = [.recordID: .queryable]
    ) -> RecordType {
        RecordType(name: name, fields: fields.mapValues { FieldDefinition(type: $0.0, indexes: $0.1) }, systemIndexes: system)
    }
}
