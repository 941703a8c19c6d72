public import JSON

/// Identifies a record: its name is unique within a zone across all types.
public struct RecordID: Sendable, Hashable {
    /// Maximum length of a record name in UTF-8 bytes.
    public static let nameLimit = 255

    public var recordName: Name
    public var zoneID: ZoneID

    public init(recordName: Name, zoneID: ZoneID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }
}
