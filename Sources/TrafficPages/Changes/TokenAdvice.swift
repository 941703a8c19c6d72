internal import Records
internal import Workbench

/// Advice for clients whose token is refused.
enum TokenAdvice {
    /// - Parameter sent: the text of the refused token; `nil` if it is unknown.
    static func sentences(for error: RecordError, sent: String? = nil) -> [String] {
        switch error.known {
        case .expiredToken:
            expired
        case .unknownToken:
            if let kind = sent.flatMap({ PastedValue($0).kind }), kind != .changeToken, kind.isCertain {
                [kind.title + "."] + kind.advice + [withoutToken]
            } else {
                [
                    "The token is damaged, or belongs to another zone, database or user.",
                    "Send exactly the token that the server returned for this zone. A database token is not a zone token.",
                    withoutToken,
                ]
            }
        case _ where error.code == .zoneNotFound:
            ["The zone was deleted or purged, or is no longer shared.", "Delete the client's copy of it. The database's changes list it as deleted."]
        default: []
        }
    }

    private static let withoutToken = "If the token is lost, pull without a token."

    static let expired = [
        "Discard the zone's token, and pull without a token.",
        "Store every record that comes as new or changed.",
        "Then delete local records that were not returned: a first pull lists no earlier deletions.",
    ]
}
