internal import Text

/// A user's web auth token, which CloudKit replaces with every answer. Opaque, and a secret.
public struct WebAuthToken: Sendable, Hashable, CustomStringConvertible {
    let secret: Secret

    /// The token itself, to store it where only its owner can read it.
    public var text: String { secret.text }

    public var description: String { "a web auth token" }

    /// Reads a token as callbacks, headers, cookies and people hand it over: as it is, or percent-encoded.
    ///
    /// A token has no percent sign of its own, so an encoded one can be told apart and is decoded. A space was a plus sign before a form decoded it.
    /// - Returns: `nil` if this is no token: empty, `null` or `undefined` as scripts write a missing one, or text that cannot stand in a header.
    public init?(_ text: String) {
        var text = text.trimmingWhiteSpace
        while text.utf8.contains(UInt8(ascii: "%")) {
            // Each round is shorter than the one before.
            guard let decoded = PercentEncoding.decoded(text) else { return nil }
            text = decoded
        }
        text = text.replacing(" ", with: "+")
        guard !["", "null", "undefined"].contains(text), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        secret = Secret(text)
    }
}
