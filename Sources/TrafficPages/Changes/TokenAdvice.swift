internal import Records

/// Advice for clients whose token is refused.
enum TokenAdvice {
    static func sentences(for error: RecordError) -> [String] {
        switch (error.code, error.reason) {
        case (.badRequest, let reason) where reason.contains("client knowledge differs"):
            expired
        case (.badRequest, let reason) where reason.contains("sync continuation"):
            [
                "The token is damaged, or was given out for another zone, database or user.",
                "Send exactly what the server gave for this zone; a database token only says which zones to ask.",
                "If it is lost, start without a token.",
            ]
        case (.zoneNotFound, _):
            ["The zone was deleted, purged, or is no longer shared.", "Drop what the client keeps of it; the database's changes list it as deleted."]
        default: []
        }
    }

    static let expired = [
        "Drop the zone's cache of tokens and start without a token.",
        "Take every record that comes as new or changed.",
        "Then delete locally what did not come back: deletions from before are not listed in a first pull.",
    ]
}
