public import JSON

/// A stored record: its system fields, and its custom fields as the JSON text created when it was saved.
///
/// Reading copies that text. It is decoded only if a value is needed.
public struct StoredRecord: Sendable, Hashable {
    /// Unique in its database.
    public var recordID: RecordID
    /// Such as `Item`.
    public var recordType: Name
    /// Changes with each save. Short, lowercase, base 36. Compare it for equality only.
    public var recordChangeTag: String
    /// The user who created the record, and the time.
    public var created: Signature
    /// The user who saved it last, and the time.
    public var modified: Signature
    /// The parent record in the same zone, with which this one is shared.
    public var parent: Name?
    /// The custom fields that have a value.
    public var fields: FieldsText
    /// `nil` for a record that is neither shared nor a share.
    public var sharing: RecordSharing?

    /// A record as a store has it.
    public init(
        recordID: RecordID, recordType: Name, recordChangeTag: String, created: Signature, modified: Signature, parent: Name? = nil,
        fields: FieldsText, sharing: RecordSharing? = nil
    ) {
        self.recordID = recordID
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.created = created
        self.modified = modified
        self.parent = parent
        self.fields = fields
        self.sharing = sharing
    }
}
