internal import Console
internal import JSON
internal import Records
internal import Text
internal import Traffic

/// A request as a `curl` command. The page inserts the server's address between the two parts.
struct CurlCommand: ViewModel {
    let start: String
    /// The target, headers and the body.
    let rest: String

    /// - Returns: `nil` if the body is truncated or is not text.
    init?(_ request: ServedRequest, body: RequestBodies.Body?) {
        let bytes = body?.bytes ?? []
        guard !request.hasUnreadBody, bytes.count == request.bytesIn, let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else { return nil }
        start = request.method == "GET" || request.method == "POST" ? "curl " : "curl -X \(request.method) "
        var rest = request.target.shellQuoted
        if let user = request.userRecordName { rest += " \\\n  -H \("X-Skylight-User: \(user)".shellQuoted)" }
        if let device = request.client.deviceID, !request.target.contains("clientId=") { rest += " \\\n  -H \("X-Skylight-Device: \(device)".shellQuoted)" }
        if request.method != "GET" { rest += " \\\n  -H 'Content-Type: application/json' \\\n  --data-raw \(text.shellQuoted)" }
        self.rest = rest
    }
}
