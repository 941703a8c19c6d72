public import JSON

/// The field of a record that a file is to be uploaded for (Apple's reference page "Uploading Assets").
public struct AssetSlot: Sendable, Hashable {
    public var recordType: Name
    public var fieldName: Name
    /// `nil` for a record that is still to be made: it gets a name then.
    public var recordName: Name?

    public init(recordType: Name, fieldName: Name, recordName: Name? = nil) {
        self.recordType = recordType
        self.fieldName = fieldName
        self.recordName = recordName
    }
}

/// The leave to upload one file, for 15 minutes.
public struct UploadGrant: Sendable, Hashable {
    public var recordName: Name
    public var fieldName: Name
    /// What the upload shows; it stands in the upload's URL.
    public var ticket: String

    public init(recordName: Name, fieldName: Name, ticket: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.ticket = ticket
    }
}

/// An asset in a field of a record, to be used in another record as well (Apple's reference page "Referencing Existing Assets").
public struct AssetSource: Sendable, Hashable {
    public var recordName: Name
    public var fieldName: Name
    /// Which one, where the field is a list; Skylight's own addition.
    public var index: Int?

    public init(recordName: Name, fieldName: Name, index: Int? = nil) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.index = index
    }
}
