public import JSON

/// The identity of a record: its name, unique within its zone over all record types.
public struct RecordID: Sendable, Hashable {
    /// Longest record name, in UTF-8 bytes.
    public static let nameLimit = 255

    public var recordName: Name
    public var zoneID: ZoneID

    public init(recordName: Name, zoneID: ZoneID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }
}
