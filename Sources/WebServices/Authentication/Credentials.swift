internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird

/// What a request brings to say who it is, unjudged (protocol.md, section 2).
struct Credentials: Sendable {
    /// The three headers of a server-to-server key. What is missing is empty.
    struct Signature: Sendable {
        let keyID: String
        let date: String
        let signature: String
    }

    static let signatureHeaders = [
        "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date", "X-Apple-CloudKit-Request-SignatureV1",
    ]
    /// Where a web auth token is sent back in every answer, and taken from as well, so that it need not stand in addresses.
    static let webAuthHeader = "X-Apple-CloudKit-Web-Auth-Token"
    /// The same for CloudKit JS 1.
    static let oldWebAuthHeader = "X-Apple-CloudKit-Session"
    /// Where clients have it: the name of today, then that of CloudKit JS 1.
    private static let webAuthParameters = ["ckWebAuthToken", "ckSession"]

    var apiToken: String?
    /// Whether there was an API token that nobody knows here, and that was left out for it.
    var hadUnknownToken = false
    var webAuthToken: String?
    var signature: Signature?
    /// The secrets among these, as they stand in the request and without their encoding: what is shown must not hold them.
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

    /// Whether there is nothing.
    var isEmpty: Bool { apiToken == nil && webAuthToken == nil && signature == nil }
    /// Whether there are both styles, which do not go together.
    var isMixed: Bool { signature != nil && (apiToken != nil || webAuthToken != nil) }

    /// Where the answer to a request with a good web auth token has the next one: under the older name as well for clients that use it.
    static func answerHeaders(to request: Request) -> [HTTPField.Name] {
        let query = SentQuery(request)
        let isOld = query[webAuthParameters[0]] == nil && (query[webAuthParameters[1]] != nil || header(oldWebAuthHeader, of: request) != nil)
        return (isOld ? [webAuthHeader, oldWebAuthHeader] : [webAuthHeader]).compactMap { HTTPField.Name($0) }
    }

    /// What stands in a header; `nil` where that is nothing.
    private static func header(_ name: String, of request: Request) -> String? {
        HTTPField.Name(name).flatMap { request.headers[$0] }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
