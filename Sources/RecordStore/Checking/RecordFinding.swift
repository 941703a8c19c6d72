public import JSON
public import Records

/// Something about a record that is stored without a word and that an app stumbles over later.
public struct RecordFinding: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A reference whose target is not there.
        case danglingReference
        /// A parent that is not there.
        case danglingParent
        /// A reference into another zone.
        case referenceAcrossZones
        /// Fields that take nearly all the bytes that a record may have.
        case nearSizeLimit
        /// A type of Core Data's whose `CD_entityName` is another, or none.
        case entityName
        /// An asset whose file is not stored.
        case missingAsset
    }

    public var kind: Kind
    public var recordID: RecordID
    public var recordType: Name
    /// `nil` where it is about the record as a whole; `parent` for its parent.
    public var fieldName: Name?
    /// What the field points to.
    public var target: RecordID?
    /// What is wrong and what it leads to, in a sentence or two.
    public var explanation: String

    public init(kind: Kind, recordID: RecordID, recordType: Name, fieldName: Name? = nil, target: RecordID? = nil, explanation: String) {
        self.kind = kind
        self.recordID = recordID
        self.recordType = recordType
        self.fieldName = fieldName
        self.target = target
        self.explanation = explanation
    }
}
