public import Records

/// Selects a page of a record's journal.
public struct RecordJournalRequest: Sendable, Hashable {
    public var recordID: RecordID
    /// Only changes before this position; `nil` starts with the latest.
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
    /// Ordered by position, latest first.
    public var entries: [RecordJournalEntry]
    /// `before` of the request for the next page; `nil` if nothing earlier is kept.
    public var before: Int64?
    /// The journal limits in effect.
    public var limits: JournalLimits

    public init(entries: [RecordJournalEntry], before: Int64?, limits: JournalLimits) {
        self.entries = entries
        self.before = before
        self.limits = limits
    }
}

/// One save or deletion of a record.
public struct RecordJournalEntry: Sendable, Hashable {
    /// The kind of a change.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The record did not exist before, or was deleted.
        case created
        /// The record was saved again.
        case modified
        /// The record was deleted, directly or in a cascade.
        case deleted
    }

    public var kind: Kind
    /// Position of the change in commit order, as in the zone's feed.
    public var position: Int64
    /// The change tag assigned by the change. Deletions have one too, but no record ever has it.
    public var recordChangeTag: String
    public var recordType: Name
    /// User, time and device of the change. For a record imported from a copy, as stated in the copy.
    public var signature: Signature
    /// Time when the next change replaced this state; `nil` for the present state.
    public var replaced: Timestamp?
    /// UUID of the request that made the change, if known.
    public var requestID: String?
    /// The fields after the change; empty for a deletion.
    public var fields: FieldsText
    public var parent: Name?

    public init(
        kind: Kind, position: Int64, recordChangeTag: String, recordType: Name, signature: Signature,
        replaced: Timestamp? = nil, requestID: String?,
        fields: FieldsText, parent: Name?
    ) {
        self.kind = kind
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

/// Selects the change that a record is reverted to.
public struct RecordReversion: Sendable, Hashable {
    public var recordID: RecordID
    /// Position of the change whose result is restored.
    public var position: Int64
    /// The record's present change tag; `nil` if it is deleted.
    public var recordChangeTag: String?
    /// Id of this request, for the journal.
    public var requestID: String?

    public init(_ recordID: RecordID, to position: Int64, recordChangeTag: String?, requestID: String? = nil) {
        self.recordID = recordID
        self.position = position
        self.recordChangeTag = recordChangeTag
        self.requestID = requestID
    }
}

// MARK: - Limits

/// Limits for the earlier versions of records kept by a store.
public struct JournalLimits: Sendable, Hashable {
    /// Number of days for which an earlier version is kept after it was replaced; 0 keeps none.
    public var days: Int
    /// Maximum number of earlier versions per record.
    public var versions: Int
    /// Maximum total size of earlier versions in one store, in bytes. The oldest are removed first.
    public var bytes: Int64

    public init(days: Int, versions: Int = 100, bytes: Int64 = 256 << 20) {
        self.days = days
        self.versions = versions
        self.bytes = bytes
    }

    public static let standard = JournalLimits(days: 30)

    /// Maximum number of days: a hundred years.
    public static let longest = 36_500

    public var isOff: Bool { days <= 0 }

    /// What is kept, for errors.
    public var words: String {
        isOff
            ? "this server keeps no earlier versions"
            : "earlier versions are kept for \(days) days, up to \(versions) per record"
    }

    /// Versions replaced before this time are not kept.
    public func oldest(at now: Timestamp) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds.addingSaturated(-Int64(min(max(0, days), Self.longest)) * 86_400_000))
    }
}

extension RecordJournalEntry.Kind: JSONWord {}

extension JournalLimits: JSONObjectCoded {
    package static let form = JSONForm(
        JournalLimits.init(days:versions:bytes:), JSONPart("days", \.days), JSONPart("versions", \.versions),
        JSONPart("bytes", \.bytes))
}
