internal import Records
internal import Text

/// A ``SignInRequest`` encoded for a URL: sealed, in URL-safe base64.
struct SignInTicket {
    private static let version: UInt8 = 1
    private static let limit = 4096

    let request: SignInRequest
    /// Milliseconds since 1970.
    let issue: Int64

    init(_ request: SignInRequest, issue: Int64) {
        self.request = request
        self.issue = issue
    }

    init?(_ text: String, _ seal: Seal) {
        guard text.utf8.count <= Self.limit else { return nil }
        guard let sealed = Base64.canonicalBytes(of: text, forURLs: true), let content = seal.opened(sealed), content.count >= 9,
            content[0] == Self.version
        else { return nil }
        // No part contains a line feed: the origin was validated, and the other parts can't have one.
        let lines = String(decoding: content[9...], as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 4, let container = ContainerID(lines[0]), let environment = Environment(rawValue: lines[1]) else { return nil }
        issue = content[1..<9].reduce(0) { $0 << 8 | Int64($1) }
        request = SignInRequest(
            container: container, environment: environment, apiTokenID: lines[2].isEmpty ? nil : lines[2], origin: lines[3].isEmpty ? nil : lines[3])
    }

    func text(_ seal: Seal) -> String {
        let lines = [
            request.container.description, request.environment.rawValue, request.apiTokenID ?? "", request.origin.flatMap(WebAddress.origin) ?? "",
        ]
        let content = [Self.version] + issue.bigEndianBytes + Array(lines.joined(separator: "\n").utf8)
        return Base64.text(of: seal.sealed(content), forURLs: true)
    }
}
