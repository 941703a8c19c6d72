public import JSON

/// The user, time and device of a change.
public struct Signature: Sendable, Hashable {
    public var timestamp: Timestamp
    public var userRecordName: Name
    public var deviceID: String

    public init(timestamp: Timestamp, userRecordName: Name, deviceID: String) {
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }
}
