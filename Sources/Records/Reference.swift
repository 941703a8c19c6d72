public import JSON

/// A link from one record to another.
public struct Reference: Sendable, Hashable {
    /// What a reference does to its record when the target is deleted.
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// Nothing: the reference dangles.
        case none = "NONE"
        /// The record that refers is deleted with its target.
        case deleteSelf = "DELETE_SELF"
        /// The target can't be deleted, and must exist when the reference is saved.
        case validate = "VALIDATE"
    }

    public var recordName: Name
    /// `nil` means the zone of the record that refers.
    public var zoneID: ZoneID?
    public var action: Action

    public init(recordName: Name, zoneID: ZoneID? = nil, action: Action = .none) {
        self.recordName = recordName
        self.zoneID = zoneID
        self.action = action
    }
}
