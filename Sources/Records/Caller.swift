public import JSON

/// The user or program that makes a request.
public struct Caller: Sendable, Hashable {
    public var userRecordName: Name
    /// The device recorded in records saved by this caller; `iCloud` if unknown.
    public var deviceID: String
    /// Permissions in a public database.
    public var access: Access

    public init(userRecordName: Name, deviceID: String = "iCloud", access: Access = .unrestricted) {
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.access = access
    }
}
