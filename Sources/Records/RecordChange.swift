/// The latest change of a record in its zone's feed.
public struct RecordChange: Sendable, Hashable {
    /// What happened since the pull began.
    public enum Kind: String, Sendable, Hashable {
        case created
        case modified
        case deleted
        /// The name was deleted and used again.
        case recreated
    }

    public var kind: Kind
    /// The change's place in the order of commits. Grows within a zone, with gaps.
    public var position: Int64
    /// The record in its latest state. For a deletion: the name, type and who deleted it when, without fields.
    public var record: StoredRecord

    public init(kind: Kind, position: Int64, record: StoredRecord) {
        self.kind = kind
        self.position = position
        self.record = record
    }
}
