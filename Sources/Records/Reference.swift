public import JSON

/// A reference from one record to another.
public struct Reference: Sendable, Hashable {
    /// The effect of deleting the target.
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// None; the reference is left dangling.
        case none = "NONE"
        /// The referring record is deleted too.
        case deleteSelf = "DELETE_SELF"
        /// The target can't be deleted, and it must exist when the reference is saved.
        case validate = "VALIDATE"
    }

    /// The name of the record that it leads to.
    public var recordName: Name
    /// `nil` means the zone of the referring record.
    public var zoneID: ZoneID?
    /// The effect of deleting the target.
    public var action: Action

    /// A reference; by default one within the zone, which does nothing when its target is deleted.
    public init(recordName: Name, zoneID: ZoneID? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}
