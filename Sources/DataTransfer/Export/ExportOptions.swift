public import JSON
public import Records

/// The options of an export.
public struct ExportOptions: Sendable {
    /// The zones to export, with the ids of the database; `nil` for all.
    public var zones: [ZoneID]?
    /// The record types to export; `nil` for all.
    public var recordTypes: Set<Name>?
    /// The handle of the database's user.
    public var userHandle: String?
    /// False to leave out the user's subscriptions, for a copy beside the original.
    public var hasSubscriptions: Bool
    /// True to keep assets in the records, by checksum and size, also without a folder for their bytes.
    var namesAssets = false

    public init(zones: [ZoneID]? = nil, recordTypes: Set<Name>? = nil, userHandle: String? = nil, hasSubscriptions: Bool = true) {
        self.zones = zones
        self.recordTypes = recordTypes
        self.userHandle = userHandle
        self.hasSubscriptions = hasSubscriptions
    }
}
