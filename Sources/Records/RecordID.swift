public import JSON

/// Identifies a record: its name is unique within a zone across all types.
public struct RecordID: Sendable, Hashable {
    /// Maximum length of a record name in UTF-8 bytes.
    public static let nameLimit = 255

    /// At most ``nameLimit`` bytes.
    public var recordName: Name
    /// The zone of the record.
    public var zoneID: ZoneID

    /// The ID of a record, which need not exist; in the default zone, unless it says otherwise.
    public init(recordName: Name, zoneID: ZoneID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }
}
