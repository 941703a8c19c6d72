/// One operation of a batch (Apple's reference page "Modifying Records").
public struct RecordOperation: Sendable, Hashable {
    /// The operation, with its condition.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Fails if the name exists.
        case create
        /// Merges the given fields. Fails if the change tag is not current.
        case update
        /// Creates the record or merges the given fields, ignoring the change tag.
        case forceUpdate
        /// Sets the given fields and clears all others. Fails if the change tag is not current.
        case replace
        /// Creates the record, or sets the given fields and clears all others, ignoring the change tag.
        case forceReplace
        /// Fails if the change tag is not current.
        case delete
        /// Succeeds even if the record does not exist.
        case forceDelete

        /// True for ``delete`` and ``forceDelete``, which ignore fields.
        public var isDeletion: Bool { self == .delete || self == .forceDelete }
        /// True if the change tag is compared with the stored one.
        public var checksTag: Bool { self == .update || self == .replace || self == .delete }
        /// True if fields that are not given are cleared.
        public var replacesFields: Bool { self == .replace || self == .forceReplace || self == .create }
    }

    /// The change that a save makes to the record's parent.
    public enum Parent: Sendable, Hashable {
        /// Leave it.
        case unchanged
        /// Take it away: the record leaves its hierarchy.
        case cleared
        /// Set it, by its name in the same zone.
        case record(Name)
    }

    /// The kind of change.
    public var kind: Kind
    /// `nil` lets the store choose a name.
    public var recordName: Name?
    /// `nil` means the zone of the batch.
    public var zoneID: ZoneID?
    /// Required for creating a record.
    public var recordType: Name?
    /// The tag of the version that the client changed. Kinds that ignore it may leave it out.
    public var recordChangeTag: String?
    /// The fields to set or to clear. Others stay, unless the kind clears them.
    public var fields: [Name: FieldInput]
    /// The record with which this one is shared.
    public var parent: Parent
    /// The zone in which a request names the parent. A store refuses any but the zone of the record; `nil` is that
    /// zone.
    public var parentZoneID: ZoneID?
    /// True to assign a short GUID, by which the record can be shared.
    public var createsShortGUID = false
    /// The top level of a share, as a save gives it.
    public var share = ShareInput()
    /// The original creator and editor of a restored record; `nil` for other saves. An extension of Skylight.
    public var provenance: Provenance?

    /// An operation. What its kind requires is checked when it is carried out.
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
/// Restored records keep them, and shares keep their participants as they are in the copy. All other saves set them
/// from the caller and the clock.
public struct Provenance: Sendable, Hashable {
    /// The user who created the record, and the time.
    public var created: Signature
    /// The user who saved it last, and the time.
    public var modified: Signature
    /// The identifier in the link of the record's share, or of the share itself. It stays if no other share has it.
    public var shortGUID: String?

    /// The provenance of a record that is restored.
    public init(created: Signature, modified: Signature, shortGUID: String? = nil) {
        self.created = created
        self.modified = modified
        self.shortGUID = shortGUID
    }
}
