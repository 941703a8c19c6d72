/// One operation of a batch (Apple's reference page "Modifying Records").
public struct RecordOperation: Sendable, Hashable {
    /// The kind of an operation, which also determines its condition.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Creates the record. Fails if the name exists.
        case create
        /// Merges the given fields. Fails if the change tag is not current.
        case update
        /// Creates the record or merges the given fields, ignoring the change tag.
        case forceUpdate
        /// Sets the given fields and clears all others. Fails if the change tag is not current.
        case replace
        /// Creates the record, or sets the given fields and clears all others, ignoring the change tag.
        case forceReplace
        /// Deletes the record. Fails if the change tag is not current.
        case delete
        /// Deletes the record. Succeeds even if the record does not exist.
        case forceDelete

        /// True for ``delete`` and ``forceDelete``, which ignore fields.
        public var isDeletion: Bool { self == .delete || self == .forceDelete }
        /// True if the change tag is compared with the stored one.
        public var checksTag: Bool { self == .update || self == .replace || self == .delete }
        /// True if fields that are not specified are cleared.
        public var replacesFields: Bool { self == .replace || self == .forceReplace || self == .create }
    }

    /// The change of the record's parent by a save.
    public enum Parent: Sendable, Hashable {
        /// The parent remains unchanged.
        case unchanged
        /// The parent is removed, so the record leaves its hierarchy.
        case cleared
        /// The parent is set, by its name in the same zone.
        case record(Name)
    }

    /// The kind of change.
    public var kind: Kind
    /// The record's name; `nil` lets the store choose one.
    public var recordName: Name?
    /// The zone; `nil` means the zone of the batch.
    public var zoneID: ZoneID?
    /// The record's type, which is required for creating a record.
    public var recordType: Name?
    /// The change tag of the version that the client changed. May be `nil` for kinds that ignore it.
    public var recordChangeTag: String?
    /// The fields to set or to clear. Others remain unchanged, unless the kind clears them.
    public var fields: [Name: FieldInput]
    /// The change of the parent record, with which this record is shared.
    public var parent: Parent
    /// The zone of the parent as specified in the request. A store refuses any zone but that of the record; `nil`
    /// means that zone.
    public var parentZoneID: ZoneID?
    /// True to assign a short GUID, with which the record can be shared.
    public var createsShortGUID = false
    /// The share's members in a save of a share.
    public var share = ShareInput()
    /// The original creator and editor of a restored record; `nil` for other saves. An extension of Skylight.
    public var provenance: Provenance?

    /// Creates an operation. The requirements of its kind are checked when it is performed.
    public init(
        _ kind: Kind, recordName: Name? = nil, zoneID: ZoneID? = nil, recordType: Name? = nil,
        recordChangeTag: String? = nil,
        fields: [Name: FieldInput] = [:], parent: Parent = .unchanged, provenance: Provenance? = nil
    ) {
        self.kind = kind
        self.recordName = recordName
        self.zoneID = zoneID
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.fields = fields
        self.parent = parent
        self.provenance = provenance
    }
}

// MARK: - Provenance

/// The creator and last editor of a record, as stated in a copy made elsewhere.
///
/// Restored records keep both, and shares keep their participants as in the copy. All other saves set them from the
/// caller and the clock.
public struct Provenance: Sendable, Hashable {
    /// The user who created the record, and the time.
    public var created: Signature
    /// The user who last saved the record, and the time.
    public var modified: Signature
    /// The short GUID in the link of the record's share, or of the share itself. It is kept unless another share has
    /// it.
    public var shortGUID: String?

    /// The provenance of a record that is restored.
    public init(created: Signature, modified: Signature, shortGUID: String? = nil) {
        self.created = created
        self.modified = modified
        self.shortGUID = shortGUID
    }
}
