internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

/// The credentials in a request, before validation (protocol.md, section 2).
struct Credentials: Sendable {
    /// The three headers of a server-to-server key. Missing headers are empty.
    struct Signature: Sendable {
        let keyID: String
        let date: String
        let signature: String
    }

    static let signatureHeaders = [
        "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date", "X-Apple-CloudKit-Request-SignatureV1",
    ]
    /// Every answer returns the next web auth token in this header. Requests may
    /// send their token in it too, so that it need not be part of the address.
    static let webAuthHeader = "X-Apple-CloudKit-Web-Auth-Token"
    /// The header of that purpose in CloudKit JS 1.
    static let oldWebAuthHeader = "X-Apple-CloudKit-Session"
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
            ?? [Self.webAuthHeader, Self.oldWebAuthHeader].lazy.compactMap { Self.header($0, of: request) }.first
        let values = Self.signatureHeaders.map { Self.header($0, of: request) }
        if values.contains(where: { $0 != nil }) {
            signature = Signature(keyID: values[0] ?? "", date: values[1] ?? "", signature: values[2] ?? "")
        }
        secrets = (["ckAPIToken"] + Self.webAuthParameters).compactMap { query[$0] }.flatMap { [$0.sent, $0.value] }
    }

    /// True if the request has no credentials.
    var isEmpty: Bool { apiToken == nil && webAuthToken == nil && signature == nil }
    /// True if the request mixes tokens and a signature, which is an error.
    var isMixed: Bool { signature != nil && (apiToken != nil || webAuthToken != nil) }

    /// The headers for the next web auth token. Clients that use the older names get it under the older name as well.
    static func answerHeaders(to request: Request) -> [HTTPField.Name] {
        let query = SentQuery(request)
        let isOld = query[webAuthParameters[0]] == nil && (query[webAuthParameters[1]] != nil || header(oldWebAuthHeader, of: request) != nil)
        return (isOld ? [webAuthHeader, oldWebAuthHeader] : [webAuthHeader]).compactMap { HTTPField.Name($0) }
    }

    /// The value of a header; `nil` if it is missing or empty.
    private static func header(_ name: String, of request: Request) -> String? {
        HTTPField.Name(name).flatMap { request.headers[$0] }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
