public import JSON
public import Records

/// What of a database is exported.
public struct ExportOptions: Sendable {
    /// The zones, each as the database knows it; `nil` for all.
    public var zones: [ZoneID]?
    /// The record types; `nil` for all.
    public var recordTypes: Set<Name>?
    /// The short name of the user whose database it is.
    public var userHandle: String?

    public init(zones: [ZoneID]? = nil, recordTypes: Set<Name>? = nil, userHandle: String? = nil) {
        self.zones = zones
        self.recordTypes = recordTypes
        self.userHandle = userHandle
    }
}
