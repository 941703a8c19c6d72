public import JSON

/// The user or program that makes a request.
public struct Caller: Sendable, Hashable {
    /// The name of the user's own record, which signs what the caller saves.
    public var userRecordName: Name
    /// The device recorded in records saved by this caller; `iCloud` if unknown.
    public var deviceID: String
    /// Permissions in a public database.
    public var access: Access

    /// A caller; by default one who may do everything, on an unknown device.
    public init(userRecordName: Name, deviceID: String = "iCloud", access: Access = .unrestricted) {
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.access = access
    }
}
