internal import JSON
internal import Records

/// Why a store can't be opened or read, and since when.
struct StoreTrouble: Sendable, Equatable {
    let reason: RecordError
    let since: Timestamp

    init(_ reason: RecordError, since: Timestamp) {
        self.reason = reason
        self.since = since
    }
}
