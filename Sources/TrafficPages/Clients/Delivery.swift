internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// A client as one user, as requests identify them.
struct Asker: Hashable {
    let client: String
    let user: Name
}

/// The delivery state of a record for one client.
enum Delivery: Sendable {
    /// A request and its time.
    struct Source: Sendable, Hashable {
        let requestID: String
        let started: Timestamp
        let operation: String
    }

    /// The answer to one request delivered the current version. Fields that the client did not request are missing.
    case delivered(Source, missing: [Name])
    /// One of the pulls since then delivered it.
    case deliveredSince(Timestamp, missing: [Name])
    /// A query or a lookup returned it, but no pull did.
    case found(Source)
    /// The client requested other types only. Includes the request that skipped the record, if known.
    case otherTypes(Source?, asked: [Name])
    /// The answer had more to come, and the client did not continue.
    case moreNotFetched(Source, reached: Int64)
    /// The record was saved after the client's last pull.
    case notPulledSince(Source, reached: Int64, hasEarlierVersion: Bool)
    /// The client's token is past the record, and the log does not go back to the delivery.
    case beforeTheLog(reached: Int64)
    /// The client started with a token past the record that no pull had returned.
    case skipped(Source, position: Int64)
    /// The client's last pull failed.
    case refused(Source, RecordError)
    /// The log has more pulls than one page examines.
    case notLookedAt
    /// The client pulls other zones, but not this one.
    case otherZones([String])
    /// The client never requested changes.
    case neverPulled
    /// The client only uses other databases or another environment.
    case elsewhere([String])
    /// No client of the user is known.
    case noClient

    /// The operation that saves records.
    static let save = "records/modify"

    /// True if the client has the record, as far as is known.
    var isDelivered: Bool {
        switch self {
        case .delivered, .deliveredSince, .found, .beforeTheLog: true
        default: false
        }
    }
}
