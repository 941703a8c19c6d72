internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

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
    /// True if the request had an unknown API token, which was dropped.
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
        if keyID != nil || date != nil || sent != nil { signature = Signature(keyID: keyID ?? "", date: date ?? "", signature: sent ?? "") }
        secrets = query.isEmpty ? [] : (["ckAPIToken"] + Self.webAuthParameters).compactMap { query[$0] }.flatMap { [$0.sent, $0.value] }
    }

    /// True if the request has no credentials.
    var isEmpty: Bool { apiToken == nil && webAuthToken == nil && signature == nil }
    /// True if the request mixes tokens and a signature, which is an error.
    var isMixed: Bool { signature != nil && (apiToken != nil || webAuthToken != nil) }

    /// The headers for the next web auth token. Clients that use the older names get it under the older name as well.
    static func answerHeaders(to request: Request) -> [HTTPField.Name] {
        let query = SentQuery(request)
        let isOld = query[webAuthParameters[0]] == nil && (query[webAuthParameters[1]] != nil || header(.cloudKitSession, of: request) != nil)
        return isOld ? [.cloudKitWebAuthToken, .cloudKitSession] : [.cloudKitWebAuthToken]
    }

    /// The value of a header; `nil` if it is missing or empty.
    private static func header(_ name: HTTPField.Name, of request: Request) -> String? {
        request.headers[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
