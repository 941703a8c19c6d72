public import JSON

/// A record as an engine keeps it: its system fields, and the JSON text of its own fields as it was made when the record was saved.
///
/// Reading copies that text; it is decoded only where a value is asked for.
public struct StoredRecord: Sendable, Hashable {
    public var recordID: RecordID
    public var recordType: Name
    /// Changes with every save. Short, lower-case, base 36; compare for equality only.
    public var recordChangeTag: String
    public var created: Signature
    public var modified: Signature
    /// The record in the same zone that this one belongs to when it is shared.
    public var parent: Name?
    public var fields: FieldsText

    public init(
        recordID: RecordID, recordType: Name, recordChangeTag: String, created: Signature, modified: Signature, parent: Name? = nil,
        fields: FieldsText
    ) {
        self.recordID = recordID
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.created = created
        self.modified = modified
        self.parent = parent
        self.fields = fields
    }
}
