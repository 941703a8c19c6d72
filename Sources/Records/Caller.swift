public import JSON

/// Who is asking.
public struct Caller: Sendable, Hashable {
    public var userRecordName: Name
    /// The device that records saved by this caller name; `iCloud` when it is not known.
    public var deviceID: String

    public init(userRecordName: Name, deviceID: String = "iCloud") {
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }
}
