public import JSON

/// The record field that a file will be uploaded for (Apple's reference page "Uploading Assets").
public struct AssetSlot: Sendable, Hashable {
    public var recordType: Name
    public var fieldName: Name
    /// `nil` for a record that does not exist yet. It is then assigned a name.
    public var recordName: Name?

    public init(recordType: Name, fieldName: Name, recordName: Name? = nil) {
        self.recordType = recordType
        self.fieldName = fieldName
        self.recordName = recordName
    }
}

/// Permission to upload one file within 15 minutes.
public struct UploadGrant: Sendable, Hashable {
    public var recordName: Name
    public var fieldName: Name
    /// The sealed ticket, which is part of the upload URL.
    public var ticket: String

    public init(recordName: Name, fieldName: Name, ticket: String) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.ticket = ticket
    }
}

/// An asset of a record, to be used in another record too (Apple's reference page "Referencing Existing Assets").
public struct AssetSource: Sendable, Hashable {
    public var recordName: Name
    public var fieldName: Name
    /// Index in a list field. An extension of Skylight.
    public var index: Int?

    public init(recordName: Name, fieldName: Name, index: Int? = nil) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.index = index
    }
}
