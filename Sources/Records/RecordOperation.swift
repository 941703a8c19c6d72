public import JSON

/// One operation of a batch (Apple's reference page "Modifying Records").
public struct RecordOperation: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Fails when the name exists.
        case create
        /// Merges the fields given; fails when the change tag is not the current one.
        case update
        /// Creates, or merges the fields given, whatever the change tag.
        case forceUpdate
        /// Sets the fields given and clears the others; fails when the change tag is not the current one.
        case replace
        /// Creates, or sets the fields given and clears the others, whatever the change tag.
        case forceReplace
        /// Fails when the change tag is not the current one.
        case delete
        /// Succeeds even when there is no such record.
        case forceDelete

        public var isDeletion: Bool { self == .delete || self == .forceDelete }
        /// Whether the change tag is compared with the stored one.
        public var checksTag: Bool { self == .update || self == .replace || self == .delete }
        /// Whether fields that are not given lose their value.
        public var replacesFields: Bool { self == .replace || self == .forceReplace || self == .create }
    }

    public enum Parent: Sendable, Hashable {
        case unchanged
        case cleared
        case record(Name)
    }

    public var kind: Kind
    /// `nil` lets the store make a name.
    public var recordName: Name?
    /// `nil` means the zone of the batch.
    public var zoneID: ZoneID?
    /// Needed to create a record.
    public var recordType: Name?
    public var recordChangeTag: String?
    public var fields: [Name: FieldInput]
    public var parent: Parent
    /// Whether the record is to get a short GUID, by which it can be shared.
    public var createsShortGUID = false
    /// What a restored record keeps of its former life; `nil` for every other save. CloudKit has no such thing.
    public var provenance: Provenance?

    public init(
        _ kind: Kind, recordName: Name? = nil, zoneID: ZoneID? = nil, recordType: Name? = nil, recordChangeTag: String? = nil,
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
