/// The latest change of a record in its zone's feed.
public struct RecordChange: Sendable, Hashable {
    /// The kind of change since the pull began.
    public enum Kind: String, Sendable, Hashable {
        case created
        case modified
        case deleted
        /// The record was deleted and another one with the same name was created.
        case recreated
    }

    private enum Subject: Sendable, Hashable {
        case record(StoredRecord)
        case name(RecordID)
    }

    private var subject: Subject
    /// `nil` for a save, if the store does not tell whether it created the record.
    public var kind: Kind?
    /// Position in commit order, which increases within a zone, with gaps; `nil` if the store does not tell it.
    public var position: Int64?
    /// The record that changed, also if only its name is known.
    public var recordID: RecordID {
        switch subject {
        case .record(let record): record.recordID
        case .name(let recordID): recordID
        }
    }

    /// The latest state of the record. For a deletion: name, type, user and time, without fields; `nil` if the store
    /// tells only the name of a deleted record.
    public var record: StoredRecord? {
        get { if case .record(let record) = subject { record } else { nil } }
        set { subject = newValue.map { .record($0) } ?? .name(recordID) }
    }

    /// The change of a record whose state is known.
    public init(kind: Kind?, position: Int64?, record: StoredRecord) {
        subject = .record(record)
        self.kind = kind
        self.position = position
    }

    /// The deletion of a record of which only the name is known.
    public init(deletionOf recordID: RecordID, position: Int64? = nil) {
        subject = .name(recordID)
        kind = .deleted
        self.position = position
    }

    /// Size of the record's fields in bytes.
    public var bytes: Int { record?.fields.bytes.count ?? 0 }
}
