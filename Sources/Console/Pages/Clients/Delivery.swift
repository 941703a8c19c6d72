internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// What became of a record on its way to one client.
enum Delivery: Sendable {
    /// A request and when it came.
    struct Source: Sendable {
        let requestID: String
        let started: Timestamp
        let operation: String
    }

    /// Sent as it is now, in the answer to one request. Fields that the client did not ask for were left out.
    case delivered(Source, missing: [Name])
    /// Sent in one of the pulls since then.
    case deliveredSince(Timestamp, missing: [Name])
    /// Found by a query or a lookup, though not pulled.
    case found(Source)
    /// The client asked for other types; the request that passed it by, where it is known.
    case otherTypes(Source?, asked: [Name])
    /// More was coming, and the client did not go on.
    case moreNotFetched(Source, reached: Int64)
    /// Saved after the last pull.
    case notPulledSince(Source, reached: Int64, hasEarlierVersion: Bool)
    /// The client's token is past the record, and the log does not know since when.
    case beforeTheLog(reached: Int64)
    /// The client began with a token past the record that no pull had given it.
    case skipped(Source, position: Int64)
    /// Its last pull failed.
    case refused(Source, RecordError)
    /// There are more pulls than one page looks at.
    case notLookedAt
    /// It pulls, but not this zone.
    case otherZones([String])
    /// It never asked for changes.
    case neverPulled
    /// It only uses other databases or another environment.
    case elsewhere([String])

    /// Whether the client has the record, as far as is known.
    var isDelivered: Bool {
        switch self {
        case .delivered, .deliveredSince, .found, .beforeTheLog: true
        default: false
        }
    }
}
