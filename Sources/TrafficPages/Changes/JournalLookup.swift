internal import RecordStore
internal import Records

/// Finds out whether records that changed after a position in the feed also changed before it.
struct JournalLookup: Sendable {
    enum Past: Sendable {
        /// The last change in the requested part of the feed.
        case changed(RecordJournalEntry)
        /// There was no change, or the record did not exist yet.
        case unchanged
        /// The journal has no entries from that time.
        case unknown
    }

    private let database: any RecordDatabase
    private let after: Int64
    private let through: Int64
    private let isComplete: Bool

    /// - Parameters:
    ///   - after: searches for changes after this position.
    ///   - through: searches for changes up to this position.
    ///   - isComplete: true if a change of kind `created` proves that the record name was unused before.
    init(_ database: any RecordDatabase, after: Int64, through: Int64, isComplete: Bool) {
        self.database = database
        self.after = after
        self.through = through
        self.isComplete = isComplete
    }

    /// - Parameter change: a change after that part.
    func past(of change: RecordChange) async throws -> Past {
        if change.kind == .created, isComplete { return .unchanged }
        let recordID = change.recordID
        let then = try await database.journal(RecordJournalRequest(recordID, before: through.addingSaturated(1), limit: PageLimit(records: 1, bytes: 0)))
        if let entry = then.entries.first { return entry.position > after ? .changed(entry) : .unchanged }
        // A record that was created later did not exist then, unless an earlier record of the same name was deleted and forgotten.
        let limits = then.limits
        guard !limits.isOff else { return .unknown }
        let later = try await database.journal(RecordJournalRequest(recordID, limit: Self.later(limits)))
        guard later.before == nil, later.entries.count < limits.versions, let first = later.entries.last, first.act == .created,
            first.signature.timestamp > limits.oldest(at: .now())
        else { return .unknown }
        return .unchanged
    }

    /// The maximum number of later versions to read to find a record's creation.
    /// The byte limit further restricts large records, whose fields are read too.
    private static func later(_ limits: JournalLimits) -> PageLimit {
        PageLimit(records: min(limits.versions, 20), bytes: 1 << 17)
    }
}
