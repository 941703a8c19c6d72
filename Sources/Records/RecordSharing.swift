public import JSON

/// Sharing's part of a record. Most records have none, so it is a class: a record is no larger for it than by a reference.
public final class RecordSharing: Sendable, Hashable {
    /// The identifier in the link of the record's share. It stays when the share ends, so that the link stays the same.
    public let shortGUID: String?
    /// The record that holds the share, if this record is the root of a hierarchy.
    public let shareName: Name?
    /// The top level of a share, if this record holds one.
    public let share: Share?
    /// The engine's number of the share through which guests see the record.
    public let hierarchy: Int64?

    /// Sharing's part of a record; of one without any if all is `nil`.
    public init(shortGUID: String? = nil, shareName: Name? = nil, share: Share? = nil, hierarchy: Int64? = nil) {
        self.shortGUID = shortGUID
        self.shareName = shareName
        self.share = share
        self.hierarchy = hierarchy
    }

    /// The same with another hierarchy; `nil` if nothing is left.
    public static func placing(_ sharing: RecordSharing?, in hierarchy: Int64?) -> RecordSharing? {
        if sharing?.hierarchy == hierarchy { return sharing }
        let placed = RecordSharing(shortGUID: sharing?.shortGUID, shareName: sharing?.shareName, share: sharing?.share, hierarchy: hierarchy)
        return placed == RecordSharing() ? nil : placed
    }

    public static func == (left: RecordSharing, right: RecordSharing) -> Bool {
        left === right || left.shortGUID == right.shortGUID && left.shareName == right.shareName && left.share == right.share && left.hierarchy == right.hierarchy
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(shortGUID)
        hasher.combine(shareName)
        hasher.combine(share)
        hasher.combine(hierarchy)
    }
}
