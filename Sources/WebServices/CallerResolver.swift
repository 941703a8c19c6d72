internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Records

/// Reads the user that a request acts for: from the header `X-Skylight-User`, else the query
/// parameter `skylightUser`, else the developer. The header `X-Skylight-Device` names the device, else the query parameter `clientId`, which
/// CloudKit JS sends.
///
/// Skylight's own services use it. Protocol services use it only if they need no credentials, as ``Authenticator`` decides.
struct CallerResolver: Sendable {
    static let parameterName = "skylightUser"
    /// The maximum length of a device identifier, in UTF-8 bytes.
    private static let deviceLimit = 255

    let accounts: Accounts

    /// - Throws: `RecordError` BAD_REQUEST for an invalid user name or device identifier.
    func caller(of request: Request) throws -> Caller {
        try accounts.caller(named: Self.handle(in: request), deviceID: try deviceID(of: request))
    }

    /// The user record name that a request acts for. Unlike ``caller(of:)``, it does not create unknown users.
    /// - Returns: `nil` if the name is invalid.
    static func userRecordName(in request: Request) -> Name? {
        let handle = handle(in: request).flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle
        return handle.utf8.count <= User.handleLimit ? User.recordName(ofHandle: handle) : nil
    }

    private static func handle(in request: Request) -> String? {
        request.headers[.skylightUser] ?? request.queryParameter(parameterName)
    }

    /// - Throws: `RecordError` BAD_REQUEST for an invalid device identifier.
    func deviceID(of request: Request) throws -> String? {
        guard let deviceID = request.headers[.skylightDevice], !deviceID.isEmpty else {
            // A client of CloudKit must not fail because of a parameter that it may send.
            return request.queryParameter("clientId").flatMap { Self.isDevice($0) ? $0 : nil }
        }
        guard Self.isDevice(deviceID) else {
            throw RecordError(.badRequest, "The device in X-Skylight-Device contains a control character, or is longer than \(Self.deviceLimit) bytes")
        }
        return deviceID
    }

    static func isDevice(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= deviceLimit && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
