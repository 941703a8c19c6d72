internal import Accounts
internal import HTTPTypes
internal import Hummingbird
internal import JSON
internal import Records

/// Whom a request names as the user it speaks for: the header `X-Skylight-User`, or else the query parameter `skylightUser`, or else the
/// developer. The header `X-Skylight-Device` names the device.
///
/// That is how Skylight's own services are told who asks, and those of the protocol where no credentials are needed: ``Authenticator`` decides.
struct CallerResolver: Sendable {
    static let headerName = HTTPField.Name("X-Skylight-User")
    static let parameterName = "skylightUser"
    static let deviceHeaderName = HTTPField.Name("X-Skylight-Device")
    /// Longest device identifier, in UTF-8 bytes.
    private static let deviceLimit = 255

    let accounts: Accounts

    /// - Throws: `RecordError` BAD_REQUEST when the name can't be anybody's, or the device no device's.
    func caller(of request: Request) throws -> Caller {
        try accounts.caller(named: Self.handle(in: request), deviceID: try deviceID(of: request))
    }

    /// The user record name of whom a request speaks for. Unlike ``caller(of:)`` it makes no user of whoever is not known yet.
    /// - Returns: `nil` when the name can't be anybody's.
    static func userRecordName(in request: Request) -> Name? {
        let handle = handle(in: request).flatMap { $0.isEmpty ? nil : $0 } ?? User.developerHandle
        return handle.utf8.count <= User.handleLimit ? User.recordName(ofHandle: handle) : nil
    }

    private static func handle(in request: Request) -> String? {
        headerName.flatMap { request.headers[$0] } ?? request.uri.queryParameters[parameterName[...]].map(String.init)
    }

    /// - Throws: `RecordError` BAD_REQUEST for what can't be a device.
    func deviceID(of request: Request) throws -> String? {
        guard let deviceID = Self.deviceHeaderName.flatMap({ request.headers[$0] }), !deviceID.isEmpty else { return nil }
        let isPlain = deviceID.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard isPlain, deviceID.utf8.count <= Self.deviceLimit else {
            throw RecordError(.badRequest, "The device in X-Skylight-Device holds a control character, or is longer than \(Self.deviceLimit) bytes")
        }
        return deviceID
    }
}
