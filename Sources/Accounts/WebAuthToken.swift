internal import Foundation
internal import Text

/// An encoded web auth token: the session, the issue time and four random bytes that make it unique.
///
/// Tokens are not stored; the seal proves that they are valid. 53 bytes in base64 with `+`, `/` and `=`, which
/// clients must percent-encode in URLs, as with CloudKit's.
struct WebAuthToken {
    private static let version: UInt8 = 1
    private static let contentCount = 21

    let session: String
    /// Milliseconds since 1970.
    let issue: Int64

    init(session: String, issue: Int64) {
        self.session = session
        self.issue = issue
    }

    init?(_ text: String, _ seal: Seal) {
        guard text.utf8.count <= 128, let sealed = Base64.canonicalBytes(of: text), let content = seal.opened(sealed), content.count == Self.contentCount,
            content[0] == Self.version
        else { return nil }
        session = Hexadecimal.text(of: content[1..<9])
        issue = content[9..<17].reduce(0) { $0 << 8 | Int64($1) }
    }

    func text(_ seal: Seal) -> String {
        Data(seal.sealed([Self.version] + (Hexadecimal.bytes(of: session.utf8) ?? []) + issue.bigEndianBytes + [UInt8].random(4))).base64EncodedString()
    }
}

extension Int64 {
    /// The bytes in big-endian order.
    var bigEndianBytes: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) }
    }
}
