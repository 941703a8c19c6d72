public import JSON
public import Records

/// A database that remembers what became of its records, change by change, for a bounded time (docs/journal.md).
public protocol RecordJournalling: RecordDatabase {
    /// One page of the saves and deletions of a record, the latest first. The first entry of all is the record as it is now, or its deletion.
    ///
    /// A record of which nothing is known has no entries.
    /// - Throws: `RecordError` ZONE_NOT_FOUND.
    func journal(_ request: RecordJournalRequest) async throws -> RecordJournalPage

    /// Saves a record as an earlier change left it: a save of the caller like any other, with the same rules.
    /// - Throws: `RecordError` ZONE_NOT_FOUND; NOT_FOUND when the change is not kept any more; CONFLICT when the record is not as
    ///   ``RecordReversion/recordChangeTag`` says; and what the save is refused with.
    func revert(_ reversion: RecordReversion) async throws -> StoredRecord
}

/// Which part of a record's journal to read.
public struct RecordJournalRequest: Sendable, Hashable {
    public var recordID: RecordID
    /// Only changes before this position; `nil` begins with the latest.
    public var before: Int64?
    public var limit: PageLimit

    public init(_ recordID: RecordID, before: Int64? = nil, limit: PageLimit = PageLimit(records: 50)) {
        self.recordID = recordID
        self.before = before
        self.limit = limit
    }
}

/// A page of a record's journal.
public struct RecordJournalPage: Sendable, Hashable {
    /// Latest first.
    public var entries: [RecordJournalEntry]
    /// What the next page comes before; `nil` when nothing earlier is kept.
    public var before: Int64?
    /// What is kept, and for how long.
    public var limits: JournalLimits

    public init(entries: [RecordJournalEntry], before: Int64?, limits: JournalLimits) {
        self.entries = entries
        self.before = before
        self.limits = limits
    }
}

/// One save or deletion of a record.
public struct RecordJournalEntry: Sendable, Hashable {
    /// What a change did to its record.
    public enum Act: String, Sendable, Hashable, CaseIterable {
        /// There was no record of the name before, or it was deleted.
        case created
        /// The record was saved again.
        case modified
        /// The record was deleted, itself or with another.
        case deleted
    }

    public var act: Act
    /// The change's place in the order of commits, as in the feed of its zone.
    public var position: Int64
    /// The change tag that the save gave the record. A deletion has one too, which no record ever has.
    public var recordChangeTag: String
    public var recordType: Name
    /// Who did it, when, and from which device. Of a record that was brought back from a copy: what the copy says.
    public var signature: Signature
    /// When the next change replaced it; `nil` while it is the record's present state.
    public var replaced: Timestamp?
    /// The request that did it, by its uuid, where one is known.
    public var requestID: String?
    /// The fields as the save left them; empty for a deletion.
    public var fields: FieldsText
    public var parent: Name?

    public init(
        act: Act, position: Int64, recordChangeTag: String, recordType: Name, signature: Signature, replaced: Timestamp? = nil, requestID: String?,
        fields: FieldsText, parent: Name?
    ) {
        self.act = act
        self.position = position
        self.recordChangeTag = recordChangeTag
        self.recordType = recordType
        self.signature = signature
        self.replaced = replaced
        self.requestID = requestID
        self.fields = fields
        self.parent = parent
    }
}

/// Which change of a record to go back to.
public struct RecordReversion: Sendable, Hashable {
    public var recordID: RecordID
    /// Of the change whose outcome the record is to have again.
    public var position: Int64
    /// The tag that the record has now; `nil` when it is deleted.
    public var recordChangeTag: String?
    /// The request that asks for it, for the journal.
    public var requestID: String?

    public init(_ recordID: RecordID, to position: Int64, recordChangeTag: String?, requestID: String? = nil) {
        self.recordID = recordID
        self.position = position
        self.recordChangeTag = recordChangeTag
        self.requestID = requestID
    }
}
