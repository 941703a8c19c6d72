public import JSON
public import Records

/// A problem of a record that the server accepts but that causes trouble in apps.
public struct RecordFinding: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The target of a reference does not exist.
        case danglingReference
        /// The parent does not exist.
        case danglingParent
        /// The record is among its own ancestors.
        case parentCircle
        /// A reference into another zone.
        case referenceAcrossZones
        /// A field that is encrypted, in the public database.
        case encryptedInPublic
        /// The fields are close to the size limit of a record.
        case nearSizeLimit
        /// The record has a Core Data type, but `CD_entityName` differs or is missing.
        case entityName
        /// The file of an asset is not stored.
        case missingAsset
        /// The record has no parent, beside shared hierarchies that hold records of its type.
        case besideHierarchies
        /// The root of a share is below the root of another one.
        case nestedShare
        /// Nobody accepted a share for a day or longer.
        case unacceptedShare
        /// An invitation to a share names no user.
        case unknownAddress
    }

    public var kind: Kind
    public var recordID: RecordID
    public var recordType: Name
    /// `nil` if the finding concerns the whole record; `parent` for its parent.
    public var fieldName: Name?
    /// The target of the field.
    public var target: RecordID?
    /// The problem and its consequences, in one or two sentences.
    public var explanation: String

    public init(kind: Kind, recordID: RecordID, recordType: Name, fieldName: Name? = nil, target: RecordID? = nil, explanation: String) {
        self.kind = kind
        self.recordID = recordID
        self.recordType = recordType
        self.fieldName = fieldName
        self.target = target
        self.explanation = explanation
    }

    /// The sentence about records that were taken as they are, though a save of them is refused: they came from elsewhere, or from an earlier version.
    /// - Parameter count: of records with encrypted fields, in the public database.
    /// - Returns: `nil` for none.
    public static func encryptedInPublic(_ count: Int) -> String? {
        if count == 0 { return nil }
        return "\(count) \(count == 1 ? "record holds" : "records hold") encrypted fields, which CloudKit refuses in the public database; skylight check names them."
    }
}
