public import JSON

/// The user, time and device of a change.
public struct Signature: Sendable, Hashable {
    /// The server's time of the change.
    public var timestamp: Timestamp
    /// The name of the user's own record.
    public var userRecordName: Name
    /// The device as its client names it; `iCloud` if it does not.
    public var deviceID: String

    /// The signature of a change.
    public init(timestamp: Timestamp, userRecordName: Name, deviceID: String) {
        self.timestamp = timestamp
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }
}
