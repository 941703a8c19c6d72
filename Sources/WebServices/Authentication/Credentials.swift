internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The credentials in a request, before validation (docs/authentication.md).
struct Credentials: Sendable {
    /// The three headers of a server-to-server key. Missing headers are empty.
    struct Signature: Sendable {
        let keyID: String
        let date: String
        let signature: String
    }

    static let signatureHeaders = [HTTPField.Name.cloudKitKeyID, .cloudKitDate, .cloudKitSignature]
    /// The query parameters of the web auth token: the current name, then that of CloudKit JS 1.
    private static let webAuthParameters = ["ckWebAuthToken", "ckSession"]

    var apiToken: String?
    /// True if the request had an unknown API token, which was ignored.
    var hadUnknownToken = false
    var webAuthToken: String?
    var signature: Signature?
    /// The secrets among the credentials, both as sent and decoded. They must not appear in logs and answers.
    let secrets: [String]

    init(_ request: Request) {
        let query = SentQuery(request)
        apiToken = query["ckAPIToken"]?.value
        webAuthToken =
            Self.webAuthParameters.lazy.compactMap { query[$0]?.value }.first
            ?? Self.header(.cloudKitWebAuthToken, of: request) ?? Self.header(.cloudKitSession, of: request)
        let keyID = Self.header(.cloudKitKeyID, of: request)
        let date = Self.header(.cloudKitDate, of: request)
        let sent = Self.header(.cloudKitSignature, of: request)
        if keyID != nil || date != nil || sent != nil {
            signature = Signature(keyID: keyID ?? "", date: date ?? "", signature: sent ?? "")
        }
        secrets =
            query.isEmpty
            ? [] : (["ckAPIToken"] + Self.webAuthParameters).compactMap { query[$0] }.flatMap { [$0.sent, $0.value] }
    }

    /// True if the request has no credentials.
    var isEmpty: Bool { apiToken == nil && webAuthToken == nil && signature == nil }
    /// True if the request mixes tokens and a signature, which is an error.
    var isMixed: Bool { signature != nil && (apiToken != nil || webAuthToken != nil) }

    /// The headers for the next web auth token. Clients that use the older names get it under the older name as well.
    static func answerHeaders(to request: Request) -> [HTTPField.Name] {
        let query = SentQuery(request)
        let isOld =
            query[webAuthParameters[0]] == nil
            && (query[webAuthParameters[1]] != nil || header(.cloudKitSession, of: request) != nil)
        return isOld ? [.cloudKitWebAuthToken, .cloudKitSession] : [.cloudKitWebAuthToken]
    }

    /// The value of a header; `nil` if it is missing or empty.
    private static func header(_ name: HTTPField.Name, of request: Request) -> String? {
        request.headers[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

// MARK: - Callers

/// Reads the user that a request acts for: from the header `X-Skylight-User`, else the query
/// parameter `skylightUser`, else the developer. The header `X-Skylight-Device` names the device, else the query
/// parameter `clientId`, which CloudKit JS sends.
///
/// Skylight's own services use it. Protocol services use it only if they need no credentials, as ``Authenticator``
/// decides.
struct CallerResolver: Sendable {
    static let parameterName = "skylightUser"
    /// The device identifier of callers without a device, see `Caller`. It identifies nobody.
    private static let unknownDevice: Name = "iCloud"
    /// The maximum length of a device identifier, in UTF-8 bytes.
    private static let deviceLimit = 255

    let accounts: Accounts

    /// - Throws: `RecordError` BAD_REQUEST for an invalid user name or device identifier.
    func caller(of request: Request) throws -> Caller {
        try accounts.caller(named: Self.handle(in: request), deviceID: try Self.deviceID(of: request))
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

    /// The client's ID. Saved records, the request log and notification tokens contain it.
    static func deviceID(of request: Request) throws -> String? {
        guard let deviceID = request.headers[.skylightDevice], !deviceID.isEmpty, Name(deviceID) != unknownDevice else {
            // A client that is written for CloudKit must not fail because of a parameter that CloudKit accepts.
            return device(request.queryParameter("clientId"))
        }
        guard Self.isDevice(deviceID) else {
            throw RecordError(
                .badRequest,
                "The device in X-Skylight-Device contains a control character, or is longer than \(Self.deviceLimit) bytes"
            )
        }
        return deviceID
    }

    /// The client's ID in a text; `nil` if it is not a valid device ID for a record.
    static func device(_ text: String?) -> String? {
        text.flatMap { isDevice($0) && Name($0) != unknownDevice ? $0 : nil }
    }

    private static func isDevice(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= deviceLimit
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}
