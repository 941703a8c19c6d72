internal import Foundation
internal import Records

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
        var standard = text.utf8.map { byte -> UInt8 in
            switch byte {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: byte
            }
        }
        standard += Array(repeating: UInt8(ascii: "="), count: (4 - standard.count % 4) % 4)
        guard let data = Data(strictBase64: String(decoding: standard, as: UTF8.self)), let content = seal.opened(Array(data)), content.count >= 9,
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
        return Data(seal.sealed(content)).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
