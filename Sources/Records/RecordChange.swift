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

    public var kind: Kind
    /// Position in commit order. Increases within a zone, with gaps.
    public var position: Int64
    /// The latest state of the record. For a deletion: name, type, user and time, without fields.
    public var record: StoredRecord

    public init(kind: Kind, position: Int64, record: StoredRecord) {
        self.kind = kind
        self.position = position
        self.record = record
    }
}
