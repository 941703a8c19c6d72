public import JSON

/// Who is asking.
public struct Caller: Sendable, Hashable {
    public var userRecordName: Name
    /// The device that records saved by this caller name; `iCloud` when it is not known.
    public var deviceID: String
    /// What the caller may do in a public database.
    public var access: Access

    public init(userRecordName: Name, deviceID: String = "iCloud", access: Access = .unrestricted) {
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.access = access
    }
}
