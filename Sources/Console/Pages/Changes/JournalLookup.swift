internal import RecordStore
internal import Records

/// Says of records that changed after a place in the feed whether they changed before it as well.
struct JournalLookup: Sendable {
    enum Past: Sendable {
        /// The last change in the part of the feed that was asked for.
        case changed(RecordJournalEntry)
        /// There was none, or no record yet.
        case unchanged
        /// Nothing is kept from then.
        case unknown
    }

    private let database: any RecordJournalling
    private let after: Int64
    private let through: Int64
    private let isComplete: Bool

    /// - Parameters:
    ///   - after: changes after this position are looked for…
    ///   - through: …up to this one.
    ///   - isComplete: whether `created` of a change says that there was no record of the name before.
    init(_ database: any RecordJournalling, after: Int64, through: Int64, isComplete: Bool) {
        self.database = database
        self.after = after
        self.through = through
        self.isComplete = isComplete
    }

    /// - Parameter change: one after that part.
    func past(of change: RecordChange) async throws -> Past {
        if change.kind == .created, isComplete { return .unchanged }
        let recordID = change.record.recordID
        let then = try await database.journal(RecordJournalRequest(recordID, before: through.addingSaturated(1), limit: PageLimit(records: 1, bytes: 0)))
        if let entry = then.entries.first { return entry.position > after ? .changed(entry) : .unchanged }
        // A record that was made later was not there then, unless one of the name had been deleted that is forgotten.
        let limits = then.limits
        guard !limits.isOff else { return .unknown }
        let later = try await database.journal(RecordJournalRequest(recordID, limit: Self.later(limits)))
        guard later.before == nil, later.entries.count < limits.versions, let first = later.entries.last, first.act == .created,
            first.signature.timestamp > limits.oldest(at: .now())
        else { return .unknown }
        return .unchanged
    }

    /// Later versions that are read to find where a record began: few, and of large records fewer, as they come with their fields.
    private static func later(_ limits: JournalLimits) -> PageLimit {
        PageLimit(records: min(limits.versions, 20), bytes: 1 << 17)
    }
}
